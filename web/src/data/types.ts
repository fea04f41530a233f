// The data of a page, "lockstep.page/1", as far as the page reads it. Fields that may be missing are optional, and every
// number may be null where it is not known; docs/reference.md and docs/comparison.md define the fields.

import type { Pictures } from './picture_types';

export * from './picture_types';

export type Num = number | null | undefined;
export type Text = string | null | undefined;
export type Pair = [number, number] | null | undefined;

export interface Pct {
  p50?: Num;
  p90?: Num;
  p95?: Num;
  p99?: Num;
  p999?: Num;
  max?: Num;
  min?: Num;
  mean?: Num;
  count?: number;
  bounds?: { [name: string]: [number, number] };
}

export interface Culprit {
  scope: string;
  id: string;
  name?: Text;
  rank?: Num;
  host?: Text;
  gpu_uuid?: Text;
  pci_bus?: Text;
  device?: Num;
  ranks: number[];
  caused_wait_total_ns: number;
  share_of_wait_ratio: number;
  confidence: number;
  cause?: Text;
  open?: boolean;
  recurrence?: Text;
  persistence?: Num;
  period_steps?: Num;
  steps?: Num;
  kernel?: Text;
  frontier?: Text;
  excess_ratio?: Num;
  saving_ratio?: Num;
  saving_interval_ratio?: Pair;
  saving_after_others_ratio?: Num;
  saving_reason?: Text;
  worst_at_ns?: Num;
  worst_at_unix_ns?: Text;
  stretch_ns?: Pair;
  block_ns?: Num;
  rank_source?: Text;
  path?: Text;
}

export interface Summary {
  time_share?: { [name: string]: Num };
  culprits?: Culprit[];
  step_ns?: Pct | null;
  steps_by_rank?: boolean;
  wait_total_ns?: Num;
  rank_time_ns?: Num;
  verdict?: Text;
  window?: { steps?: Pair; span_ns?: Num; kind?: Text; start_ns?: Num } | null;
  problems?: { gate: string; detail: string; fix?: Text }[];
}

export interface Run {
  name?: Text;
  state?: Text;
  ranks?: Num;
  hosts?: Num;
  world_size?: Num;
  missing_ranks?: number[];
  span_ns?: Num;
  start_unix_ns?: Text;
  layout?: { [name: string]: number | string } | null;
  lockstep_version?: Text;
}

export type Parts = { [part: string]: number };

export interface ProfileStep extends Record<string, unknown> {
  step: number;
  longest_ns: number;
  longest_rank: number;
  span_total_ns: number;
}

export interface ProfileRank extends Record<string, unknown> {
  rank: number;
  host?: Text;
  gpu_name?: Text;
  span_total_ns: number;
  wait_total_ns?: Num;
  caused_wait_total_ns?: Num;
}

export interface ProfileKernel {
  name: string;
  category?: Text;
  family?: Text;
  ranks: number;
  instances: number;
  total_ns: number;
  duration_ns: Pct;
  step_instances?: Num;
}

export interface Profile {
  ranks?: number;
  comparable_steps?: boolean;
  partial_steps?: number;
  steps?: ProfileStep[];
  by_rank?: ProfileRank[];
  kernels?: ProfileKernel[];
  context?: { [key: string]: string };
}

// Rows of views that are only shown in tables are read by path, see widgets/table.ts.
export type Row = Record<string, unknown>;

export interface Report {
  run?: Run;
  notices?: { view: string; reason: string }[];
  summary?: Summary;
  ranks?: Row[];
  quality?: { gates?: Row[]; ranks?: Row[]; files?: Row[] };
  families?: Row[];
  collectives?: Row[];
  tails?: Row[];
  clock?: { components?: Row[]; hosts?: Row[]; reference_host?: Text };
  stragglers?: Row[];
  findings?: Row[];
  imbalance?: Row;
  overlap?: Row[];
  profile?: Profile;
  pictures?: Pictures;
}

export interface Comparison {
  notices?: string[];
  base?: Row[];
  new?: Row[];
  comparable?: Row;
  noise?: Row;
  headline?: Row;
  metrics?: Row[];
  ledger?: Row[];
  kernels?: Row[];
  families?: Row[];
  roles?: Row[];
  collectives?: Row[];
  late?: Row[];
  ranks?: Row;
  hosts?: Row[];
  gates?: Row[];
}

export interface Page {
  schema: string;
  kind: 'report' | 'comparison';
  title: string;
  tool?: string;
  headline?: string[];
  report?: Report;
  comparison?: Comparison;
  definitions?: { [path: string]: string };
  cut?: { [list: string]: { shown: number; of: number } };
}
