// Where the parts of a heat map are in its picture, in CSS pixels. Pure.
import type { View } from './grid';
import type { Cell } from './window';

export interface Frame {
  width: number;
  height: number;
  left: number;
  top: number;
  plotWidth: number;
  plotHeight: number;
  right: number;
  bottom: number;
}

export interface FrameWish {
  width: number;
  rows: number;
  topBars: boolean;
  rightBars: boolean;
  labelWidth: number;
}

const kTallest = 460; // px: the map and the sentences above it fit into one screen of a laptop.
const kRowHeight = 24; // px of a row where there are few.

export function frameOf(wish: FrameWish): Frame {
  const narrow = wish.width < 560;
  const left = Math.min(wish.labelWidth + 14, narrow ? 84 : 170);
  const right = wish.rightBars ? (narrow ? 54 : 116) : 12;
  const top = wish.topBars || wish.rightBars ? 56 : 20;
  const bottom = 40;
  const plotHeight = Math.min(Math.max(wish.rows * kRowHeight, 28), kTallest);
  return {
    width: wish.width,
    height: top + plotHeight + bottom,
    left,
    top,
    right,
    bottom,
    plotHeight,
    plotWidth: Math.max(40, wish.width - left - right)
  };
}

export function cellAt(frame: Frame, view: View, x: number, y: number): Cell | null {
  const u = (x - frame.left) / frame.plotWidth;
  const v = (y - frame.top) / frame.plotHeight;
  if (u < 0 || v < 0 || u >= 1 || v >= 1) return null;
  return { row: view.row + Math.floor(v * view.rows), column: view.column + Math.floor(u * view.columns) };
}

export function xOf(frame: Frame, view: View, column: number): number {
  return frame.left + ((column - view.column) / view.columns) * frame.plotWidth;
}

export function yOf(frame: Frame, view: View, row: number): number {
  return frame.top + ((row - view.row) / view.rows) * frame.plotHeight;
}

// Every how many rows or columns a label fits, as a round number.
export function labelEach(count: number, pixels: number, pixelsOfLabel: number): number {
  const least = (count * pixelsOfLabel) / Math.max(1, pixels);
  for (let decade = 1; ; decade *= 10) {
    for (const m of [1, 2, 5]) if (m * decade >= least) return m * decade;
  }
}
