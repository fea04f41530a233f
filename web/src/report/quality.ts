// The section "Quality and clocks": checks of the data, clocks, files that are not used whole, and the ranks.
import { h, type Child } from '../base/dom';
import { printable, shortName } from '../base/names';
import { sentenceOf } from '../base/sentence';
import { interval, known, kNothing, plural, time } from '../base/units';
import type { Page, Row } from '../data/types';
import { Table, type Column } from '../widgets/table';
import { column, cutNote } from './columns';
import { emptyNote, sub } from './section';

function prose(label: string, key: string): Column<Row> {
  const of = column(label, 'text', 'quality.gates[]', key);
  return { ...of, cell: (g) => (g[key] ? sentenceOf(shortName(String(g[key]), 600)) : kNothing) };
}

function gates(page: Page): Child[] {
  const rows = page.report?.quality?.gates ?? [];
  if (rows.length === 0) return [];
  const failed = rows.filter((g) => g.ok === false).length;
  const columns: Column<Row>[] = [
    column('check', 'text', 'quality.gates[]', 'name'),
    {
      label: 'result',
      kind: 'text',
      get: (g) => (g.ok === true ? 'passes' : g.ok === false ? 'fails' : 'does not apply'),
      path: 'quality.gates[].ok'
    },
    prose('what was found', 'detail'),
    prose('what to do', 'fix')
  ];
  const sorted = [...rows].sort((a, b) => Number(a.ok !== false) - Number(b.ok !== false));
  return [
    sub('Checks of the data'),
    h('p', {}, failed === 0 ? 'No check fails.' : `${plural(failed, 'check')} ${failed === 1 ? 'fails' : 'fail'}.`),
    new Table({ caption: 'Checks of the data', columns, rows: sorted, marked: (g) => g.ok === false }).element
  ];
}

function clocks(page: Page): Child[] {
  const clock = page.report?.clock;
  const hosts = clock?.hosts ?? [];
  if (!clock || hosts.length === 0) return [];
  const base = 'clock.hosts[]';
  const columns: Column<Row>[] = [
    column('host', 'name', base, 'host'),
    column('ranks', 'count', base, 'ranks'),
    column('offset', 'signedTime', base, 'offset_ns'),
    { label: 'offset ±', kind: 'time', get: (r) => r.uncertainty_ns, path: `${base}.uncertainty_ns` },
    { label: 'drift, ppm', kind: 'number', get: (r) => r.drift_ppm, path: `${base}.drift_ppm` },
    {
      label: 'certified',
      kind: 'text',
      get: (r) => (r.certified ? interval(r.certified_ns, time) : 'no'),
      path: `${base}.certified`
    },
    column('method', 'text', base, 'method'),
    column('collectives', 'count', base, 'instances')
  ];
  const components = (clock.components ?? []).filter((c) => known(c.not_resolvable_below_ns));
  return [
    sub('Clocks'),
    ...components.map((c) =>
      h(
        'p',
        {},
        `Of two arrivals that are less than ${time(c.not_resolvable_below_ns as number)} apart, it is unknown which came first` +
          `${(clock.components?.length ?? 1) > 1 ? ` (component ${String(c.component)})` : ''}.`
      )
    ),
    new Table({ caption: 'Clocks of the hosts', columns, rows: hosts, cut: cutNote(page, 'clock.hosts') }).element
  ];
}

function files(page: Page): Child[] {
  const rows = (page.report?.quality?.files ?? []).filter((f) => f.status !== 'used');
  if (rows.length === 0) return [];
  const columns: Column<Row>[] = [
    column('file', 'name', 'quality.files[]', 'path'),
    column('status', 'text', 'quality.files[]', 'status'),
    column('reason', 'text', 'quality.files[]', 'reason')
  ];
  return [
    sub('Files that are not used whole'),
    new Table({ caption: 'Files that are not used whole', columns, rows }).element
  ];
}

function ranks(page: Page): Child[] {
  const rows = page.report?.ranks ?? [];
  if (rows.length === 0) return [];
  const base = 'ranks[]';
  const columns: Column<Row>[] = [
    column('rank', 'count', base, 'rank'),
    column('host', 'name', base, 'host'),
    column('GPU', 'text', base, 'gpu_name'),
    column('time', 'time', base, 'span_ns'),
    column('kernels', 'count', base, 'kernels'),
    column('collectives', 'count', base, 'collectives'),
    column('steps', 'count', base, 'steps.count'),
    column('format', 'text', base, 'format'),
    column('file', 'name', base, 'path')
  ];
  return [
    sub('Ranks'),
    new Table({
      caption: 'Ranks and their traces',
      columns,
      rows,
      sort: 0,
      direction: 'ascending',
      cut: cutNote(page, 'ranks')
    }).element
  ];
}

export function buildQuality(page: Page): Child[] {
  // Of several views the same may be told: once is enough.
  const notices = [...new Set(page.report?.notices?.map((notice) => notice.reason))];
  const missing = page.report?.run?.missing_ranks ?? [];
  const parts = [
    ...(notices.length > 0
      ? [
          sub('What limits these numbers'),
          h('ul', {}, ...notices.map((reason) => h('li', {}, sentenceOf(printable(reason)))))
        ]
      : []),
    ...(missing.length > 0
      ? [
          h(
            'p',
            {},
            `${plural(missing.length, 'rank')} of the job ${missing.length === 1 ? 'has' : 'have'} no trace: ${missing.slice(0, 12).join(', ')}${missing.length > 12 ? ' and more' : ''}.`
          )
        ]
      : []),
    ...gates(page),
    ...clocks(page),
    ...files(page),
    ...ranks(page)
  ];
  return parts.length > 0
    ? parts
    : [emptyNote('Nothing is known about the quality of the data, because no trace was read.')];
}
