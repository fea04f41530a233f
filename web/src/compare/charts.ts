// Pictures of a comparison: the step time of both sides, the ledger as a waterfall, and changes as bars with intervals.
import { s } from '../base/dom';
import { shortName } from '../base/names';
import { count, linearTicks, signedTime, time } from '../base/units';
import { fitted, label, line, rect, textWidth, type Chart } from '../widgets/svg';
import type { Waterfall } from './waterfall_model';

export interface Change {
  label: string;
  value: number;
  interval: [number, number] | null;
  note: string;
  title: string;
  real: boolean;
}

const kRow = 26;

// Room for the texts at the right end of the rows.
function noteWidth(notes: string[]): number {
  return Math.min(260, Math.max(60, ...notes.map((note) => textWidth(note, true))) + 24);
}

// Worse is to the right: more time. "real" changes are filled, others are outlined, so that colour is not the only cue.
export function changesChart(changes: Change[], width: number, what: string): Chart {
  const left = Math.min(width * 0.42, Math.max(...changes.map((c) => textWidth(c.label))) + 14);
  const right = width > 560 ? noteWidth(changes.map((c) => `${signedTime(c.value)} ${c.note}`)) : 12;
  const plot = width - left - right;
  const height = changes.length * kRow + 30;
  const all = changes.flatMap((c) => [c.value, ...(c.interval ?? [])]);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const span = Math.max(high - low, 1e-9);
  const x = (v: number): number => left + ((v - low) / span) * plot;
  const draw = (picture: SVGSVGElement): void => {
    changes.forEach((change, i) => {
      const y = i * kRow + 3;
      const sign = change.value > 0 ? 'worse' : 'better';
      const bar = rect(
        Math.min(x(0), x(change.value)),
        y + 3,
        Math.max(1, Math.abs(x(change.value) - x(0))),
        kRow - 12,
        `change ${sign} ${change.real ? 'real' : 'open'}`
      );
      picture.append(
        label(left - 8, y + 15, fitted(change.label, left - 12), '', 'end'),
        s('g', {}, bar, s('title', {}, change.title))
      );
      if (change.interval) {
        const [a, b] = change.interval.map(x);
        const middle = y + kRow / 2 - 3;
        picture.append(
          line(a, middle, b, middle, 'whisker'),
          line(a, middle - 4, a, middle + 4, 'whisker'),
          line(b, middle - 4, b, middle + 4, 'whisker')
        );
      }
      if (right > 20)
        picture.append(
          label(left + plot + 8, y + 15, `${signedTime(change.value)} ${change.note}`, change.real ? 'strong' : 'quiet')
        );
    });
    const y = changes.length * kRow + 4;
    picture.append(line(x(0), 0, x(0), y, 'axis'));
    for (const tick of linearTicks(low, high, Math.max(2, Math.floor(plot / 100)))) {
      picture.append(
        line(x(tick), y, x(tick), y + 4, 'axis'),
        label(x(tick), y + 17, tick === 0 ? '0' : signedTime(tick), 'quiet', 'middle')
      );
    }
  };
  const first = changes[0];
  return {
    width,
    height,
    draw,
    sentence: `${what}, ${count(changes.length)} rows${first ? `; the first: ${first.label}, ${signedTime(first.value)}` : ''}.`
  };
}

export interface Pair {
  label: string;
  base: number;
  next: number;
  interval: [number, number] | null;
  note: string;
  marked?: boolean;
}

