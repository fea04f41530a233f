// Codes of the cells of a heat map, one byte each, as "lockstep.page/1" defines them:
// 0 nothing; 1 smaller than the clocks can resolve; else 1000 * 2^((q - 2) / 8) ns, where 2 also stands for less.
import { roughTime } from '../base/units';

export const kNone = 0;
export const kUnresolved = 1;
export const kSmallest = 2;
export const kLevelsAnOctave = 8;

export function nsOfCode(q: number): number {
  return q < kSmallest ? 0 : 1000 * 2 ** ((q - kSmallest) / kLevelsAnOctave);
}

export function codeOfNs(ns: number): number {
  if (!(ns > 0)) return kNone;
  const q = Math.round(Math.log2(ns / 1000) * kLevelsAnOctave) + kSmallest;
  return Math.min(255, Math.max(kSmallest, q));
}

// "about 3.1 ms": a code tells a time to 4.4 %.
export function timeOfCode(q: number): string {
  if (q === kSmallest) return '1 µs or less';
  return `about ${roughTime(nsOfCode(q))}`;
}
