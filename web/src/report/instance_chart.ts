// The picture of one collective: for each member a bar from its arrival to its end, divided where the last one arrives.
import { s } from '../base/dom';
import type { Instance } from '../data/types';
import { count, known, linearTicks, time } from '../base/units';
import { label, line, rect, type Chart } from '../widgets/svg';
import { lastArrival, memberBars } from './instance_model';
import { opWords } from './words';

export function instanceSentence(instance: Instance): string {
  const who = known(instance.last_rank)
    ? `rank ${instance.last_rank} came ${instance.last_certain ? '' : 'probably '}last`
    : 'it is unknown who came last';
  const spread = known(instance.spread_ns) ? `, ${time(instance.spread_ns)} after the first` : '';
  const band = known(instance.uncertainty_ns) ? `, ±${time(instance.uncertainty_ns)}` : '';
  return `${opWords(instance.op)} of ${count(instance.members_total)} members: ${who}${spread}${band}; all members together waited ${time(instance.wait_total_ns)}.`;
}

export function instanceChart(instance: Instance, width: number): Chart {
  const bars = memberBars(instance);
  const high = bars.length <= 16 ? 22 : bars.length <= 40 ? 14 : bars.length <= 64 ? 8 : 5;
  const left = 84;
  const [top, bottom] = [30, 36];
  const plot = width - left - 28;
  const height = top + bars.length * high + bottom;
  const from = Math.min(...bars.map((b) => b.start));
  const to = Math.max(...bars.map((b) => b.end), from + 1);
  const x = (t: number): number => left + ((t - from) / (to - from)) * plot;
  const last = lastArrival(instance.members);
  const draw = (picture: SVGSVGElement): void => {
    const low = top + bars.length * high;
    if (known(instance.uncertainty_ns)) {
      const [a, b] = [Math.max(from, last - instance.uncertainty_ns), Math.min(to, last + instance.uncertainty_ns)];
      picture.append(rect(x(a), top - 4, Math.max(2, x(b) - x(a)), low - top + 4, 'band'));
    }
    const each = Math.max(1, Math.ceil(13 / high));
    bars.forEach((bar, i) => {
      const y = top + i * high;
      const inset = high > 10 ? 2 : 1;
      const title = `rank ${bar.rank}: arrives ${time(bar.start - from)} after the first, waits ${time(bar.wait)}, ends after ${time(bar.end - bar.start)}`;
      picture.append(
        s(
          'g',
          {},
          rect(x(bar.start), y + inset, x(bar.waitEnd) - x(bar.start), high - 2 * inset, 'part part-exposed-wait'),
          rect(
            x(bar.waitEnd),
            y + inset,
            Math.max(1, x(bar.end) - x(bar.waitEnd)),
            high - 2 * inset,
            'part part-exposed-transfer'
          ),
          s('title', {}, title)
        )
      );
      if (bar.last) picture.append(label(left - 8, y + high / 2 + 4, `▶ rank ${bar.rank}`, 'culprit', 'end'));
      else if ((i % each === 0 && !(bars[i + 1]?.last || bars[i - 1]?.last)) || high > 12) {
        picture.append(label(left - 8, y + high / 2 + 4, `rank ${bar.rank}`, 'quiet', 'end'));
      }
      const wait = time(bar.wait);
      if (high >= 20 && x(bar.waitEnd) - x(bar.start) > 110)
        picture.append(label(x(bar.start) + 6, y + high / 2 + 4, `waits ${wait}`, 'inside part-exposed-wait-text'));
    });
    picture.append(line(x(last), top - 8, x(last), low, 'mark'));
    const right = x(last) > left + plot * 0.6;
    picture.append(
      label(
        x(last) + (right ? -4 : 4),
        top - 14,
        `last arrival${instance.last_certain ? '' : ' (not certain)'}`,
        'strong',
        right ? 'end' : 'start'
      )
    );
    for (const tick of linearTicks(0, to - from, Math.max(2, Math.floor(plot / 110)))) {
      picture.append(
        line(x(from + tick), low, x(from + tick), low + 4, 'axis'),
        label(x(from + tick), low + 17, tick === 0 ? '0' : time(tick), 'quiet', 'middle')
      );
    }
    picture.append(label(left + plot / 2, height - 4, 'time since the first arrival', 'quiet', 'middle'));
  };
  return { width, height, sentence: instanceSentence(instance), draw };
}
