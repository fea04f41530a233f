// The bars at the margins of a heat map: they show at a glance which rank, and which step, costs most.
import { cssColor } from '../base/theme';
import { fitText } from './canvas';
import type { Frame } from './frame';
import type { Drawing } from './paint';

export interface Bars {
  values: ArrayLike<number>;
  caption: string;
  text: (value: number) => string;
}

function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  return most;
}

export function paintTopBars(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, bars: Bars): void {
  const { view } = drawing;
  const most = largest(bars.values);
  const tall = frame.top - 24;
  context.fillStyle = cssColor('--bar');
  const pixels = Math.min(Math.round(frame.plotWidth), view.columns);
  for (let x = 0; x < pixels && most > 0; x++) {
    const from = view.column + Math.floor((x * view.columns) / pixels);
    const to = view.column + Math.floor(((x + 1) * view.columns) / pixels);
    let value = 0;
    for (let c = from; c < to; c++) value = Math.max(value, bars.values[c]);
    const left = frame.left + (x / pixels) * frame.plotWidth;
    const wide = frame.plotWidth / pixels;
    const high = (value / most) * tall;
    context.fillRect(left, frame.top - 4 - high, Math.max(0.5, wide - (wide > 3 ? 1 : 0)), high);
  }
  context.textAlign = 'left';
  context.textBaseline = 'top';
  context.fillStyle = cssColor('--quiet');
  const long = `${bars.caption}, up to ${bars.text(most)}`;
  const fits = context.measureText(long).width <= frame.plotWidth;
  context.fillText(
    fitText(context, fits ? long : `Largest of each: ${bars.text(most)}`, frame.plotWidth),
    frame.left,
    2
  );
}

export function paintRightBars(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, bars: Bars): void {
  const { view, order } = drawing;
  const most = largest(bars.values);
  const left = frame.left + frame.plotWidth + 6;
  const wide = frame.right - 12;
  const marked = new Set(drawing.marks.flatMap((m) => m.rows));
  const pixels = Math.min(Math.round(frame.plotHeight), view.rows);
  const tall = frame.plotHeight / pixels;
  for (let y = 0; y < pixels && most > 0; y++) {
    const from = view.row + Math.floor((y * view.rows) / pixels);
    const to = view.row + Math.floor(((y + 1) * view.rows) / pixels);
    let best = from;
    for (let r = from; r < to; r++) if (bars.values[order[r]] > bars.values[order[best]]) best = r;
    const value = bars.values[order[best]];
    const culprit = marked.has(order[best]);
    const top = frame.top + y * tall;
    context.fillStyle = cssColor(culprit ? '--accent' : '--bar');
    const inset = tall > 8 ? 2 : 0;
    context.fillRect(
      left,
      top + inset,
      Math.max(value > 0 ? 1 : 0, (value / most) * wide),
      Math.max(0.75, tall - 2 * inset)
    );
    if (wide <= 60 || tall < 12 || value <= 0) continue;
    const text = bars.text(value);
    const long = (value / most) * wide > wide * 0.6;
    context.textAlign = long ? 'right' : 'left';
    context.textBaseline = 'middle';
    context.fillStyle = long ? cssColor(culprit ? '--on-accent' : '--on-bar') : cssColor('--text');
    context.fillText(text, left + (value / most) * wide + (long ? -4 : 4), top + tall / 2);
  }
  context.textAlign = 'right';
  context.textBaseline = 'bottom';
  context.fillStyle = cssColor('--quiet');
  const lines = frame.right < 100 ? ['whole', 'run'] : bars.caption.split('\n');
  lines.reverse().forEach((line, i) => context.fillText(line, frame.width - 4, frame.top - 4 - i * 14));
}
