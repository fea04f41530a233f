// The parts of the time of ranks and steps, as the view profile has them. Pure.
import type { Culprit, Profile, Summary } from '../data/types';
import { count, known, plural } from '../base/units';

export interface Part {
  key: string;
  share: string;
  label: string;
  short: string;
}

// In the order in which they are stacked: work first, so that waiting and idle time end the bar.
export const kParts: Part[] = [
  { key: 'compute_ns', share: 'compute_ratio', label: 'computing', short: 'computing' },
  { key: 'copy_only_ns', share: 'copy_ratio', label: 'copying (exposed)', short: 'copying' },
  { key: 'opaque_only_ns', share: 'opaque_ratio', label: 'CUDA graphs traced as one span', short: 'graphs' },
  {
    key: 'exposed_transfer_ns',
    share: 'exposed_transfer_ratio',
    label: 'transferring (exposed)',
    short: 'transferring'
  },
  {
    key: 'exposed_unresolved_ns',
    share: 'exposed_unresolved_ratio',
    label: 'waiting or transferring, not separable',
    short: 'wait or transfer'
  },
  {
    key: 'exposed_wait_ns',
    share: 'exposed_wait_ratio',
    label: 'waiting for a later rank (exposed)',
    short: 'waiting'
  },
  { key: 'idle_host_ns', share: '', label: 'idle: the host launches late', short: 'idle, host' },
  { key: 'idle_launch_ns', share: '', label: 'idle between launch and start', short: 'idle, launch' },
  { key: 'idle_dependency_ns', share: '', label: 'idle for other work of its rank', short: 'idle, dependency' },
  { key: 'idle_other_ns', share: 'idle_ratio', label: 'idle, cause not known', short: 'idle' }
];

// The summary does not divide idle time by its cause.
export function partLabel(i: number, whole: boolean): string {
  return whole && kParts[i].share === 'idle_ratio' ? 'idle' : kParts[i].label;
}

export interface Bar {
  label: string;
  parts: number[];
  total: number;
  culprit: boolean;
  rank: number | null;
}

function partsOf(row: Record<string, unknown>, divide: number): number[] {
  return kParts.map((part) => {
    const value = row[part.key];
    return known(value) ? value / divide : 0;
  });
}

