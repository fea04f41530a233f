// The part of a heat map that is in view, and how zooming and moving the cursor change it. Pure.
import type { View } from './grid';

export interface Size {
  rows: number;
  columns: number;
}
export interface Cell {
  row: number;
  column: number;
}

export const kFewest = 4; // A view is never smaller than this, unless the map is.

export function wholeOf(size: Size): View {
  return { row: 0, rows: size.rows, column: 0, columns: size.columns };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), Math.max(low, high));
}

// A view inside the map; of at least kFewest rows and columns.
export function fit(view: View, size: Size): View {
  const rows = clamp(Math.round(view.rows), Math.min(kFewest, size.rows), size.rows);
  const columns = clamp(Math.round(view.columns), Math.min(kFewest, size.columns), size.columns);
  return {
    rows,
    columns,
    row: clamp(Math.round(view.row), 0, size.rows - rows),
    column: clamp(Math.round(view.column), 0, size.columns - columns)
  };
}

// Zooms by a factor (above 1: closer) and keeps the cell where it is in the picture.
export function zoom(view: View, size: Size, factor: number, around: Cell): View {
  const shareRow = (around.row + 0.5 - view.row) / view.rows;
  const shareColumn = (around.column + 0.5 - view.column) / view.columns;
  const rows = Math.max(view.rows / factor, Math.min(kFewest, size.rows));
  const columns = Math.max(view.columns / factor, Math.min(kFewest, size.columns));
  const near = fit(
    { rows, columns, row: around.row + 0.5 - shareRow * rows, column: around.column + 0.5 - shareColumn * columns },
    size
  );
  return follow(near, around, size);
}

export function inside(cell: Cell, size: Size): Cell {
  return { row: clamp(cell.row, 0, size.rows - 1), column: clamp(cell.column, 0, size.columns - 1) };
}

// Moves the view as little as possible so that it holds the cell.
export function follow(view: View, cell: Cell, size: Size): View {
  const row = clamp(view.row, cell.row - view.rows + 1, cell.row);
  const column = clamp(view.column, cell.column - view.columns + 1, cell.column);
  return fit({ ...view, row, column }, size);
}

// Where a key moves the cursor; null for other keys.
export function moved(cell: Cell, key: string, view: View, size: Size, far: boolean): Cell | null {
  const step = far ? 10 : 1;
  const page = Math.max(1, Math.floor(view.rows / 2));
  switch (key) {
    case 'ArrowLeft':
      return inside({ ...cell, column: cell.column - step }, size);
    case 'ArrowRight':
      return inside({ ...cell, column: cell.column + step }, size);
    case 'ArrowUp':
      return inside({ ...cell, row: cell.row - step }, size);
    case 'ArrowDown':
      return inside({ ...cell, row: cell.row + step }, size);
    case 'PageUp':
      return inside({ ...cell, row: cell.row - page }, size);
    case 'PageDown':
      return inside({ ...cell, row: cell.row + page }, size);
    case 'Home':
      return inside({ row: far ? 0 : cell.row, column: 0 }, size);
    case 'End':
      return inside({ row: far ? size.rows - 1 : cell.row, column: size.columns - 1 }, size);
    default:
      return null;
  }
}
