// Moments as the text report writes them. Pure.
import type { Text } from '../data/types';

// "2026-02-01 00:00:00.556197 UTC", cut to microseconds, from Unix time in ns as digits; '' where it is not known.
export function utcOf(unixNs: Text): string {
  if (typeof unixNs !== 'string' || !/^\d{1,19}$/.test(unixNs)) return '';
  const micros = BigInt(unixNs) / 1000n;
  const whole = new Date(Number(micros / 1000000n) * 1000).toISOString().slice(0, 19).replace('T', ' ');
  return `${whole}.${String(micros % 1000000n).padStart(6, '0')} UTC`;
}
