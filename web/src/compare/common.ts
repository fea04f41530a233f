// What the sections of a comparison share: words of a verdict, columns of tables, intervals.
import { interval, known, percentInterval, signedPercent, signedTime } from '../base/units';
import type { Num, Row } from '../data/types';
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

// The interval of a metric, as in the text report: of the step time by its ratio, of a part of it as a difference in time.
export function metricInterval(metric: Row): string {
  if (String(metric.metric).startsWith('step_time') || metric.unit !== 'ns')
    return percentInterval(metric.change_ratio as Num, metric.interval_ratio);
  return interval(metric.interval, signedTime);
}

// The interval of a gate, in the unit of its limit.
export function gateFigures(gate: Row): { value: string; interval: string } {
  const inPercent = String(gate.gate).endsWith('%');
  return {
    value: (inPercent ? signedPercent : signedTime)(gate.value as Num),
    interval: inPercent ? percentInterval(gate.value as Num, gate.interval) : interval(gate.interval, signedTime)
  };
}

export function verdictColumn(of: string): Column<Row> {
  return { label: 'verdict', kind: 'text', get: (r) => kVerdict[String(r.verdict)] ?? r.verdict, path: `${of}verdict` };
}
