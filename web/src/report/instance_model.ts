// One collective: the bars of its members, and the command that opens its time in Perfetto. Pure.
import type { Instance, Member } from '../data/types';
import { known } from '../base/units';

export interface MemberBar {
  rank: number;
  start: number;
  waitEnd: number;
  end: number;
  last: boolean;
  wait: number | null;
}

// The last arrival: the latest start of a member.
export function lastArrival(members: Member[]): number {
  return Math.max(...members.map((m) => m.start_ns));
}

// Members in the order in which they arrived. Each waits from its own start on, for as long as the data say.
export function memberBars(instance: Instance): MemberBar[] {
  return [...instance.members]
    .sort((a, b) => a.start_ns - b.start_ns || a.rank - b.rank)
    .map((m) => {
      const wait = known(m.wait_ns) ? m.wait_ns : null;
      return {
        rank: m.rank,
        start: m.start_ns,
        end: Math.max(m.end_ns, m.start_ns),
        wait,
        waitEnd: Math.min(m.start_ns + (wait ?? 0), Math.max(m.end_ns, m.start_ns)),
        last: m.rank === instance.last_rank
      };
    });
}

const kMargin = 0.1; // of the length of the instance, so that what led to it is seen

// The time around an instance, in whole ns since the run's start, never before it.
export function windowOf(instance: Pick<Instance, 'start_ns' | 'end_ns'>): { from: number; to: number } {
  const pad = Math.ceil((instance.end_ns - instance.start_ns) * kMargin);
  return { from: Math.max(0, Math.floor(instance.start_ns - pad)), to: Math.max(1, Math.ceil(instance.end_ns + pad)) };
}

export function perfettoCommand(instance: Pick<Instance, 'start_ns' | 'end_ns'>): string {
  const { from, to } = windowOf(instance);
  return `lockstep export RUN --to perfetto --time ${from}ns..${to}ns --output FILE.pftrace`;
}
