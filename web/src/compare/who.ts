// The sections of a comparison about ranks: who makes the others wait before and after, and the ranks side by side.
import { h, nameOf, type Child } from '../base/dom';
import { shortName } from '../base/names';
import { known, percent, percentInterval, plural, signedTime, time } from '../base/units';
import type { Culprit, Page, Row } from '../data/types';
import { cutNote } from '../report/columns';
import { emptyNote, lead, sub } from '../report/section';
import { capital, causeWords, howSure, nameInScope } from '../report/words';
import { at } from '../widgets/rows';
import { chart } from '../widgets/svg';
import { Table, type Column } from '../widgets/table';
import { dumbbells, type Pair } from './charts';
import { column } from './common';
import { stripChart } from './strip';

const kWhatBecame: { [name: string]: string } = {
  appeared: 'makes others wait now, and did not before',
  gone: 'no longer makes others wait',
  stays: 'makes others wait on both sides'
};

export function buildLate(page: Page): Child[] {
  const rows = page.comparison?.late ?? [];
  if (rows.length === 0) return [h('p', {}, 'Nobody in particular makes the others wait, on either side.')];
  const side = (row: Row, name: 'base' | 'new'): Child => {
    const data = row[name] as Row | null;
    const title: string = name;
    if (!data) return h('div', {}, h('dt', {}, title), h('dd', {}, 'not named'));
    const cause = data.cause ? `; ${causeWords({ cause: data.cause as string, ranks: [] } as unknown as Culprit)}` : '';
    return h(
      'div',
      {},
      h('dt', {}, title),
      h(
        'dd',
        {},
        `the mean rank waits ${time(data.wait_ns_per_step as number)} a step for it (exposed), ${percent(data.share_of_wait_ratio as number)} of all waiting; ${howSure(data.confidence as number)} (${percent(data.confidence as number)})${cause}`
      )
    );
  };
  return [
    h(
      'ul',
      { class: 'findings' },
      ...rows.map((row) =>
        h(
          'li',
          { class: `card ${row.change === 'appeared' ? 'culprit-card' : ''}` },
          h(
            'h3',
            {},
            capital(nameInScope(row.scope as string, row.id as string)),
            row.host && row.scope !== 'host' ? ' on ' : null,
            row.host && row.scope !== 'host' ? nameOf(row.host, 40) : null,
            ` ${kWhatBecame[String(row.change)] ?? `(${String(row.change)})`}`
          ),
          h('dl', { class: 'facts' }, side(row, 'base'), side(row, 'new'))
        )
      )
    )
  ];
}

export function buildRankChanges(page: Page): Child[] {
  const ranks = page.comparison?.ranks;
  const rows = (ranks?.ranks ?? []) as Row[];
  if (rows.length === 0)
    return [
      emptyNote(
        `The ranks are not compared one by one: ${shortName(String(ranks?.reason ?? 'nothing pairs them'), 200)}.`
      )
    ];
  const caused = rows.filter(
    (r) => known(at(r, 'base.caused_wait_ns_per_step')) && known(at(r, 'new.caused_wait_ns_per_step'))
  );
  const late = new Set(
    (page.comparison?.late ?? []).filter((l) => l.scope === 'rank' && l.new).map((l) => String(l.id))
  );
  const pairs: Pair[] = caused.slice(0, 16).map((r) => ({
    label: `rank ${String(at(r, 'new.rank'))}`,
    base: at(r, 'base.caused_wait_ns_per_step') as number,
    next: at(r, 'new.caused_wait_ns_per_step') as number,
    interval: null,
    note: signedTime(r.caused_wait_change_ns_per_step as number),
    marked: late.has(String(at(r, 'new.rank')))
  }));
  const columns: Column<Row>[] = [
    column('rank, base', 'count', 'base.rank', 'ranks.ranks[].'),
    column('rank, new', 'count', 'new.rank', 'ranks.ranks[].'),
    column('host', 'name', 'new.host', 'ranks.ranks[].'),
    column('caused waiting a step, base', 'time', 'base.caused_wait_ns_per_step', 'ranks.ranks[].'),
    column('caused waiting a step, new', 'time', 'new.caused_wait_ns_per_step', 'ranks.ranks[].'),
    column('change', 'signedTime', 'caused_wait_change_ns_per_step', 'ranks.ranks[].'),
    column('compute, base', 'time', 'base.compute_ns_per_step', 'ranks.ranks[].'),
    column('compute, new', 'time', 'new.compute_ns_per_step', 'ranks.ranks[].'),
    column('change of compute', 'signedPercent', 'compute_change_ratio', 'ranks.ranks[].')
  ];
  return [
    lead(
      `Waiting of the others in a step that was certainly for the rank, exposed or hidden, summed over all ranks that waited. Ranks are paired by ${String(ranks?.by ?? 'rank')}: ${shortName(String(ranks?.reason ?? ''), 200)}.`
    ),
    pairs.length > 0
      ? chart(
          (width) => dumbbells(pairs, width, time, 'Caused waiting a step of both sides, summed over the ranks that waited, the largest changes first'),
          'ranks-chart'
        )
      : null,
    ...(pairs.length < caused.length
      ? [
          h(
            'p',
            { class: 'quiet' },
            `These are the ${pairs.length} largest changes of ${plural(caused.length, 'rank')}; below is the change of all. Ranks that share a column show the largest change of one of them.`
          ),
          chart(
            (width) =>
              stripChart(
                caused.map((r) => ({
                  rank: Number(at(r, 'new.rank')),
                  change: r.caused_wait_change_ns_per_step as number
                })),
                width
              ),
            'ranks-strip'
          )
        ]
      : []),
    new Table({ caption: 'Ranks side by side', columns, rows, cut: cutNote(page, 'comparison.ranks.ranks') }).element,
    ...buildHostChanges(page)
  ];
}

function buildHostChanges(page: Page): Child[] {
  const rows = page.comparison?.hosts ?? [];
  if (rows.length < 2) return [];
  const columns: Column<Row>[] = [
    column('host', 'name', 'host', 'hosts[].'),
    {
      label: 'hosts before',
      kind: 'name',
      get: (r) => (r.base_hosts as unknown as string[]).join(', '),
      path: 'hosts[].base_hosts'
    },
    column('ranks', 'count', 'ranks', 'hosts[].'),
    column('change of compute', 'signedPercent', 'compute_change_ratio', 'hosts[].'),
    column('more than the others', 'signedPercent', 'against_others_ratio', 'hosts[].'),
    {
      label: '95 % interval',
      kind: 'name',
      get: (r) => percentInterval(r.against_others_ratio as number, r.against_others_interval),
      path: 'hosts[].against_others_interval'
    },
    column('change of caused waiting', 'signedTime', 'caused_wait_change_ns_per_step', 'hosts[].')
  ];
  return [sub('Hosts'), new Table({ caption: 'Hosts, those first that became worse than the others', columns, rows }).element];
}
