// Words of the heat map of ranks and steps: names of rows and columns, the readout of a cell, and the binning. Pure.
import type { Columns, Pictures } from '../data/types';
import { shortName } from '../base/names';
import { count, plural, time } from '../base/units';
import { kNone, kUnresolved, timeOfCode } from './codes';
import type { Grid } from './grid';

export type LayerName = 'caused_wait' | 'lateness';

export const kLayerTitle: { [name: string]: string } = { caused_wait: 'caused waiting', lateness: 'lateness' };

export const kLayerMeaning: { [name: string]: string } = {
  caused_wait:
    'GPU time that the other ranks lost in a step because of this rank, also through further ranks that were late because of it.',
  lateness: 'How much later than the mean of its group a rank came to a collective; the largest of the step.'
};

export function ranksOfRow(pictures: Pictures, grid: Grid, row: number): number[] {
  if (grid.rowRanks) return [grid.rowRanks[row]];
  return pictures.ranks.slice(row * grid.ranksPerRow, (row + 1) * grid.ranksPerRow);
}

export function hostOfRank(pictures: Pictures, rank: number): string {
  const i = pictures.ranks.indexOf(rank);
  return shortName(pictures.hosts[i] ?? '', 40);
}

// "rank 5", "ranks 16 to 31".
export function rowName(pictures: Pictures, grid: Grid, row: number): string {
  const ranks = ranksOfRow(pictures, grid, row);
  return ranks.length === 1 ? `rank ${ranks[0]}` : `ranks ${ranks[0]} to ${ranks[ranks.length - 1]}`;
}

// The label of a row on the axis: its rank, or the first of its ranks.
export function rankName(pictures: Pictures, grid: Grid, row: number): number {
  return ranksOfRow(pictures, grid, row)[0];
}

function hostsOfRow(pictures: Pictures, grid: Grid, row: number): string {
  const hosts = [...new Set(ranksOfRow(pictures, grid, row).map((rank) => hostOfRank(pictures, rank)))];
  return hosts.length === 1 && hosts[0] !== '' ? ` (${hosts[0]})` : '';
}

// First and last column of the map that a cell covers.
function columnsOfCell(columns: Columns, grid: Grid, column: number): [number, number] {
  const first = column * grid.columnsPerCell;
  return [first, Math.min(first + grid.columnsPerCell, columns.starts.length) - 1];
}

// "step 37", "steps 30 to 39", "10 ms to 12 ms after the run's start".
export function columnName(columns: Columns, grid: Grid, column: number): string {
  const [a, b] = columnsOfCell(columns, grid, column).map((c) => columns.starts[c]);
  if (columns.kind === 'time') return `${time(a)} to ${time(b + columns.each)} after the run's start`;
  const last = b + columns.each - 1;
  return last === a ? `step ${a}` : `steps ${a} to ${last}`;
}

export function columnLabel(columns: Columns, grid: Grid, column: number): string {
  const first = columns.starts[columnsOfCell(columns, grid, column)[0]];
  return columns.kind === 'time' && first !== 0 ? time(first) : String(first);
}

// What the cell says, as a sentence.
export function readout(
  pictures: Pictures,
  resolution: number | null,
  layer: string,
  grid: Grid,
  row: number,
  column: number
): string {
  const code = grid.cells[row * grid.columns + column];
  const who = `${rowName(pictures, grid, row)}${hostsOfRow(pictures, grid, row)}`;
  const when = columnName(pictures.columns, grid, column);
  const where = `${who}, ${when}: `;
  const many = grid.ranksPerRow > 1 || grid.columnsPerCell * pictures.columns.each > 1;
  if (code === kNone) return `${where}nothing.`;
  if (code === kUnresolved) {
    const below = resolution === null ? '' : ` of ${time(resolution)}`;
    return `${where}not resolvable, because it is below the uncertainty${below} of the clocks.`;
  }
  const value = timeOfCode(code);
  if (layer === 'lateness') {
    return many
      ? `${where}the largest lateness of one rank in one step is ${value}.`
      : `${where}it came ${value} later than the mean of its group.`;
  }
  return many
    ? `${where}the most that the others waited for one rank in one step is ${value}.`
    : `${where}the others waited ${value} because of it.`;
}

// "Each cell: the largest of 16 ranks × 10 steps."
export function binning(columns: Columns, grid: Grid): string {
  const steps = columns.each * grid.columnsPerCell;
  const slot = columns.kind === 'time' ? `${time(steps)} of the run` : plural(steps, 'step');
  if (grid.ranksPerRow === 1 && (steps === 1 || columns.kind === 'time'))
    return `Each cell: ${plural(1, 'rank')} × ${slot}.`;
  return `Each cell: the largest of ${plural(grid.ranksPerRow, 'rank')} × ${slot}.`;
}

// What the whole picture shows, for those who cannot see it.
export function sentence(pictures: Pictures, layer: string, grid: Grid): string {
  let best = -1;
  for (let i = 0; i < grid.cells.length; i++) if (grid.cells[i] > (best < 0 ? kUnresolved : grid.cells[best])) best = i;
  const size = `${count(grid.rows)} by ${count(grid.columns)} cells`;
  const title = `Heat map of ${kLayerTitle[layer] ?? layer}, ${size}, of ${plural(pictures.ranks.length, 'rank')}.`;
  if (best < 0) return `${title} No cell has a value that the clocks can resolve.`;
  const row = Math.floor(best / grid.columns);
  const column = best % grid.columns;
  return (
    `${title} The largest value is at ${rowName(pictures, grid, row)}, ${columnName(pictures.columns, grid, column)}: ` +
    `${timeOfCode(grid.cells[best])}.`
  );
}
