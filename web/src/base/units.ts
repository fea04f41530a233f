// Numbers as text. The rules are those of the text report (analysis/base/unit_text.cc): three significant digits, so that
// page and text give the same figures. The page writes µs where the text writes us.
import type { Num } from '../data/types';

export const kNothing = '–';

const kNbsp = '\u00a0'; // A number and its unit stay on one line.

const kTimes: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns']
];
const kSizes: [number, string][] = [
  [1e12, 'TB'],
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
  [1, 'B']
];

export function known(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

// Like fmt, but for the sign: exact halves go to the even digit, where toFixed rounds them up. Twenty digits show an exact half as such.
function fixed(value: number, decimals: number): string {
  const size = Math.abs(value);
  const text = size.toFixed(20);
  const point = text.indexOf('.');
  const digits = text.slice(0, point) + text.slice(point + 1, point + 1 + decimals);
  const even = '02468'.includes(digits.charAt(digits.length - 1));
  const half = even && /^50*$/.test(text.slice(point + 1 + decimals));
  const cut = decimals === 0 ? text.slice(0, point) : text.slice(0, point + 1 + decimals);
  return withMinus(value, half ? cut : size.toFixed(decimals));
}

// The minus sign is as wide as a plus sign. What is shown as zero has no sign.
function withMinus(value: number, size: string): string {
  return value < 0 && /[1-9]/.test(size) ? `−${size}` : size;
}

function inUnit(units: [number, string][], value: number): string {
  const [size, name] = units.find(([s]) => Math.abs(value) >= s) ?? units[units.length - 1];
  const scaled = value / size;
  const whole = size <= 1 || Math.abs(scaled) >= 100 || value % size === 0;
  return `${fixed(scaled, whole ? 0 : Math.abs(scaled) >= 10 ? 1 : 2)}${kNbsp}${name}`;
}

export function time(ns: Num): string {
  return known(ns) ? inUnit(kTimes, ns) : kNothing;
}

// With two digits, for values that are only known to a few percent.
export function roughTime(ns: number): string {
  const value = Number(ns.toPrecision(2));
  const [size, name] = kTimes.find(([s]) => value >= s) ?? kTimes[kTimes.length - 1];
  return `${Number((value / size).toPrecision(2))}${kNbsp}${name}`;
}

export function bytes(n: Num): string {
  return known(n) ? inUnit(kSizes, n) : kNothing;
}

export function percent(ratio: Num): string {
  if (!known(ratio)) return kNothing;
  const p = 100 * ratio;
  const size = Math.abs(p);
  return `${fixed(p, p === 0 || size >= 99.95 ? 0 : size < 1 ? 2 : 1)}${kNbsp}%`;
}

export function count(n: Num): string {
  if (!known(n)) return kNothing;
  if (!Number.isInteger(n)) return significant(n);
  return withMinus(n, Math.abs(n).toString().replace(/\B(?=(\d{3})+$)/g, ','));
}

// Three significant digits without an exponent where that is short enough to read.
export function significant(n: Num): string {
  if (!known(n)) return kNothing;
  if (n === 0) return '0';
  const size = Math.abs(n);
  if (size >= 100 && size < 1e6) return count(Math.round(n));
  return withMinus(n, size >= 1e6 || size < 1e-4 ? size.toExponential(2) : Number(size.toPrecision(3)).toString());
}

function signed(text: string, value: Num): string {
  return known(value) && value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

export function signedTime(ns: Num): string {
  return signed(time(ns), ns);
}

const kManyTimes = 9; // From this change on people read a factor more easily.

function asFactor(ratio: number): string {
  return `×${kNbsp}${Number((1 + ratio).toPrecision(3))}`;
}

function asPercent(ratio: number): string {
  return signed(`${fixed(100 * ratio, 1)}${kNbsp}%`, ratio);
}

export function signedPercent(ratio: Num): string {
  if (!known(ratio)) return kNothing;
  return ratio >= kManyTimes ? asFactor(ratio) : asPercent(ratio);
}

// The interval of a change, both ends in the unit in which the change itself is shown. No time falls below nothing, so
// that an interval that reaches further ends there.
export function percentInterval(ratio: Num, pair: unknown): string {
  const format = known(ratio) && ratio >= kManyTimes ? asFactor : asPercent;
  return interval(pair, (end) => format(Math.max(-1, end as number)));
}

// The same for a sentence that was made elsewhere; it may write us for µs, and a hyphen for the sign.
export function keepUnits(text: string): string {
  return text
    .replace(/(?<=^|[ (])-(?=\d)/g, '−')
    .replace(
      /(\d) (ns|us|ms|s|%|[kMGT]?B)(?!\w)/g,
      (_, digit: string, unit: string) => `${digit}${kNbsp}${unit === 'us' ? 'µs' : unit}`
    );
}

export function interval(pair: unknown, format: (value: Num) => string): string {
  if (!Array.isArray(pair) || pair.length !== 2 || !known(pair[0]) || !known(pair[1])) return kNothing;
  return `${format(pair[0])} to ${format(pair[1])}`;
}

// The whole value for a title: digits in groups, and the unit.
export function exact(value: Num, unit: string): string {
  if (!known(value)) return 'not known';
  const text = Number.isInteger(value) ? count(value) : String(value);
  return unit === '' ? text : `${text} ${unit}`;
}

// "1 rank", "2 ranks".
export function plural(n: number, word: string): string {
  return `${count(n)} ${word}${n === 1 ? '' : 's'}`;
}

// Ticks at decades within [low, high]; with `fine` also at 2 and 5 times a decade.
export function logTicks(low: number, high: number, fine = false): number[] {
  const ticks: number[] = [];
  for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d++) {
    for (const m of fine ? [1, 2, 5] : [1]) {
      const value = m * 10 ** d;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

// About n round ticks within [low, high] on a linear axis.
export function linearTicks(low: number, high: number, n = 5): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / n;
  const decade = 10 ** Math.floor(Math.log10(raw));
  const each = [1, 2, 5, 10].map((m) => m * decade).find((s) => s >= raw * 0.999) ?? raw;
  const ticks: number[] = [];
  for (let k = Math.ceil(low / each - 1e-9); k * each <= high + each * 1e-9; k++) ticks.push(k * each);
  return ticks;
}
