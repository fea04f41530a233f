// The sections of a comparison about kernels and collectives.
import type { Child } from '../base/dom';
import { shortName } from '../base/names';
import { count, known, signedPercent, signedTime, time } from '../base/units';
import type { Page, Row } from '../data/types';
import { cutNote } from '../report/columns';
import { emptyNote, lead, sub } from '../report/section';
import { opWords } from '../report/words';
import { at } from '../widgets/rows';
import { chart } from '../widgets/svg';
import { Table, type Column } from '../widgets/table';
import { changesChart, type Change } from './charts';
import { column, kVerdict, pairOf, verdictColumn } from './common';

function kernelName(row: Row): string {
  const names = (at(row, 'new.names') ?? at(row, 'base.names') ?? []) as string[];
  return names.length > 1 ? `${names[0]} and ${names.length - 1} more` : (names[0] ?? '');
}

const kMatch: { [name: string]: string } = {
  same: '',
  variant_changed: 'other variant',
  group: 'group',
  fused: 'fused',
  split: 'split',
  added: 'added',
  removed: 'removed'
};

export function buildKernelChanges(page: Page): Child[] {
  const rows = page.comparison?.kernels ?? [];
  if (rows.length === 0) return [emptyNote('No kernels can be compared, because a side has none in its steps.')];
  const changes: Change[] = rows
    .filter((r) => known(r.change_ns_per_step))
    .slice(0, 15)
    .map((r) => ({
      label: shortName(kernelName(r), 44),
      value: r.change_ns_per_step as number,
      interval: pairOf(r.interval),
      real: r.verdict === 'slower' || r.verdict === 'faster',
      note: [known(r.change_ratio) ? signedPercent(r.change_ratio) : '', kMatch[String(r.match)] ?? String(r.match)]
        .filter(Boolean)
        .join(' '),
      title: `${shortName(kernelName(r), 300)}: ${signedTime(r.change_ns_per_step as number)} a step, ${kVerdict[String(r.verdict)] ?? ''}`
    }));
  const columns: Column<Row>[] = [
    { label: 'kernel', kind: 'name', get: kernelName, path: 'kernels[].new.names' },
    column('change a step', 'signedTime', 'change_ns_per_step', 'kernels[].'),
    column('change', 'signedPercent', 'change_ratio', 'kernels[].'),
    verdictColumn('kernels[].'),
    column('base a step', 'time', 'base.ns_per_step', 'kernels[].'),
    column('new a step', 'time', 'new.ns_per_step', 'kernels[].'),
    {
      label: 'instances a step',
      kind: 'text',
      get: (r) =>
        `${count(at(r, 'base.instances_per_step') as number)} → ${count(at(r, 'new.instances_per_step') as number)}`,
      path: 'kernels[].new.instances_per_step'
    },
    { label: 'match', kind: 'text', get: (r) => String(r.match).replace('_', ' '), path: 'kernels[].match' },
    column('certainty', 'text', 'certainty', 'kernels[].'),
    column('why', 'text', 'explanation', 'kernels[].')
  ];
  return [
    lead(
      'The kernels whose time a step changes most. Filled bars: the change is real. Outlined: it can be chance. The lines are 95 % intervals.'
    ),
    chart((width) => changesChart(changes, width, 'Kernels by the change of their time a step'), 'kernels-chart'),
    new Table({
      caption: 'Kernels by change',
      columns,
      rows,
      cut: cutNote(page, 'comparison.kernels') ?? cutNote(page, 'kernels')
    }).element,
    ...buildRoleChanges(page)
  ];
}

function buildRoleChanges(page: Page): Child[] {
  const rows = page.comparison?.roles ?? [];
  if (rows.length === 0) return [];
  const columns: Column<Row>[] = [
    { label: 'role', kind: 'text', get: (r) => String(r.role).replace('_', ' '), path: 'roles[].role' },
    column('base a step', 'time', 'base_ns_per_step', 'roles[].'),
    column('new a step', 'time', 'new_ns_per_step', 'roles[].'),
    column('change', 'signedPercent', 'change_ratio', 'roles[].')
  ];
  if (rows.some((r) => known(r.base_ns_per_token) || known(r.new_ns_per_token)))
    columns.push(
      column('base a token', 'time', 'base_ns_per_token', 'roles[].'),
      column('new a token', 'time', 'new_ns_per_token', 'roles[].'),
      column('change a token', 'signedPercent', 'per_token_change_ratio', 'roles[].')
    );
  return [sub('By part of the model'), new Table({ caption: 'Kernels by part of the model', columns, rows }).element];
}

export function buildCollectiveChanges(page: Page): Child[] {
  const rows = page.comparison?.collectives ?? [];
  if (rows.length === 0) return [emptyNote('No collectives can be compared, because neither side has any.')];
  const both = (label: string, path: string, format: (v: number) => string): Column<Row> => ({
    label,
    kind: 'text',
    path: `collectives[].new.${path}`,
    get: (r) => at(r, `new.${path}`),
    cell: (r) => `${format(at(r, `base.${path}`) as number)} → ${format(at(r, `new.${path}`) as number)}`
  });
  const columns: Column<Row>[] = [
    { label: 'operation', kind: 'text', get: (r) => opWords(r.op as string), path: 'collectives[].op' },
    column('message', 'bytes', 'bytes', 'collectives[].'),
    column('members', 'count', 'members', 'collectives[].'),
    column('groups', 'name', 'desc', 'collectives[].'),
    both('waiting a step', 'wait_ns_per_step', time),
    both('median wait', 'wait_p50_ns', time),
    both('median transfer', 'transfer_p50_ns', time),
    column('change of transfer', 'signedPercent', 'transfer_change_ratio', 'collectives[].')
  ];
  return [
    lead('Waiting changes when a rank becomes late; transfer changes when the network does.'),
    new Table({ caption: 'Collectives on both sides', columns, rows }).element
  ];
}
