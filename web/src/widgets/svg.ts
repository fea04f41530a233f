// Parts that several charts share: the picture itself with its sentence, hatches, and text that is cut to fit.
import { h, onWidth, s } from '../base/dom';

let chosenFont: CanvasRenderingContext2D | null = null;

// Width of a text in a chart, in pixels.
export function textWidth(text: string, bold = false): number {
  chosenFont ??= document.createElement('canvas').getContext('2d');
  if (!chosenFont) return text.length * 7;
  chosenFont.font = `${bold ? 'bold ' : ''}12px system-ui, "DejaVu Sans", sans-serif`;
  return chosenFont.measureText(text).width;
}

export function fitted(text: string, width: number, bold = false): string {
  if (textWidth(text, bold) <= width) return text;
  let cut = text;
  while (cut.length > 1 && textWidth(`${cut}…`, bold) > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}

export interface Chart {
  width: number;
  height: number;
  sentence: string;
  draw: (picture: SVGSVGElement) => void;
}

// A chart that is drawn again when its width changes. `make` gets the width.
export function chart(make: (width: number) => Chart, name = ''): HTMLElement {
  const box = h('div', { class: `chart ${name}`.trim() });
  onWidth(box, (width) => {
    const made = make(width);
    const picture = s('svg', {
      width,
      height: made.height,
      viewBox: `0 0 ${width} ${made.height}`,
      role: 'img',
      'aria-label': made.sentence
    });
    made.draw(picture);
    box.replaceChildren(picture);
  });
  return box;
}

export function label(x: number, y: number, text: string, classes = '', anchor = 'start'): SVGTextElement {
  return s('text', { x, y, class: `label ${classes}`.trim(), 'text-anchor': anchor }, text);
}

export function rect(x: number, y: number, width: number, height: number, classes: string): SVGRectElement {
  return s('rect', { x, y, width: Math.max(0, width), height: Math.max(0, height), class: classes });
}

export function line(x1: number, y1: number, x2: number, y2: number, classes: string): SVGLineElement {
  return s('line', { x1, y1, x2, y2, class: classes });
}

// Hatches, so that colour is never the only cue. They are defined once for all charts of the page.
export function patterns(): SVGSVGElement {
  const hatch = (id: string, size: number, path: string): SVGPatternElement =>
    s(
      'pattern',
      { id, width: size, height: size, patternUnits: 'userSpaceOnUse' },
      s('rect', { width: size, height: size, class: `${id}-ground` }),
      s('path', { d: path, class: `${id}-lines` })
    );
  return s(
    'svg',
    { width: 0, height: 0, 'aria-hidden': 'true', class: 'patterns', focusable: 'false' },
    s(
      'defs',
      {},
      hatch('hatch-wait', 8, 'M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4'),
      hatch('hatch-unresolved', 6, 'M0,0 l6,6 M0,6 l6,-6'),
      hatch('hatch-idle', 6, 'M1,1 h1.5 v1.5 h-1.5 z M4,4 h1.5 v1.5 h-1.5 z'),
      hatch('hatch-launch', 5, 'M1,0 v5'),
      hatch('hatch-dependency', 6, 'M1,0 v6 M0,1 h6'),
      hatch('hatch-copy', 6, 'M0,3 h6')
    )
  );
}
