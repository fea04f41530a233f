// What the heat map of ranks and steps shows for a layer: cells, marks of culprits, bars at the margins, words, a table.
import { known, roughTime, time } from '../base/units';
import { resolutionOf } from '../data/pictures';
import type { Culprit, Num, Page, Pictures } from '../data/types';
import { nameInScope, whyNotMatched } from '../report/words';
import { Table } from '../widgets/table';
import { nsOfCode } from './codes';
import { columnLabel, columnName, kLayerMeaning, kLayerTitle, rankName, readout, rowName, sentence } from './describe';
import { largestOfColumns, largestOfRows, type Grid } from './grid';
import type { MapContent } from './map';
import type { Order } from './order';
import type { Bars } from './paint_bars';
import type { Mark } from './paint';
import { timeScale } from './scale';

// The rows of the ranks of each culprit. With several culprits of one rank the first one names the row.
export function marksOf(culprits: Culprit[], pictures: Pictures, grid: Grid): Mark[] {
  const rowOfRank = new Map<number, number>();
  if (grid.rowRanks) grid.rowRanks.forEach((rank, row) => rowOfRank.set(rank, row));
  else pictures.ranks.forEach((rank, i) => rowOfRank.set(rank, Math.floor(i / grid.ranksPerRow)));
  return culprits
    .map((c) => ({
      label: nameInScope(c.scope, c.id, c.name),
      namesRow: c.scope === 'rank',
      rows: [...new Set(c.ranks.map((rank) => rowOfRank.get(rank)).filter((row): row is number => row !== undefined))]
    }))
    .filter((mark) => mark.rows.length > 0);
}

export function blameBars(pictures: Pictures, grid: Grid): Bars | null {
  const blame = pictures.blame_ns;
  if (!blame) return null;
  const place = new Map(pictures.ranks.map((rank, i) => [rank, i]));
  const of = (row: number): number => {
    if (grid.rowRanks) return blame[place.get(grid.rowRanks[row]) ?? -1] ?? 0;
    return Math.max(0, ...blame.slice(row * grid.ranksPerRow, (row + 1) * grid.ranksPerRow).map((v: Num) => v ?? 0));
  };
  const caption = grid.ranksPerRow > 1 ? 'most of one rank,\nwhole run' : 'caused waiting,\nwhole run';
  return { values: Array.from({ length: grid.rows }, (_, row) => of(row)), caption, text: (v) => time(v) };
}

export function contentOf(page: Page, layer: string, grid: Grid, order: Int32Array, group: Order['group']): MapContent {
  const pictures = page.report!.pictures!;
  const resolution = resolutionOf(page.report);
  const slot = pictures.columns.kind === 'time' ? 'slot' : 'step';
  return {
    grid,
    order,
    group,
    scale: timeScale(grid.cells),
    reduce: 'largest',
    rowTitle: grid.ranksPerRow > 1 ? 'ranks' : 'rank',
    columnTitle: slot === 'slot' ? "time since the run's start" : 'step',
    rowLabel: (row) => String(rankName(pictures, grid, row)),
    columnLabel: (column) => columnLabel(pictures.columns, grid, column),
    marks: marksOf(page.report?.summary?.culprits ?? [], pictures, grid),
    topBars: {
      values: Array.from(largestOfColumns(grid), nsOfCode),
      text: roughTime,
      caption: `Largest ${kLayerTitle[layer] ?? layer} in each ${slot}`
    },
    rightBars:
      layer === 'lateness'
        ? { values: Array.from(largestOfRows(grid), nsOfCode), text: roughTime, caption: 'largest\nlateness' }
        : blameBars(pictures, grid),
    sentence: sentence(pictures, layer, grid),
    readout: (row, column) => readout(pictures, resolution, layer, grid, row, column)
  };
}

// Culprits that are no stragglers are measured by the waits that can have been for no other rank, the map by waiting that
// is traced back to its origin. Where the two differ by a tenth or more, a sentence says why.
export function countedOtherwise(page: Page): string {
  const pictures = page.report?.pictures;
  for (const culprit of page.report?.summary?.culprits ?? []) {
    const blame = pictures?.blame_ns?.[pictures.ranks.indexOf(culprit.ranks[0])];
    const certain = culprit.caused_wait_total_ns;
    if (culprit.ranks.length !== 1 || !known(blame) || Math.abs(blame - certain) < 0.1 * certain) continue;
    return (
      `Of rank ${culprit.ranks[0]} the sentence at the top counts the waits that can have been for no other rank ` +
      `(${time(certain)}); the picture traces waiting back to the rank where the delay began (${time(blame)}).`
    );
  }
  return '';
}

export function whyNoHeatMap(page: Page): string {
  const pictures = page.report?.pictures;
  if (!pictures || pictures.ranks.length === 0) {
    return 'There is no picture of lateness, because the run has no rank with device activity. Traces with collectives of two ranks or more fill it.';
  }
  if (pictures.ranks.length === 1) {
    return 'There is no picture of lateness, because only one rank has a trace, and lateness is measured against other ranks. Give the traces of all ranks.';
  }
  return `There is no picture of lateness, because ${whyNotMatched(page.report)}.`;
}

export function valuesTable(page: Page, shown: { layer: { name: string }; grid: Grid }): HTMLElement {
  const pictures = page.report!.pictures!;
  const { grid, layer } = shown;
  const largest = largestOfRows(grid);
  const bars = blameBars(pictures, grid);
  const rows = Array.from({ length: grid.rows }, (_, row) => {
    let column = 0;
    for (let c = 0; c < grid.columns; c++)
      if (grid.cells[row * grid.columns + c] > grid.cells[row * grid.columns + column]) column = c;
    return {
      row,
      name: rowName(pictures, grid, row),
      total: bars?.values[row] ?? null,
      most: largest[row] < 2 ? null : nsOfCode(largest[row]),
      at: largest[row] < 2 ? null : columnName(pictures.columns, grid, column)
    };
  });
  return new Table({
    caption: `Main values of the heat map of ${kLayerTitle[layer.name] ?? layer.name}`,
    rows,
    sort: bars ? 1 : 2,
    columns: [
      { label: 'rank', kind: 'text', get: (r) => r.name, path: 'ranks[].rank' },
      { label: 'caused waiting, whole run', kind: 'time', get: (r) => r.total, define: kLayerMeaning.caused_wait },
      {
        label: `largest ${kLayerTitle[layer.name] ?? layer.name} (to 5 %)`,
        kind: 'time',
        get: (r) => r.most,
        define: kLayerMeaning[layer.name]
      },
      {
        label: 'where',
        kind: 'text',
        get: (r) => r.at,
        define: 'The step, or the time, in which the largest value is.'
      }
    ]
  }).element;
}
