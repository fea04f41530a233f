// Scales: what the codes of a heat map mean, their colours, and the ticks of the legend.
import { percent, time, linearTicks, logTicks } from '../base/units';
import { pixel, rgbOf, scaleColor, type Rgb } from '../base/color';
import { codeOfNs, kNone, kSmallest, kUnresolved, nsOfCode } from './codes';

export interface Scale {
  colors(dark: boolean): Uint32Array; // a pixel for each of the 256 codes
  color(code: number, dark: boolean): Rgb | null; // null where nothing is drawn
  ticks: { at: number; text: string }[]; // places in the legend, 0 to 1
  codeAt(at: number): number; // the code at a place of the legend
  unresolved: boolean; // whether code 1 means "not resolvable"
}

// Grey for "not resolvable": without hue, so that it is not taken for a value, and close to the background.
export function greyOf(dark: boolean): Rgb {
  return rgbOf(dark ? '3d4147' : 'd3d6da');
}

function pixelsOf(scale: Pick<Scale, 'color'>, dark: boolean): Uint32Array {
  const pixels = new Uint32Array(256);
  for (let q = 0; q < 256; q++) {
    const rgb = scale.color(q, dark);
    pixels[q] = rgb ? pixel(rgb) : 0;
  }
  return pixels;
}

// A logarithmic scale of times from the smallest to the largest value that the cells have. The lower end is at most a
// hundred-thousandth of the upper one, so that rare tiny values do not use up the colours.
export function timeScale(codes: Uint8Array): Scale {
  let low = 255;
  let high = 0;
  for (let i = 0; i < codes.length; i++) {
    const q = codes[i];
    if (q < kSmallest) continue;
    if (q < low) low = q;
    if (q > high) high = q;
  }
  if (high === 0) [low, high] = [kSmallest, codeOfNs(1e6)];
  low = Math.max(low, high - 8 * 17);
  if (high - low < 8) low = Math.max(kSmallest, high - 8);
  if (high - low < 8) high = low + 8;
  const place = (q: number): number => Math.min(1, Math.max(0, (q - low) / (high - low)));
  const color = (q: number, dark: boolean): Rgb | null =>
    q === kNone ? null : q === kUnresolved ? greyOf(dark) : scaleColor(place(q), dark);
  const ends = [nsOfCode(low), nsOfCode(high)];
  const all = logTicks(ends[0], ends[1], false);
  const fine = all.length >= 3 ? all : logTicks(ends[0], ends[1], true);
  const values = fine.length >= 3 ? fine : linearTicks(ends[0], ends[1], 4);
  const ticks = values.map((ns) => ({
    at: Math.min(1, Math.max(0, (8 * Math.log2(ns / 1000) + kSmallest - low) / (high - low))),
    text: time(ns)
  }));
  return {
    color,
    ticks,
    unresolved: true,
    codeAt: (at) => Math.round(low + at * (high - low)),
    colors: (dark) => pixelsOf({ color }, dark)
  };
}

// Shares of a bucket, in percent.
export function shareScale(): Scale {
  const color = (q: number, dark: boolean): Rgb => scaleColor(q / 100, dark);
  return {
    color,
    unresolved: false,
    codeAt: (at) => Math.round(at * 100),
    colors: (dark) => pixelsOf({ color }, dark),
    ticks: [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: percent(at) }))
  };
}
