// The sections that are tables: kernels, collectives, and findings.
import { h, nameOf, type Child } from '../base/dom';
import { shortName } from '../base/names';
import { commandNote, sentenceOf } from '../base/sentence';
import { known, percent, significant } from '../base/units';
import type { Page, ProfileKernel, Row } from '../data/types';
import { at } from '../widgets/rows';
import { Table, type Column } from '../widgets/table';
import { column, cutNote } from './columns';
import { emptyNote, lead, sub } from './section';
import { capital, opWords } from './words';

export function buildKernels(page: Page): Child[] {
  const kernels = page.report?.profile?.kernels ?? [];
  const families = page.report?.families ?? [];
  if (kernels.length === 0 && families.length === 0)
    return [emptyNote('There are no kernels in the traces, or in the part of the run that is analysed.')];
  const base = 'profile.kernels[]';
  const columns: Column<ProfileKernel>[] = [
    { label: 'kernel', kind: 'name', get: (k) => k.name, path: `${base}.name` },
    { label: 'total', kind: 'time', get: (k) => k.total_ns, path: `${base}.total_ns` },
    { label: 'median', kind: 'time', get: (k) => k.duration_ns?.p50, path: `${base}.duration_ns.p50` },
    { label: 'p99', kind: 'time', get: (k) => k.duration_ns?.p99, path: `${base}.duration_ns.p99` },
    { label: 'longest', kind: 'time', get: (k) => k.duration_ns?.max, path: `${base}.duration_ns.max` },
    { label: 'instances', kind: 'count', get: (k) => k.instances, path: `${base}.instances` },
    { label: 'ranks', kind: 'count', get: (k) => k.ranks, path: `${base}.ranks` },
    { label: 'family', kind: 'text', get: (k) => k.family, path: `${base}.family` },
    { label: 'category', kind: 'text', get: (k) => k.category, path: `${base}.category` }
  ];
  const ofFamily: Column<Row>[] = [
    column('family', 'text', 'families[]', 'family'),
    column('total', 'time', 'families[]', 'total_ns'),
    column('share', 'percent', 'families[]', 'share_ratio'),
    column('instances', 'count', 'families[]', 'instances')
  ];
  return [
    lead('Durations over all ranks. A kernel whose p99 is far above its median loses time in rare instances.'),
    kernels.length > 0
      ? new Table({
          caption: 'Kernels by total time',
          columns,
          rows: kernels,
          sort: 1,
          cut: cutNote(page, 'profile.kernels')
        }).element
      : null,
    ...(families.length > 0
      ? [
          sub('By family'),
          new Table({ caption: 'Kernel families by total time', columns: ofFamily, rows: families, sort: 1 }).element
        ]
      : [])
  ];
}

export function buildCollectives(page: Page): Child[] {
  const rows = page.report?.collectives ?? [];
  if (rows.length === 0)
    return [
      emptyNote(
        'There are no collectives in the traces, or in the part of the run that is analysed. Communication kernels of NCCL or RCCL fill this table.'
      )
    ];
  const base = 'collectives[]';
  const columns: Column<Row>[] = [
    {
      label: 'group',
      kind: 'name',
      get: (r) => at(r, 'communicator.desc') ?? at(r, 'communicator.name') ?? at(r, 'communicator.communicator_id'),
      path: `${base}.communicator.desc`
    },
    { label: 'operation', kind: 'text', get: (r) => opWords(r.op as string), path: `${base}.op` },
    column('message', 'bytes', base, 'bytes'),
    column('verdict', 'text', base, 'verdict'),
    column('waiting', 'time', base, 'wait_total_ns'),
    { label: 'waiting ±', kind: 'time', get: (r) => r.wait_uncertainty_ns, path: `${base}.wait_uncertainty_ns` },
    { label: 'median wait', kind: 'time', get: (r) => at(r, 'wait_ns.p50'), path: `${base}.wait_ns.p50` },
    { label: 'median transfer', kind: 'time', get: (r) => at(r, 'transfer_ns.p50'), path: `${base}.transfer_ns.p50` },
    {
      label: 'bus bandwidth, GB/s',
      kind: 'number',
      get: (r) => at(r, 'bus_bandwidth_gbps.p50'),
      path: `${base}.bus_bandwidth_gbps.p50`
    },
    {
      label: 'members',
      kind: 'count',
      get: (r) => (Array.isArray(r.members) ? r.members.length : r.members),
      path: `${base}.members`
    },
    column('instances', 'count', base, 'instances'),
    column('matched', 'count', base, 'matched'),
    column('type', 'text', base, 'dtype')
  ];
  return [
    lead('Verdict skew: the time goes to waiting for late ranks. Verdict transfer: it goes to moving data. Mixed: to both.'),
    new Table({ caption: 'Collectives by waiting', columns, rows, sort: 4, cut: cutNote(page, 'collectives') }).element
  ];
}

const kSeverity: { [name: string]: number } = { major: 0, minor: 1, info: 2 };

function finding(row: Row): HTMLElement {
  const evidence = (Array.isArray(row.evidence) ? row.evidence : []) as Row[];
  const text = (value: unknown): string => (typeof value === 'string' ? shortName(value, 600) : '');
  return h(
    'li',
    { class: `card finding ${String(row.severity)}` },
    h('h3', {}, h('span', { class: 'badge' }, text(row.severity)), ' ', sentenceOf(capital(text(row.title)))),
    row.cause ? h('p', {}, 'Likely cause: ', sentenceOf(text(row.cause)), '.') : null,
    row.next_action ? h('p', {}, 'Next: ', sentenceOf(text(row.next_action)), '.') : null,
    known(row.saving_ratio)
      ? h('p', {}, `It costs ${percent(row.saving_ratio)} of the time, so that mending it saves this at most.`)
      : null,
    evidence.length === 0
      ? null
      : h(
          'details',
          { class: 'print-open' },
          h('summary', {}, 'The numbers behind it'),
          h(
            'ul',
            {},
            ...evidence.map((e) =>
              h(
                'li',
                {},
                `${text(e.metric)}: ${significant(e.value as number)}${e.threshold ? ` (threshold ${significant(e.threshold as number)})` : ''}`,
                e.where ? h('span', {}, ', ', nameOf(e.where, 80)) : null
              )
            )
          )
        )
  );
}

export function buildFindings(page: Page): Child[] {
  const rows = [...(page.report?.findings ?? [])].sort(
    (a, b) => (kSeverity[String(a.severity)] ?? 3) - (kSeverity[String(b.severity)] ?? 3)
  );
  if (!page.report?.findings) return [emptyNote('No checks were made, because there are no data to check.')];
  if (rows.length === 0) return [h('p', {}, 'Nothing was found to be wrong by the checks that these traces allow.')];
  return [h('ul', { class: 'findings' }, ...rows.map(finding)), commandNote(rows.map((r) => String(r.next_action)))];
}
