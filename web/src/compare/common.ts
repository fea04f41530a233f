// What the sections of a comparison share: words of a verdict, columns of tables, intervals.
import { known } from '../base/units';
import type { Row } from '../data/types';
import { at } from '../widgets/rows';
import type { Column } from '../widgets/table';

export function pairOf(value: unknown): [number, number] | null {
  return Array.isArray(value) && known(value[0]) && known(value[1]) ? [value[0], value[1]] : null;
}

export const kVerdict: { [name: string]: string } = {
  slower: 'slower',
  faster: 'faster',
  same: 'no change that matters',
  unclear: 'unclear',
  not_enough_steps: 'not enough steps'
};

export function column(label: string, kind: Column<Row>['kind'], path: string, of = ''): Column<Row> {
  return { label, kind, get: (r) => at(r, path), path: `${of}${path}` };
}

export function verdictColumn(of: string): Column<Row> {
  return { label: 'verdict', kind: 'text', get: (r) => kVerdict[String(r.verdict)] ?? r.verdict, path: `${of}verdict` };
}
