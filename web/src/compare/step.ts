// The sections of a comparison about the step: its time on both sides, and the ledger of its change.
import type { Child } from '../base/dom';
import { count, interval, known, signedPercent, signedTime, time } from '../base/units';
import type { Page, Row } from '../data/types';
import { emptyNote, lead } from '../report/section';
import { tableOnDemand } from '../widgets/on_demand';
import { chart } from '../widgets/svg';
import { Table, type Column } from '../widgets/table';
import { dumbbells, waterfallChart, type Pair } from './charts';
import { column, kVerdict, metricInterval, pairOf, verdictColumn } from './common';
import { entriesOf, waterfallOf } from './waterfall_model';

export function buildMetrics(page: Page): Child[] {
  const rows = page.comparison?.metrics ?? [];
  const times = rows.filter((m) => m.unit === 'ns' && known(m.base) && known(m.new));
  if (times.length === 0)
    return [
      emptyNote(
        'The step times cannot be compared, because a side has no steps. Marks such as ProfilerStep in the traces of both sides fill this part.'
      )
    ];
  const pairs: Pair[] = times.map((m) => ({
    label: String(m.metric).replace(/_/g, ' '),
    base: m.base as number,
    next: m.new as number,
    interval: pairOf(m.interval),
    note: `${known(m.change_ratio) ? signedPercent(m.change_ratio) : signedTime(m.change as number)}, ${kVerdict[String(m.verdict)] ?? ''}`,
    marked: m.metric === 'step_time' && m.verdict === 'slower'
  }));
  const columns: Column<Row>[] = [
    { label: 'metric', kind: 'text', get: (m) => String(m.metric).replace(/_/g, ' '), path: 'metrics[].metric' },
    ...(['base', 'new'] as const).map(
      (side): Column<Row> => ({
        label: side,
        kind: 'time',
        get: (m) => m[side],
        path: `metrics[].${side}`,
        cell: (m) =>
          m.unit === 'ns'
            ? time(m[side] as number)
            : known(m[side])
              ? `${count(Math.round(m[side] as number))} ${String(m.unit)}`
              : '–'
      })
    ),
    column('change', 'signedPercent', 'change_ratio', 'metrics[].'),
    {
      label: '95 % interval',
      kind: 'text',
      get: metricInterval,
      path: 'metrics[].interval'
    },
    verdictColumn('metrics[].')
  ];
  return [
    lead('Less time is better. The grey band is where the new value can be, by the 95 % interval of the change.'),
    chart((width) => dumbbells(pairs, width, time, 'Metrics of both sides'), 'metrics-chart'),
    new Table({ caption: 'Metrics of the step on both sides', columns, rows }).element
  ];
}

export function buildLedger(page: Page): Child[] {
  const rows = page.comparison?.ledger ?? [];
  if (rows.length === 0) return [emptyNote('There is no ledger, because a side has no steps whose parts are known.')];
  const fall = waterfallOf(rows);
  const columns: Column<Row>[] = [
    column('part', 'text', 'label', 'ledger[].'),
    column('kind', 'text', 'kind', 'ledger[].'),
    column('base', 'time', 'base_ns_per_step', 'ledger[].'),
    column('new', 'time', 'new_ns_per_step', 'ledger[].'),
    column('change', 'signedTime', 'change_ns_per_step', 'ledger[].'),
    { label: '95 % interval', kind: 'text', get: (r) => interval(r.interval, signedTime), path: 'ledger[].interval' }
  ];
  return [
    lead(
      'The parts are those of the mean rank, and sum to the change of the mean step exactly. Bars to the right cost time, bars to the left save it.'
    ),
    chart((width) => waterfallChart(fall, width), 'waterfall-chart'),
    tableOnDemand(
      `All ${count(entriesOf(rows).length)} parts as a table`,
      () => new Table({ caption: 'Ledger of the mean step', columns, rows }).element
    )
  ];
}