// Two points a row, old and new, joined by a line. The band is where the new value can be, by the interval of the change.
export function dumbbells(pairs: Pair[], width: number, format: (v: number) => string, what: string): Chart {
  const left = Math.min(width * 0.36, Math.max(...pairs.map((p) => textWidth(p.label, true))) + 26);
  const right = width > 560 ? noteWidth(pairs.map((p) => p.note)) : 14;
  const plot = width - left - right;
  const height = pairs.length * kRow + 46;
  const high = Math.max(1e-9, ...pairs.flatMap((p) => [p.base, p.next, p.interval ? p.base + p.interval[1] : 0]));
  const x = (v: number): number => left + (Math.max(0, v) / high) * plot;
  const draw = (picture: SVGSVGElement): void => {
    picture.append(
      s('circle', { cx: left + 6, cy: 9, r: 5, class: 'dot old' }),
      label(left + 15, 13, 'base', 'quiet'),
      s('circle', { cx: left + 66, cy: 9, r: 6, class: 'dot new' }),
      label(left + 76, 13, 'new', 'quiet')
    );
    pairs.forEach((pair, i) => {
      const y = 34 + i * kRow;
      picture.append(
        label(
          left - 10,
          y + 4,
          fitted(pair.marked ? `▶ ${pair.label}` : pair.label, left - 12, pair.marked),
          pair.marked ? 'culprit' : '',
          'end'
        )
      );
      if (pair.interval)
        picture.append(
          rect(
            x(pair.base + pair.interval[0]),
            y - 9,
            Math.max(1, x(pair.base + pair.interval[1]) - x(pair.base + pair.interval[0])),
            18,
            'band'
          )
        );
      const sign = pair.next > pair.base ? 'worse' : 'better';
      picture.append(
        line(x(pair.base), y, x(pair.next), y, `bell ${sign}`),
        s(
          'g',
          {},
          s('circle', { cx: x(pair.base), cy: y, r: 5, class: 'dot old' }),
          s('title', {}, `${pair.label}, base: ${format(pair.base)}`)
        ),
        s(
          'g',
          {},
          s('circle', { cx: x(pair.next), cy: y, r: 6, class: 'dot new' }),
          s('title', {}, `${pair.label}, new: ${format(pair.next)}`)
        )
      );
      if (right > 20) picture.append(label(left + plot + 12, y + 4, pair.note, 'quiet'));
    });
    const y = 26 + pairs.length * kRow;
    for (const tick of linearTicks(0, high, Math.max(2, Math.floor(plot / 100)))) {
      picture.append(
        line(x(tick), y, x(tick), y + 4, 'axis'),
        label(x(tick), y + 17, tick === 0 ? '0' : format(tick), 'quiet', 'middle')
      );
    }
  };
  const first = pairs[0];
  return {
    width,
    height,
    draw,
    sentence: `${what}${first ? `; ${first.label}: ${format(first.base)} on the base side, ${format(first.next)} on the new side` : ''}.`
  };
}

export function waterfallChart(fall: Waterfall, width: number): Chart {
  const rows = [
    {
      label: 'mean step, base',
      from: 0,
      to: fall.base,
      kind: 'total',
      change: fall.base,
      interval: null as [number, number] | null
    },
    ...fall.rungs,
    { label: 'mean step, new', from: 0, to: fall.next, kind: 'total', change: fall.next, interval: null }
  ];
  const left = Math.min(width * 0.42, Math.max(...rows.map((r) => textWidth(r.label, true))) + 14);
  const right = width > 560 ? 110 : 12;
  const plot = width - left - right;
  const height = rows.length * kRow + 30;
  const high = Math.max(1e-9, ...rows.flatMap((r) => [r.from, r.to]));
  const low = Math.min(0, ...rows.flatMap((r) => [r.from, r.to]));
  const x = (v: number): number => left + ((v - low) / (high - low)) * plot;
  const draw = (picture: SVGSVGElement): void => {
    rows.forEach((row, i) => {
      const y = i * kRow + 3;
      const total = row.kind === 'total';
      const classes = total ? 'change total' : `change ${row.change > 0 ? 'worse' : 'better'} real`;
      const text = total ? time(row.change) : signedTime(row.change);
      picture.append(
        label(left - 8, y + 15, fitted(shortName(row.label, 60), left - 12, total), total ? 'strong' : '', 'end'),
        s(
          'g',
          {},
          rect(
            Math.min(x(row.from), x(row.to)),
            y + 3,
            Math.max(1, Math.abs(x(row.to) - x(row.from))),
            kRow - 10,
            classes
          ),
          s('title', {}, `${row.label}: ${text}`)
        )
      );
      if (i + 1 < rows.length) picture.append(line(x(row.to), y + kRow - 7, x(row.to), y + kRow + 3, 'rung'));
      if (right > 20) picture.append(label(left + plot + 8, y + 15, text, total ? 'strong' : ''));
    });
    const y = rows.length * kRow + 4;
    for (const tick of linearTicks(low, high, Math.max(2, Math.floor(plot / 100)))) {
      picture.append(
        line(x(tick), y, x(tick), y + 4, 'axis'),
        label(x(tick), y + 17, tick === 0 ? '0' : time(tick), 'quiet', 'middle')
      );
    }
  };
  const largest = fall.rungs[0];
  return {
    width,
    height,
    draw,
    sentence:
      `From a mean step of ${time(fall.base)} to ${time(fall.next)}` +
      `${largest ? `; the largest part: ${largest.label}, ${signedTime(largest.change)}` : ''}.`
  };
}
