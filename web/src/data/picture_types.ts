// The data of the pictures of a report, as they are stored and as the page draws them.
import type { Num, Text } from './types';

export interface Tile {
  first_row: number;
  rows: number;
  ranks_per_row: number;
  row_ranks?: number[] | null;
  columns: number;
  columns_per_cell: number;
  cells: string; // one character a cell, see decode.ts
}

export interface Layer {
  name: string;
  tiles: Tile[];
}

// Column c begins with step starts[c], or so many ns after the run's start, and covers `each` steps or ns. Columns without
// data do not exist, so that numbers of steps may have holes.
export interface Columns {
  kind: 'step' | 'time';
  each: number;
  starts: number[];
}

export interface Pace {
  start_ns: number;
  bucket_ns: number;
  buckets: number;
  rows: number;
  ranks_per_row: number;
  busy: string;
  compute: string;
  comm: string;
}

export interface Member {
  rank: number;
  start_ns: number;
  end_ns: number;
  wait_ns?: Num;
}

// One collective, as the page uses it; pictures.ts makes it of a StoredInstance.
export interface Instance {
  communicator_id: string;
  communicator_name?: Text;
  op?: Text;
  bytes?: Num;
  step?: Num;
  index: number;
  spread_ns?: Num;
  uncertainty_ns?: Num;
  resolvable?: boolean;
  transfer_ns?: Num;
  start_ns: number;
  end_ns: number;
  wait_total_ns?: Num;
  first_rank?: Num;
  last_rank?: Num;
  last_certain?: boolean;
  members_total: number;
  members: Member[];
}

export type Bucket = [number, number, number];

export interface StoredInstance {
  members: number;
  wait_total_ns?: Num;
  instance: Omit<Instance, 'members_total' | 'start_ns' | 'end_ns' | 'wait_total_ns'>;
}

export interface StoredDurations {
  lower_ns: number[];
  upper_ns: number[];
  counts: number[];
}

export interface StoredTail {
  name: string;
  category?: Text;
  durations: StoredDurations;
  by_host?: { host: Text; durations: StoredDurations }[];
}

// The distribution of one kernel, as the page uses it; pictures.ts makes it of a StoredTail.
export interface Tail {
  name: string;
  category?: Text;
  p50_ns?: Num;
  p99_ns?: Num;
  max_ns?: Num;
  count: number;
  buckets: Bucket[];
  by_host?: { host: Text; count: number; buckets: Bucket[] }[];
}

export interface Pictures {
  ranks: number[];
  hosts: Text[];
  blame_ns?: Num[] | null;
  columns: Columns;
  layers: Layer[];
  pace?: Pace | null;
  instances?: StoredInstance[];
  tails?: StoredTail[];
}
