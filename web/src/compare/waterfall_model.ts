// The ledger as a waterfall: from the mean step of the old side to that of the new one, in parts that sum to the change.
// Pure.
import type { Row } from '../data/types';
import { known } from '../base/units';

export interface Entry {
  label: string;
  kind: string;
  base: number;
  next: number;
  change: number;
  interval: [number, number] | null;
}
export interface Rung extends Entry {
  from: number;
  to: number;
}
export interface Waterfall {
  base: number;
  next: number;
  rungs: Rung[];
  merged: number;
}

function pairOf(value: unknown): [number, number] | null {
  return Array.isArray(value) && known(value[0]) && known(value[1]) ? [value[0], value[1]] : null;
}

export function entriesOf(ledger: Row[]): Entry[] {
  return ledger.map((row) => ({
    label: String(row.label ?? row.part),
    kind: String(row.kind),
    base: Number(row.base_ns_per_step),
    next: Number(row.new_ns_per_step),
    change: Number(row.change_ns_per_step),
    interval: pairOf(row.interval)
  }));
}

// Parts that change by less than this share of the largest change are drawn as one.
const kSmall = 0.01;
const kMost = 12;

export function waterfallOf(ledger: Row[]): Waterfall {
  const entries = entriesOf(ledger).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  const largest = Math.abs(entries[0]?.change ?? 0);
  const shown = entries.filter((e, i) => i < kMost && Math.abs(e.change) >= kSmall * largest);
  const rest = entries.slice(shown.length);
  const total = (get: (e: Entry) => number, list: Entry[]): number => list.reduce((sum, e) => sum + get(e), 0);
  if (rest.length === 1) shown.push(rest[0]);
  else if (rest.length > 1) {
    shown.push({
      label: `${rest.length} smaller parts`,
      kind: 'rest',
      base: total((e) => e.base, rest),
      next: total((e) => e.next, rest),
      change: total((e) => e.change, rest),
      interval: null
    });
  }
  const base = total((e) => e.base, entries);
  let level = base;
  const rungs = shown.map((entry) => {
    const rung = { ...entry, from: level, to: level + entry.change };
    level = rung.to;
    return rung;
  });
  return { base, next: total((e) => e.next, entries), rungs, merged: rest.length > 1 ? rest.length : 0 };
}
