// The picture of a tail: on logarithmic axes, the share of instances that take longer than a time.
import { s } from '../base/dom';
import type { Tail } from '../data/types';
import { shortName } from '../base/names';
import { count, known, logTicks, percent, time } from '../base/units';
import { fitted, label, line, rect, textWidth, type Chart } from '../widgets/svg';
import { bandsOf, type Band } from './tail_model';

const kHeight = 300;

// The upper edge of the bands as a path of steps, ending at the largest value.
function edge(bands: Band[], x: (t: number) => number, y: (share: number) => number): string {
  return bands
    .map(
      (b, i) =>
        `${i === 0 ? 'M' : 'L'}${x(b.lower).toFixed(1)},${y(b.high).toFixed(1)}L${x(b.upper).toFixed(1)},${y(b.low).toFixed(1)}`
    )
    .join('');
}

export function tailSentence(tail: Tail): string {
  return `${shortName(tail.name, 60)}: of ${count(tail.count)} instances, half take ${time(tail.p50_ns)} or less, one in 100 takes longer than ${time(tail.p99_ns)}, and the longest takes ${time(tail.max_ns)}.`;
}

export function tailChart(tail: Tail, width: number): Chart {
  const bands = bandsOf(tail.buckets);
  const [left, top, bottom] = [58, 22, 42];
  const right = width > 640 ? 130 : 16;
  const plot = width - left - right;
  const tall = kHeight - top - bottom;
  const low = Math.max(1, Math.min(...bands.map((b) => b.lower)));
  const high = Math.max(low * 1.5, ...bands.map((b) => b.upper), tail.max_ns ?? 0);
  const least = Math.min(0.1, 0.7 / Math.max(1, tail.count));
  const x = (t: number): number => left + (Math.log(Math.max(t, low) / low) / Math.log(high / low)) * plot;
  const y = (share: number): number => top + (Math.log(Math.max(share, least)) / Math.log(least)) * tall;
  const draw = (picture: SVGSVGElement): void => {
    for (const tick of logTicks(least, 1)) {
      picture.append(
        line(left, y(tick), left + plot, y(tick), 'grid'),
        label(left - 6, y(tick) + 4, percent(tick), 'quiet', 'end')
      );
    }
    const fine = high / low < 1000;
    let free = -100;
    for (const tick of logTicks(low, high, fine)) {
      const text = time(tick);
      picture.append(line(x(tick), top, x(tick), top + tall, 'grid'));
      if (x(tick) - textWidth(text) / 2 < free) continue;
      picture.append(label(x(tick), top + tall + 16, text, 'quiet', 'middle'));
      free = x(tick) + textWidth(text) / 2 + 8;
    }
    for (const band of bands)
      picture.append(
        rect(
          x(band.lower),
          y(band.high),
          Math.max(1, x(band.upper) - x(band.lower)),
          y(band.low) - y(band.high),
          'band'
        )
      );
    const ends: { y: number; text: string; n: number }[] = [];
    (tail.by_host ?? []).slice(0, 8).forEach((host, i) => {
      const own = bandsOf(host.buckets);
      if (own.length === 0) return;
      picture.append(s('path', { d: edge(own, x, y), class: `curve host host-${i}` }));
      const at = own[own.length - 1];
      ends.push({ y: y(at.high), text: shortName(host.host ?? 'host not known', 24), n: i });
    });
    picture.append(s('path', { d: edge(bands, x, y), class: 'curve' }));
    const marks: [string, number | null | undefined][] = [
      ['p50', tail.p50_ns],
      ['p99', tail.p99_ns],
      ['max', tail.max_ns]
    ];
    let taken = -100;
    for (const [name, value] of marks) {
      if (!known(value)) continue;
      const at = x(value);
      const text = `${name} ${time(value)}`;
      picture.append(line(at, top - 4, at, top + tall, 'mark dashed'));
      const start = Math.min(
        Math.max(at - textWidth(text, true) / 2, taken + 8),
        left + plot + right - textWidth(text, true)
      );
      picture.append(label(start, top - 9, text, 'strong'));
      taken = start + textWidth(text, true);
    }
    let lowest = -100;
    for (const end of ends.sort((a, b) => a.y - b.y)) {
      const at = Math.max(end.y + 4, lowest + 14);
      if (right > 20 && at < top + tall)
        picture.append(label(left + plot + 8, at, fitted(end.text, right - 12), `host-text host-text-${end.n}`));
      lowest = at;
    }
    picture.append(label(left + plot / 2, kHeight - 6, 'duration (logarithmic)', 'quiet', 'middle'));
  };
  return { width, height: kHeight, sentence: tailSentence(tail), draw };
}
