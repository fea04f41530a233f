// Draws a heat map: cells, axes, and the marks of culprits.
import { cssColor, isDark } from '../base/theme';
import { fitText, kBold, kFont, sizeCanvas } from './canvas';
import { labelEach, xOf, yOf, type Frame } from './frame';
import { reduceCells, type Grid, type Reduce, type View } from './grid';
import { paintRightBars, paintTopBars, type Bars } from './paint_bars';
import type { Scale } from './scale';
import type { Tick } from './time_ticks';

export interface Mark {
  rows: number[]; // of the grid
  label: string;
  namesRow: boolean; // the label says which rank it is; otherwise it stands behind the label of the row
}

export interface Drawing {
  grid: Grid;
  order: Int32Array;
  view: View;
  scale: Scale;
  reduce: Reduce;
  rowTitle: string;
  columnTitle: string;
  rowLabel: (gridRow: number) => string;
  columnLabel: (column: number) => string;
  columnTicks?: (view: View, most: number) => Tick[]; // in place of labels of every so many columns
  group: ((gridRow: number) => string) | null;
  marks: Mark[];
  rightBars: Bars | null;
  topBars: Bars | null;
}

let scratch: HTMLCanvasElement | null = null;

export const kMarkedHeight = 3; // px: rows of culprits are never thinner than this

const kMarkedRows = 64;

// Rows of culprits in a map whose rows are thinner than a few pixels: drawn again, high enough to be seen.
function paintMarkedRows(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, colors: Uint32Array): void {
  const { view, order, grid } = drawing;
  const marked = new Set(drawing.marks.flatMap((m) => m.rows).slice(0, kMarkedRows));
  const canvas = document.createElement('canvas');
  for (let r = view.row; r < view.row + view.rows; r++) {
    if (!marked.has(order[r])) continue;
    const row = reduceCells(grid, order, { ...view, row: r, rows: 1 }, Math.round(frame.plotWidth), 1, drawing.reduce);
    const image = new ImageData(row.width, 1);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < pixels.length; i++) pixels[i] = colors[row.cells[i]];
    canvas.width = row.width;
    canvas.height = 1;
    canvas.getContext('2d')?.putImageData(image, 0, 0);
    const y = Math.max(frame.top, Math.round(yOf(frame, view, r + 0.5) - kMarkedHeight / 2));
    context.drawImage(canvas, 0, 0, row.width, 1, frame.left, y, frame.plotWidth, kMarkedHeight);
  }
}

function paintCells(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing): void {
  const ratio = context.getTransform().a;
  const { width, height, cells } = reduceCells(
    drawing.grid,
    drawing.order,
    drawing.view,
    Math.round(frame.plotWidth * ratio),
    Math.round(frame.plotHeight * ratio),
    drawing.reduce
  );
  const colors = drawing.scale.colors(isDark());
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; i++) pixels[i] = colors[cells[i]];
  scratch ??= document.createElement('canvas');
  scratch.width = width;
  scratch.height = height;
  scratch.getContext('2d')?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(scratch, 0, 0, width, height, frame.left, frame.top, frame.plotWidth, frame.plotHeight);
  if (frame.plotHeight / drawing.view.rows < kMarkedHeight) paintMarkedRows(context, frame, drawing, colors);
}

// Thin lines of the background between cells that are large enough to be told apart.
function paintLines(context: CanvasRenderingContext2D, frame: Frame, view: View): void {
  context.fillStyle = cssColor('--surface');
  if (frame.plotHeight / view.rows >= 8) {
    for (let r = 1; r < view.rows; r++)
      context.fillRect(frame.left, yOf(frame, view, view.row + r) - 0.5, frame.plotWidth, 1);
  }
  if (frame.plotWidth / view.columns >= 10) {
    for (let c = 1; c < view.columns; c++)
      context.fillRect(xOf(frame, view, view.column + c) - 0.5, frame.top, 1, frame.plotHeight);
  }
}

function ticksOf(drawing: Drawing, plotWidth: number, widest: number): Tick[] {
  const { view } = drawing;
  if (drawing.columnTicks) return drawing.columnTicks(view, Math.max(2, Math.floor(plotWidth / (widest + 18))));
  const each = labelEach(view.columns, plotWidth, widest + 18);
  const ticks: Tick[] = [];
  for (let c = Math.ceil(view.column / each) * each; c < view.column + view.columns; c += each)
    ticks.push({ column: c + 0.5, text: drawing.columnLabel(c) });
  return ticks;
}