export function sum(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function barOf(label: string, parts: number[], culprit: boolean, rank: number | null): Bar {
  return { label, parts, total: sum(parts), culprit, rank };
}

export function culpritRanks(culprits: Culprit[]): Set<number> {
  return new Set(culprits.flatMap((c) => c.ranks));
}

// The bars of all ranks: time a step, or of the whole run without steps.
export function rankBars(profile: Profile, culprits: Culprit[]): Bar[] {
  const steps = Math.max(1, profile.steps?.length ?? 0);
  const late = culpritRanks(culprits);
  return (profile.by_rank ?? []).map((row) =>
    barOf(`rank ${row.rank}`, partsOf(row, steps), late.has(row.rank), row.rank)
  );
}

export function meanBar(bars: Bar[], label: string): Bar {
  const n = Math.max(1, bars.length);
  return barOf(
    label,
    kParts.map((_, i) => sum(bars.map((b) => b.parts[i])) / n),
    false,
    null
  );
}

const kWait = kParts.findIndex((p) => p.key === 'exposed_wait_ns');

export function byWait(bars: Bar[]): Bar[] {
  return [...bars].sort((a, b) => a.parts[kWait] - b.parts[kWait]);
}

export const kBarsAtMost = 64;

// Of many ranks: the mean, the culprits, and those that wait least and most. A culprit waits little itself.
export function chosenBars(bars: Bar[], ends = 8): Bar[] {
  if (bars.length <= kBarsAtMost) return bars;
  const sorted = byWait(bars);
  const late = bars.filter((b) => b.culprit).slice(0, 16);
  const rest = [...sorted.slice(0, ends), ...sorted.slice(-ends)].filter((b) => !late.includes(b));
  return [meanBar(bars, 'mean rank'), ...late, ...rest];
}

// Stacked columns, at most `most`: neighbours share a column, which has their mean, because parts must add up.
export interface Stack {
  x: number[];
  parts: number[][];
  each: number;
}

export function stackOf(rows: { x: number; parts: number[] }[], most: number): Stack {
  const each = Math.max(1, Math.ceil(rows.length / most));
  const stack: Stack = { x: [], parts: [], each };
  for (let i = 0; i < rows.length; i += each) {
    const chunk = rows.slice(i, i + each);
    stack.x.push(chunk[0].x);
    stack.parts.push(kParts.map((_, p) => sum(chunk.map((row) => row.parts[p])) / chunk.length));
  }
  return stack;
}

export function stepRows(
  profile: Profile
): { x: number; parts: number[]; row: NonNullable<Profile['steps']>[number] }[] {
  const ranks = Math.max(1, profile.ranks ?? profile.by_rank?.length ?? 1);
  return (profile.steps ?? []).map((row) => ({ x: row.step, parts: partsOf(row, ranks), row }));
}

// Why these are fewer steps than the top of the page counts; '' where they are not.
export function stepsLeftOut(profile: Profile, summary: Summary | undefined): string {
  const all = summary?.steps_by_rank ? 0 : (summary?.step_ns?.count ?? 0);
  const fewer = all - (profile.steps?.length ?? 0);
  const partial = profile.partial_steps ?? 0;
  const lacking = partial > 0 ? `${plural(partial, 'step')} that some ranks lack ${partial === 1 ? 'is' : 'are'} left out. ` : '';
  if (fewer <= 0) return lacking;
  if (fewer > 1) return `The other ${count(fewer)} of ${plural(all, 'step')} are left out, because nothing shows where they end. ${lacking}`;
  return `The last of the ${plural(all, 'step')} is left out, because nothing shows where it ends. ${lacking}`;
}

// Without a profile: shares of the whole run from the summary.
export function summaryBar(summary: Summary): Bar | null {
  const share = summary.time_share;
  if (!share) return null;
  const parts = kParts.map((p) => (p.share === '' ? 0 : (share[p.share] ?? 0)));
  return sum(parts) > 0 ? barOf('all ranks', parts, false, null) : null;
}

// How much of the communication computing hides: from the view overlap where it is there, as the sums over all ranks.
export interface Hidden {
  comm: number;
  hidden: number;
  exposed: number;
}

export function hiddenOf(overlap: Record<string, unknown>[] | undefined): Hidden | null {
  const result = { comm: 0, hidden: 0, exposed: 0 };
  for (const row of overlap ?? []) {
    if (!known(row.comm_ns) || !known(row.exposed_comm_ns)) continue;
    result.comm += row.comm_ns;
    result.exposed += row.exposed_comm_ns;
    result.hidden += Math.max(0, row.comm_ns - row.exposed_comm_ns);
  }
  return result.comm > 0 ? result : null;
}

// An estimate where that view is not there: the durations of communication kernels in the steps of the job, less the
// exposed time in these steps. Communication beside other communication counts as hidden too.
export function hiddenOfKernels(profile: Profile | undefined): Hidden | null {
  const result = { comm: 0, hidden: 0, exposed: 0 };
  for (const kernel of profile?.kernels ?? []) {
    if (kernel.category !== 'communication' || !(kernel.instances > 0)) continue;
    const inSteps = known(kernel.step_instances) ? kernel.step_instances / kernel.instances : 1;
    result.comm += kernel.total_ns * inSteps;
  }
  const exposed = ['exposed_wait_ns', 'exposed_transfer_ns', 'exposed_unresolved_ns'];
  for (const row of profile?.by_rank ?? []) result.exposed += sum(exposed.map((key) => Number(row[key] ?? 0)));
  if (result.comm <= 0 || result.exposed <= 0) return null;
  result.exposed = Math.min(result.exposed, result.comm);
  result.hidden = result.comm - result.exposed;
  return result;
}
