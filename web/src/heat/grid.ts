// The cells of one layer of a heat map as one grid, put together from its tiles. Pure.
import { cellsOf } from '../data/decode';
import type { Columns, Layer, Tile } from '../data/types';

export interface Grid {
  rows: number;
  columns: number;
  ranksPerRow: number; // 1 where each row is a rank
  columnsPerCell: number; // 1 where each cell is one column of the map
  rowRanks: number[] | null; // ranks of the rows of a detail, else row i covers map rows i * ranksPerRow …
  cells: Uint8Array; // row by row
}

// Where the tiles differ in detail the coarsest is taken, and the largest value of the others: never an average.
export function gridOfTiles(tiles: Tile[], mapRows: number, mapColumns: number): Grid | null {
  if (tiles.length === 0) return null;
  const ranksPerRow = Math.max(1, ...tiles.map((t) => t.ranks_per_row));
  const columnsPerCell = Math.max(1, ...tiles.map((t) => t.columns_per_cell));
  const rows = Math.ceil(mapRows / ranksPerRow);
  const columns = Math.ceil(mapColumns / columnsPerCell);
  const grid: Grid = {
    rows,
    columns,
    ranksPerRow,
    columnsPerCell,
    rowRanks: null,
    cells: new Uint8Array(rows * columns)
  };
  for (const tile of tiles) {
    const cells = cellsOf(tile.cells, tile.rows * tile.columns);
    if (tiles.length === 1 && tile.first_row === 0 && tile.rows === rows && tile.columns === columns) {
      return { ...grid, cells }; // The usual case: one tile has the whole map.
    }
    for (let i = 0; i < tile.rows; i++) {
      const r = Math.floor((tile.first_row + i * tile.ranks_per_row) / ranksPerRow);
      for (let j = 0; j < tile.columns; j++) {
        const c = Math.floor((j * tile.columns_per_cell) / columnsPerCell);
        if (r >= rows || c >= columns) continue;
        const at = r * columns + c;
        grid.cells[at] = Math.max(grid.cells[at], cells[i * tile.columns + j]);
      }
    }
  }
  return grid;
}

export function overviewOf(layer: Layer, mapRows: number, columns: Columns): Grid | null {
  return gridOfTiles(
    layer.tiles.filter((t) => !t.row_ranks),
    mapRows,
    columns.starts.length
  );
}

// The rows of culprits in full detail: all such tiles below each other.
export function detailOf(layer: Layer, columns: Columns): Grid | null {
  const tiles = layer.tiles.filter((t) => t.row_ranks && t.row_ranks.length > 0);
  if (tiles.length === 0) return null;
  const each = Math.max(1, ...tiles.map((t) => t.columns_per_cell));
  const width = Math.ceil(columns.starts.length / each);
  const ranks = [...new Set(tiles.flatMap((t) => t.row_ranks ?? []))];
  const rowOf = new Map(ranks.map((rank, i) => [rank, i]));
  const cells = new Uint8Array(ranks.length * width);
  for (const tile of tiles) {
    const own = cellsOf(tile.cells, tile.rows * tile.columns);
    (tile.row_ranks ?? []).slice(0, tile.rows).forEach((rank, i) => {
      for (let j = 0; j < tile.columns; j++) {
        const c = Math.floor((j * tile.columns_per_cell) / each);
        const at = (rowOf.get(rank) ?? 0) * width + c;
        if (c < width) cells[at] = Math.max(cells[at], own[i * tile.columns + j]);
      }
    });
  }
  return { rows: ranks.length, columns: width, ranksPerRow: 1, columnsPerCell: each, rowRanks: ranks, cells };
}

export interface View {
  row: number;
  rows: number;
  column: number;
  columns: number;
}

export type Reduce = 'largest' | 'smallest';

// The cells of a view for a picture of at most width x height pixels. Where several cells fall on one pixel the largest
// (or smallest) one is taken. `order` gives the grid row of each shown row. The result is no larger than the view.
export function reduceCells(
  grid: Grid,
  order: Int32Array,
  view: View,
  width: number,
  height: number,
  reduce: Reduce = 'largest'
): { width: number; height: number; cells: Uint8Array } {
  const w = Math.max(1, Math.min(width, view.columns));
  const n = Math.max(1, Math.min(height, view.rows));
  const cells = new Uint8Array(w * n);
  if (reduce === 'smallest') cells.fill(255);
  // The pixel of each column in view: the inner loop runs a million times for the largest maps.
  const pixel = new Int32Array(view.columns);
  for (let x = 0; x < w; x++) {
    pixel.fill(x, Math.floor((x * view.columns) / w), Math.floor(((x + 1) * view.columns) / w));
  }
  for (let y = 0; y < n; y++) {
    const from = view.row + Math.floor((y * view.rows) / n);
    const to = view.row + Math.floor(((y + 1) * view.rows) / n);
    const target = cells.subarray(y * w, (y + 1) * w);
    for (let r = from; r < to; r++) {
      const base = order[r] * grid.columns + view.column;
      const source = grid.cells.subarray(base, base + view.columns);
      if (reduce === 'largest')
        for (let c = 0; c < source.length; c++) target[pixel[c]] = Math.max(target[pixel[c]], source[c]);
      else for (let c = 0; c < source.length; c++) target[pixel[c]] = Math.min(target[pixel[c]], source[c]);
    }
  }
  return { width: w, height: n, cells };
}

// The largest code of each column, or of each row in the given order.
export function largestOfColumns(grid: Grid): Uint8Array {
  const largest = new Uint8Array(grid.columns);
  for (let r = 0; r < grid.rows; r++) {
    for (let c = 0; c < grid.columns; c++) {
      const q = grid.cells[r * grid.columns + c];
      if (q > largest[c]) largest[c] = q;
    }
  }
  return largest;
}

export function largestOfRows(grid: Grid): Uint8Array {
  const largest = new Uint8Array(grid.rows);
  for (let r = 0; r < grid.rows; r++) {
    for (let c = 0; c < grid.columns; c++) {
      const q = grid.cells[r * grid.columns + c];
      if (q > largest[r]) largest[r] = q;
    }
  }
  return largest;
}
