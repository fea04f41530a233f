// The section "Tails": how long the rare long instances of a kernel are, over all ranks and by host.
import { choice, h, nameOf, type Child } from '../base/dom';
import { shortName } from '../base/names';
import { tailsOf } from '../data/pictures';
import type { Page, Row, Tail } from '../data/types';
import { tableOnDemand } from '../widgets/on_demand';
import { chart } from '../widgets/svg';
import { Table, type Column } from '../widgets/table';
import { at } from '../widgets/rows';
import { bandsOf } from './tail_model';
import { tailChart, tailSentence } from './tail_chart';
import { emptyNote, lead } from './section';

function bucketsTable(tail: Tail): HTMLElement {
  type R = ReturnType<typeof bandsOf>[number];
  const columns: Column<R>[] = [
    { label: 'from', kind: 'time', get: (b) => b.lower, define: 'Lower edge of a bucket of the histogram.' },
    { label: 'to', kind: 'time', get: (b) => b.upper, define: 'Upper edge of the bucket.' },
    {
      label: 'take longer, at most',
      kind: 'percent',
      get: (b) => b.high,
      define: 'Share of the instances that take longer than the lower edge, at most.'
    },
    {
      label: 'take longer, at least',
      kind: 'percent',
      get: (b) => b.low,
      define: 'Share of the instances that take longer than the upper edge, at least.'
    }
  ];
  return new Table({ caption: 'Share of instances that take longer', columns, rows: bandsOf(tail.buckets) }).element;
}

function tailsTable(rows: Row[]): HTMLElement {
  const columns: Column<Row>[] = [
    { label: 'kernel', kind: 'name', get: (r) => r.name, path: 'tails[].name' },
    { label: 'GPU time lost', kind: 'percent', get: (r) => r.tail_score, path: 'tails[].tail_score' },
    { label: 'median', kind: 'time', get: (r) => at(r, 'fleet_ns.p50'), path: 'tails[].fleet_ns.p50' },
    { label: 'p99', kind: 'time', get: (r) => at(r, 'fleet_ns.p99'), path: 'tails[].fleet_ns.p99' },
    { label: 'longest', kind: 'time', get: (r) => at(r, 'fleet_ns.max'), path: 'tails[].fleet_ns.max' },
    {
      label: 'waits for',
      kind: 'count',
      get: (r) => r.waits_for_rank,
      cell: (r) => (typeof r.waits_for_rank === 'number' ? `rank ${r.waits_for_rank}` : '–'),
      path: 'tails[].waits_for_rank'
    }
  ];
  return new Table({ caption: 'Kernels that lose time in rare long instances', columns, rows, sort: 1 }).element;
}

export function buildTails(page: Page): Child[] {
  const tails = tailsOf(page.report);
  const rows = page.report?.tails ?? [];
  if (tails.length === 0 && rows.length === 0) {
    return [
      emptyNote(
        (page.report?.profile?.kernels?.length ?? 0) === 0
          ? 'There are no tails, because there are no kernels whose durations are known.'
          : 'There are no tails, because no kernel takes more than twice its median in any instance. Longer captures show rarer instances.'
      )
    ];
  }
  const box = h('div', {});
  const show = (i: number): void => {
    const tail = tails[i];
    const hosts = tail.by_host?.length ? 'Lines: single hosts, those with the largest share of the tail.' : '';
    box.replaceChildren(
      h('p', { class: 'chosen' }, nameOf(tail.name, 120)),
      h('p', {}, tailSentence(tail)),
      h('p', { class: 'quiet' }, `Grey: where the share can be, as the histogram leaves it open. ${hosts}`),
      chart((width) => tailChart(tail, width), 'tail-chart'),
      tableOnDemand('The distribution as a table', () => bucketsTable(tail))
    );
  };
  if (tails.length > 0) show(0);
  return [
    lead(
      'Rare long instances cost time on all ranks, because the others wait for them. The curve shows which share of the instances takes longer than a time.'
    ),
    tails.length > 1
      ? h(
          'div',
          { class: 'controls' },
          choice(
            'Kernel',
            tails.map((t, i) => [String(i), shortName(t.name, 60)]),
            '0',
            (v) => show(Number(v))
          )
        )
      : null,
    box,
    rows.length > 0 ? tailsTable(rows) : null
  ];
}
