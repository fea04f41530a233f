// Words about culprits, the same as in the text report (analysis/report/text/text_summary.cc).
import type { Culprit, Report, Text } from '../data/types';
import { shortName } from '../base/names';
import { utcOf } from '../base/utc';
import { count, keepUnits, known, percent, time } from '../base/units';

// "rank 3", but "stage 0" where the id has the scope in it.
export function nameInScope(scope: Text, id: Text, name?: Text): string {
  const what = shortName(String(name ?? id ?? ''), 40);
  if (!scope) return `rank ${what}`;
  return what.startsWith(`${scope} `) ? what : `${scope} ${what}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// "certain" only where the confidence is 0.95 or more.
export function howSure(confidence: number): string {
  return confidence >= 0.95 ? 'certain' : confidence >= 0.8 ? 'fairly sure' : 'not sure';
}

export function howOften(c: Culprit): string {
  const unit = known(c.block_ns) ? `blocks of ${time(c.block_ns)}` : 'steps';
  const steps = `${count(c.steps)} ${unit}`;
  switch (c.recurrence) {
    case 'once':
      return 'seen once, with no sign that it recurs';
    case 'irregular':
      return 'irregularly, but it is most of the waiting';
    case 'undecided':
      return 'too few steps to tell whether it recurs';
    case 'periodic':
      return `every ${count(c.period_steps)} ${known(c.block_ns) ? 'blocks' : 'steps'}, ${steps} tested`;
    default:
      break;
  }
  if (!known(c.persistence) || !c.recurrence) return '';
  const often = `in ${percent(c.persistence)} of ${steps}`;
  return c.recurrence === 'bursty'
    ? `${often}, in bursts`
    : c.recurrence === 'random'
      ? `${often}, irregularly`
      : often;
}

export function causeWords(c: Culprit): string {
  const kernel = shortName(c.kernel ?? '', 40);
  const excess = known(c.excess_ratio) ? `${percent(c.excess_ratio)} ` : '';
  switch (c.cause) {
    case 'slow_compute':
      return 'the same work takes longer on it than on its peers';
    case 'slow_device':
      return `all its kernels run ${excess}slower than on its peers`;
    case 'slow_kernel':
      return `its kernel ${kernel} runs ${excess}slower than on its peers`;
    case 'more_work':
      return `it has ${excess}more work to compute than its peers${kernel === '' ? '' : ` (kernel ${kernel})`}`;
    case 'more_data':
      return 'it sends or receives more data than its peers in uneven exchanges';
    case 'host_delay':
      return 'its CPU launches kernels late, so its GPU waits for its own host';
    case 'host_pause':
      return 'its host process stops for long times now and then';
    case 'copies':
      return 'its memory copies delay its kernels';
    case 'transfer':
      return 'its transfers are slower than those of equal groups: a slow link or rail';
    case 'dependency':
      return 'it waits for other work of its own';
    default:
      return c.cause ? shortName(c.cause, 60) : 'unknown: the traces do not show it';
  }
}

export function whereWords(c: Culprit): string {
  const parts = [
    ['host', c.host],
    ['device', c.gpu_uuid],
    ['bus', c.pci_bus]
  ]
    .filter(([, value]) => value)
    .map(([word, value]) => `${word} ${shortName(String(value), 60)}`);
  if (parts.length > 0) return parts.join(', ');
  return c.ranks.length > 1 ? `${count(c.ranks.length)} ranks` : 'unknown: the traces name no host and no GPU';
}

// When somebody waited longest for it: in UTC, and since the run's start; '' where it is not known.
export function worstWords(c: Culprit): string {
  const since = known(c.worst_at_ns) ? `${time(c.worst_at_ns)} after the run's start` : '';
  return [utcOf(c.worst_at_unix_ns), since].filter(Boolean).join(', ');
}

// The stretch of the run that holds nearly all of it; '' where there is none.
export function stretchWords(c: Culprit): string {
  const stretch = c.recurrence === 'once' ? null : c.stretch_ns;
  if (!stretch) return '';
  return `nearly all from ${time(Math.max(0, stretch[0]))} to ${time(stretch[1])} after the run's start`;
}

const kLeastShown = 0.0005; // of what would not be shown as 0.0 %

// What mending it would save, in the words of the text report; '' where nothing is known and no reason is given.
export function savingWords(c: Culprit): string {
  if (!known(c.saving_ratio)) return c.saving_reason ? `unknown: ${shortName(c.saving_reason, 300)}` : '';
  if (known(c.saving_after_others_ratio)) {
    return (
      `${c.saving_ratio < kLeastShown ? 'none' : percent(c.saving_ratio)} by itself, because the others also wait for ` +
      `another one; ${percent(c.saving_after_others_ratio)} of each step once that is fixed`
    );
  }
  if (c.saving_ratio < kLeastShown) return 'none: replayed without its delay, the run takes as long';
  const pair = c.saving_interval_ratio;
  const range = pair ? ` (${percent(pair[0])} to ${percent(pair[1])})` : '';
  const like = c.cause === 'more_data' ? 'if it moved as much as its peers' : 'if it were as fast as its peers';
  return `${percent(c.saving_ratio)} of each step${range} ${like}`;
}

const kTelling = ['kernels_present', 'matching', 'clock', 'complete_ranks', 'rank_identity', 'duplicate_rank'];

// Why no collective was compared across ranks: the problem that the text report would name, without a full stop.
export function whyNotMatched(report: Report | undefined): string {
  if ((report?.collectives ?? []).length === 0) return 'no kernel in the traces is known to communicate; those of NCCL or RCCL, of all ranks, fill it';
  const problems = report?.summary?.problems ?? [];
  const found = kTelling.map((gate) => problems.find((p) => p.gate === gate)).find((p) => p !== undefined);
  if (!found) return 'no collective could be matched across ranks whose clocks are aligned';
  const fix = found.fix ? `. What to do: ${found.fix}` : '';
  return keepUnits(shortName(`${found.detail}${fix}`, 600));
}

const kOps: { [op: string]: string } = {
  all_reduce: 'all-reduce',
  all_gather: 'all-gather',
  reduce_scatter: 'reduce-scatter',
  all_to_all: 'all-to-all',
  send_recv: 'send and receive',
  broadcast: 'broadcast'
};

export function opWords(op: Text): string {
  if (!op) return 'a collective';
  return kOps[op] ?? shortName(op, 40);
}
