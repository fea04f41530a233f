// Turns what is stored of pictures into what the page draws. Pure.
import { known } from '../base/units';
import { at } from '../widgets/rows';
import type { Bucket, Instance, Num, Report, StoredDurations, Tail } from './types';

// Of two arrivals that are closer than this it is unknown which came first: the worst pair of ranks. Null where no two
// ranks can be compared.
export function resolutionOf(report: Report | undefined): number | null {
  const all = (report?.clock?.components ?? []).map((c) => c.not_resolvable_below_ns).filter(known);
  return all.length > 0 ? Math.max(...all) : null;
}

// The single collectives with most waiting, the longest first.
export function instancesOf(report: Report | undefined): Instance[] {
  const stored = (report?.pictures?.instances ?? []).filter((s) => (s.instance?.members?.length ?? 0) > 0);
  const all = stored.map((s): Instance => {
    const { members } = s.instance;
    return {
      ...s.instance,
      members_total: s.members,
      wait_total_ns: s.wait_total_ns,
      start_ns: Math.min(...members.map((m) => m.start_ns)),
      end_ns: Math.max(...members.map((m) => m.end_ns))
    };
  });
  return all.sort((a, b) => (b.wait_total_ns ?? 0) - (a.wait_total_ns ?? 0));
}

// A bucket of durations of zero begins below zero.
function bucketsOf(durations: StoredDurations | undefined): Bucket[] {
  const { lower_ns: lower, upper_ns: upper, counts } = durations ?? { lower_ns: [], upper_ns: [], counts: [] };
  return counts.map((n, i): Bucket => [Math.max(0, lower[i]), Math.max(0, upper[i]), n]);
}

const countOf = (buckets: Bucket[]): number => buckets.reduce((sum, b) => sum + b[2], 0);

// Distributions with the percentiles that the view tails has of the same kernel.
export function tailsOf(report: Report | undefined): Tail[] {
  const rows = new Map((report?.tails ?? []).map((row) => [row.name, row]));
  const percentile = (name: string, key: string): Num => {
    const value = at(rows.get(name), `fleet_ns.${key}`);
    return known(value) ? value : null;
  };
  const all = (report?.pictures?.tails ?? []).map((stored): Tail => {
    const buckets = bucketsOf(stored.durations);
    const hosts = (stored.by_host ?? []).map((h) => ({ host: h.host, buckets: bucketsOf(h.durations) }));
    return {
      name: stored.name,
      category: stored.category,
      p50_ns: percentile(stored.name, 'p50'),
      p99_ns: percentile(stored.name, 'p99'),
      max_ns: percentile(stored.name, 'max'),
      count: countOf(buckets),
      buckets,
      by_host: hosts.map((h) => ({ ...h, count: countOf(h.buckets) }))
    };
  });
  return all.filter((tail) => tail.count > 0);
}
