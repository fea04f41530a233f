// Colour scales. Viridis (CC0, by Nathaniel Smith and Stéfan van der Walt) is perceptually uniform and safe for the
// colour-blind. Eleven anchors are enough: between them it is linear to within 2 of 255.

const kViridis = [
  '440154',
  '482475',
  '414487',
  '355f8d',
  '2a788e',
  '21918c',
  '22a884',
  '44bf70',
  '7ad151',
  'bddf26',
  'fde725'
];

export type Rgb = [number, number, number];

export function rgbOf(hex: string): Rgb {
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)) as Rgb;
}

// The colour at t in [0, 1].
export function viridis(t: number): Rgb {
  const x = Math.min(1, Math.max(0, t)) * (kViridis.length - 1);
  const i = Math.min(kViridis.length - 2, Math.floor(x));
  const a = rgbOf(kViridis[i]);
  const b = rgbOf(kViridis[i + 1]);
  return a.map((v, k) => Math.round(v + (b[k] - v) * (x - i))) as Rgb;
}

// Large values must be seen first: on a light page they are dark, on a dark page bright.
export function scaleColor(t: number, dark: boolean): Rgb {
  if (dark) return viridis(0.06 + 0.94 * t);
  // The bright yellow end would draw the eye to small values: it fades into the white ground.
  const fade = 0.6 * (1 - Math.min(1, Math.max(0, t))) ** 2;
  return viridis(1 - t).map((v) => Math.round(v + (255 - v) * fade)) as Rgb;
}

// Relative luminance and contrast as WCAG 2 defines them.
export function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map((v) => {
    const c = v / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// A pixel of ImageData (little endian, as all machines that run browsers).
export function pixel([r, g, b]: Rgb, alpha = 255): number {
  return ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