function paintColumns(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing): void {
  const { view } = drawing;
  const widest = Math.max(
    ...[view.column, view.column + view.columns - 1].map((c) => context.measureText(drawing.columnLabel(c)).width)
  );
  context.textAlign = 'center';
  context.textBaseline = 'top';
  const y = frame.top + frame.plotHeight;
  for (const tick of ticksOf(drawing, frame.plotWidth, widest)) {
    const x = xOf(frame, view, tick.column);
    context.fillStyle = cssColor('--line');
    context.fillRect(x - 0.5, y, 1, 4);
    context.fillStyle = cssColor('--quiet');
    context.fillText(tick.text, Math.min(x, frame.width - widest / 2), y + 6);
  }
  context.fillText(drawing.columnTitle, frame.left + frame.plotWidth / 2, y + 23);
}

// "rank 5", or "2 (stage 1)" for the row of a rank in the stage.
export function textOfMark(mark: Mark, rowLabel: string): string {
  return mark.namesRow ? mark.label : `${rowLabel} (${mark.label})`;
}

interface Label {
  y: number;
  text: string;
  strong: boolean;
}

// Labels of rows; those of culprits take precedence over their neighbours.
function rowLabels(frame: Frame, drawing: Drawing): Label[] {
  const { view, order } = drawing;
  const labels: Label[] = [];
  const free = (y: number): boolean => labels.every((l) => Math.abs(l.y - y) >= 14);
  const place = new Map<number, number>();
  for (let r = view.row; r < view.row + view.rows; r++) place.set(order[r], r);
  for (const mark of drawing.marks) {
    const shown = mark.rows
      .map((r) => place.get(r))
      .filter((r): r is number => r !== undefined)
      .sort((a, b) => a - b);
    if (shown.length === 0) continue;
    const y = yOf(frame, view, shown[0] + 0.5);
    if (free(y)) labels.push({ y, text: textOfMark(mark, drawing.rowLabel(order[shown[0]])), strong: true });
  }
  if (drawing.group) {
    let last = '';
    for (let r = view.row; r < view.row + view.rows; r++) {
      const name = drawing.group(order[r]);
      const y = yOf(frame, view, r + 0.5);
      if (name !== last && free(y)) labels.push({ y, text: name, strong: false });
      last = name;
    }
    return labels;
  }
  const each = labelEach(view.rows, frame.plotHeight, 15);
  for (let r = Math.ceil(view.row / each) * each; r < view.row + view.rows; r += each) {
    const y = Math.max(frame.top + 6, yOf(frame, view, r + 0.5));
    if (free(y)) labels.push({ y, text: drawing.rowLabel(order[r]), strong: false });
  }
  return labels;
}

function paintRows(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing): void {
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const label of rowLabels(frame, drawing)) {
    context.font = label.strong ? kBold : kFont;
    context.fillStyle = cssColor(label.strong ? '--accent' : '--quiet');
    context.fillText(fitText(context, label.text, frame.left - 12), frame.left - 10, label.y);
  }
  context.font = kFont;
  context.fillStyle = cssColor('--quiet');
  context.fillText(fitText(context, drawing.rowTitle, frame.left - 12), frame.left - 10, frame.top - 9);
  context.fillStyle = cssColor('--accent');
  const marked = new Set(drawing.marks.flatMap((m) => m.rows));
  const { view, order } = drawing;
  const tall = Math.max(3, frame.plotHeight / view.rows);
  for (let r = view.row; r < view.row + view.rows; r++) {
    if (marked.has(order[r])) context.fillRect(frame.left - 6, yOf(frame, view, r + 0.5) - tall / 2, 4, tall);
  }
}

export function paint(canvas: HTMLCanvasElement, frame: Frame, drawing: Drawing): void {
  const context = sizeCanvas(canvas, frame.width, frame.height);
  if (!context) return;
  context.font = kFont;
  context.strokeStyle = cssColor('--line');
  paintCells(context, frame, drawing);
  paintLines(context, frame, drawing.view);
  context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.plotWidth + 1, frame.plotHeight + 1);
  paintColumns(context, frame, drawing);
  if (drawing.topBars) paintTopBars(context, frame, drawing, drawing.topBars);
  if (drawing.rightBars) paintRightBars(context, frame, drawing, drawing.rightBars);
  paintRows(context, frame, drawing);
}
