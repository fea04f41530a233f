// The rest of a comparison: the runs and how their contexts differ, gates, and how much noise is assumed.
import { h, type Child } from '../base/dom';
import { shortName } from '../base/names';
import { sentenceOf } from '../base/sentence';
import { known, percent, plural, time } from '../base/units';
import type { Page, Row } from '../data/types';
import { sub } from '../report/section';
import { at } from '../widgets/rows';
import { Table, type Column } from '../widgets/table';
import { column, gateFigures } from './common';

const kComparable: { [name: string]: string } = {
  yes: 'The two sides can be compared rank by rank and kernel by kernel.',
  partly: 'The two sides can be compared in part: not rank by rank, or not kernel by kernel.',
  no: 'The two sides cannot be compared.'
};

function ofRun(label: string, kind: Column<Row>['kind'], key: string): Column<Row> {
  return { label, kind, get: (row) => at(row.run, key), path: `base[].${key}` };
}

export function buildContext(page: Page): Child[] {
  const c = page.comparison;
  const reasons = (at(c?.comparable, 'reasons') ?? []) as string[];
  const differences = (at(c?.comparable, 'differences') ?? []) as Row[];
  const matched = at(c?.comparable, 'matched_time_ratio');
  const runs: Row[] = [
    ...(c?.base ?? []).map((run): Row => ({ run, side: 'base' })),
    ...(c?.new ?? []).map((run): Row => ({ run, side: 'new' }))
  ];
  const columns: Column<Row>[] = [
    { label: 'side', kind: 'text', get: (r) => r.side, define: 'A change is new minus base.' },
    ofRun('run', 'name', 'name'),
    ofRun('ranks', 'count', 'ranks'),
    ofRun('steps', 'count', 'steps'),
    ofRun('warm-up steps', 'count', 'warm_up_steps'),
    ofRun('step time', 'time', 'step_time_ns')
  ];
  const context: Column<Row>[] = [
    column('key', 'name', 'key', 'comparable.differences[].'),
    column('base', 'name', 'base', 'comparable.differences[].'),
    column('new', 'name', 'new', 'comparable.differences[].'),
    {
      label: 'forbids a comparison rank by rank',
      kind: 'text',
      get: (r) => (r.blocks ? 'yes' : 'no'),
      path: 'comparable.differences[].blocks'
    }
  ];
  const notices = c?.notices ?? [];
  return [
    h(
      'p',
      {},
      kComparable[String(at(c?.comparable, 'verdict'))] ?? 'It is not known whether the sides can be compared.',
      known(matched) ? ` ${percent(matched)} of the kernel time is matched.` : null
    ),
    reasons.length > 0 ? h('ul', {}, ...reasons.map((r) => h('li', {}, sentenceOf(shortName(r, 400))))) : null,
    new Table({ caption: 'Runs of both sides', columns, rows: runs }).element,
    sub('Differences of the context'),
    differences.length > 0
      ? new Table({
          caption: 'Differences of the context',
          columns: context,
          rows: differences,
          marked: (r) => r.blocks === true
        }).element
      : h('p', {}, 'What the traces, and the option --context of lockstep analyze, say of the two sides is the same: versions, GPU models, options.'),
    ...(notices.length > 0
      ? [
          sub('What limits the answer'),
          h('ul', {}, ...notices.map((n) => h('li', {}, sentenceOf(shortName(n, 600)))))
        ]
      : [])
  ];
}

export function buildGates(page: Page): Child[] {
  const rows = page.comparison?.gates ?? [];
  if (rows.length === 0)
    return [
      h(
        'p',
        {},
        'No gate was asked for. In a pipeline, this command fails when the step takes more than 2 % longer: ',
        h('code', { class: 'in-text' }, "lockstep compare BASE NEW --gate 'step_time<=2%'")
      )
    ];
  const limit = (r: Row): string => (String(r.gate).endsWith('%') ? percent : time)(r.limit as number);
  const columns: Column<Row>[] = [
    column('gate', 'name', 'gate', 'gates[].'),
    column('about', 'name', 'metric', 'gates[].'),
    column('verdict', 'text', 'verdict', 'gates[].'),
    { label: 'change', kind: 'number', get: (r) => r.value, cell: (r) => gateFigures(r).value, path: 'gates[].value' },
    {
      label: '95 % interval',
      kind: 'text',
      get: (r) => gateFigures(r).interval,
      path: 'gates[].interval'
    },
    { label: 'limit', kind: 'number', get: (r) => r.limit, cell: limit, path: 'gates[].limit' }
  ];
  return [new Table({ caption: 'Gates', columns, rows, marked: (r) => r.verdict === 'fails' }).element];
}

const kNoise: { [name: string]: string } = {
  repeats: 'measured from the repeats of this comparison',
  history: 'taken from earlier runs of the same context',
  default: 'assumed, because there are too few repeats to measure it',
  none: 'not needed, because there is nothing to compare'
};

export function buildNoise(page: Page): Child[] {
  const noise = page.comparison?.noise;
  const source = String(noise?.source ?? 'none');
  const ratio = known(noise?.ratio)
    ? `Two runs of the same code differ by at most ${percent(noise!.ratio as number)} in 95 of 100 cases. `
    : '';
  const runs = known(noise?.runs) ? ` It comes from ${plural(noise!.runs as number, 'run')}.` : '';
  const sureness = at(page.comparison?.headline, 'sureness');
  return [
    h(
      'p',
      {},
      `${ratio}This is ${kNoise[source] ?? source}.${source === 'repeats' || source === 'history' ? runs : ''}`
    ),
    typeof sureness === 'string' && sureness !== '' ? h('p', {}, sentenceOf(shortName(sureness, 600))) : null
  ];
}
