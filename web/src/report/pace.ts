// The section "Utilisation over time": how busy the device of each rank is, in 256 buckets of time.
import { button, choice, h, type Child } from '../base/dom';
import { percent, plural, time } from '../base/units';
import { cellsOf } from '../data/decode';
import type { Pace, Page, Pictures } from '../data/types';
import { rankName, rowName } from '../heat/describe';
import type { Grid } from '../heat/grid';
import { Legend } from '../heat/legend';
import { HeatMap, type MapContent } from '../heat/map';
import { shareScale } from '../heat/scale';
import { timeTicks } from '../heat/time_ticks';
import { marksOf } from '../heat/content';
import { emptyNote, lead } from './section';

type Kind = 'busy' | 'compute' | 'comm';

const kTitle: { [kind in Kind]: string } = { busy: 'busy', compute: 'computing', comm: 'communicating' };
const kHint = 'Point at a cell, or focus the map and use the arrow keys, + and − to zoom, 0 to show everything.';

function gridOf(pace: Pace, kind: Kind): Grid {
  const cells = cellsOf(pace[kind], pace.rows * pace.buckets);
  return {
    rows: pace.rows,
    columns: pace.buckets,
    ranksPerRow: pace.ranks_per_row,
    columnsPerCell: 1,
    rowRanks: null,
    cells
  };
}

function contentOf(page: Page, pictures: Pictures, pace: Pace, grid: Grid, kind: Kind, order: Int32Array): MapContent {
  const from = (c: number): number => pace.start_ns + c * pace.bucket_ns;
  const mean = grid.cells.reduce((sum, q) => sum + q, 0) / Math.max(1, grid.cells.length) / 100;
  const many = grid.ranksPerRow > 1 ? ', the mean of these ranks' : '';
  return {
    grid,
    order,
    group: null,
    scale: shareScale(),
    reduce: 'smallest',
    rowTitle: grid.ranksPerRow > 1 ? 'ranks' : 'rank',
    columnTitle: "time since the run's start",
    rowLabel: (row) => String(rankName(pictures, grid, row)),
    columnLabel: (c) => time(from(c)),
    columnTicks: (view, most) => timeTicks(pace.start_ns, pace.bucket_ns, view, most),
    marks: marksOf(page.report?.summary?.culprits ?? [], pictures, grid),
    topBars: null,
    rightBars: null,
    sentence: `Share of the time in which each rank is ${kTitle[kind]}, in ${plural(pace.buckets, 'bucket')} of ${time(pace.bucket_ns)}; ${percent(mean)} in the mean.`,
    readout: (row, c) =>
      `${rowName(pictures, grid, row)}, ${time(from(c))} to ${time(from(c + 1))}: ${kTitle[kind]} ` +
      `${percent(grid.cells[row * grid.columns + c] / 100)} of the time${many}.`
  };
}

export function buildPace(page: Page): Child[] {
  const pictures = page.report?.pictures;
  const pace = pictures?.pace;
  if (!pictures || !pace || pace.rows === 0 || pace.buckets === 0) {
    return [
      emptyNote(
        'There is no picture of utilisation, because the ranks share no time in which their devices could be compared. Traces that were recorded at the same time fill it.'
      )
    ];
  }
  let kind: Kind = 'busy';
  const order = Int32Array.from({ length: pace.rows }, (_, i) => i);
  const map = new HeatMap(contentOf(page, pictures, pace, gridOf(pace, kind), kind, order), kHint);
  map.element.id = 'pace-map';
  const legend = new Legend(shareScale(), 'share of the time', '');
  const pick = (value: string): void => {
    kind = value as Kind;
    map.show(contentOf(page, pictures, pace, gridOf(pace, kind), kind, order));
  };
  const bins =
    `Each cell: ${plural(pace.ranks_per_row, 'rank')} × ${time(pace.bucket_ns)}${pace.ranks_per_row > 1 ? ', the mean of the ranks' : ''}. ` +
    'Where several cells fall on one pixel, the smallest is drawn, so that no gap disappears.';
  return [
    lead(
      'How much of each moment the device of each rank is in use. Gaps that all ranks share point at the input or the host; gaps of a single rank point at that rank.'
    ),
    h(
      'div',
      { class: 'controls' },
      choice(
        'Show',
        [
          ['busy', 'busy'],
          ['compute', 'computing'],
          ['comm', 'communicating']
        ],
        'busy',
        pick
      ),
      h(
        'span',
        { class: 'group' },
        button('Zoom in', () => map.zoomBy(1.5)),
        button('Zoom out', () => map.zoomBy(1 / 1.5)),
        button('Show all', () => map.reset())
      )
    ),
    map.element,
    h('div', { class: 'under' }, legend.element, h('p', { class: 'quiet' }, bins))
  ];
}
