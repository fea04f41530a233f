// Distributions from histograms: the share of instances that take longer than a time, with the bounds that the buckets
// leave. Pure.
import type { Bucket } from '../data/types';

// Between `lower` and `upper`, the share of instances that take longer is at most `high` and at least `low`.
export interface Band {
  lower: number;
  upper: number;
  high: number;
  low: number;
}

export function bandsOf(buckets: Bucket[]): Band[] {
  const sorted = [...buckets].filter((b) => b[2] > 0).sort((a, b) => a[0] - b[0]);
  const total = sorted.reduce((n, b) => n + b[2], 0);
  const bands: Band[] = [];
  let above = total;
  for (const [lower, upper, n] of sorted) {
    bands.push({ lower, upper: Math.max(lower, upper), high: above / total, low: (above - n) / total });
    above -= n;
  }
  return bands;
}

// The share of instances that take longer than t, at least and at most.
export function shareAbove(bands: Band[], t: number): { low: number; high: number } {
  let low = 1;
  for (const band of bands) {
    if (t < band.lower) return { low, high: low };
    if (t < band.upper) return { low: band.low, high: band.high };
    low = band.low;
  }
  return { low: 0, high: 0 };
}
