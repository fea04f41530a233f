// Pictures of the parts of time: bars of ranks, and stacked columns over steps or over all ranks.
import { s } from '../base/dom';
import { count, linearTicks, percent, time } from '../base/units';
import { fitted, label, line, rect, textWidth, type Chart } from '../widgets/svg';
import { kParts, partLabel, sum, type Bar, type Stack } from './parts_model';

export const partClass = (i: number): string => `part part-${kParts[i].key.replace(/_ns$/, '').replace(/_/g, '-')}`;

function partText(bar: Bar, i: number, perStep: boolean): string {
  const share = bar.total > 0 ? percent(bar.parts[i] / bar.total) : '';
  const name = partLabel(i, !perStep);
  return perStep ? `${name}: ${time(bar.parts[i])} (${share})` : `${name}: ${share}`;
}

// Horizontal bars. Segments that are wide enough carry their name, so that no legend has to be looked up.
export function barsChart(bars: Bar[], width: number, perStep: boolean): Chart {
  const high = bars.length > 24 ? 15 : 24;
  const left = Math.min(
    width * 0.3,
    Math.max(...bars.map((b) => textWidth(b.culprit ? `▶ ${b.label}` : b.label, true))) + 16
  );
  const most = Math.max(...bars.map((b) => b.total), 1e-9);
  const right = perStep ? 64 : 8;
  const plot = width - left - right;
  const height = bars.length * high + (perStep ? 26 : 6);
  const late = bars.filter((b) => b.culprit).map((b) => b.label);
  const first = bars[0];
  const sentence =
    `Parts of the time${perStep ? ' of a step' : ''} of ${count(bars.length)} ${bars.length === 1 ? 'bar' : 'ranks'}. ` +
    (first
      ? `${first.label}: ${kParts
          .map((_, i) => [i, first.parts[i]])
          .filter(([, v]) => v > 0.005 * first.total)
          .map(([i]) => partText(first, i, perStep))
          .join(', ')}.`
      : '') +
    (late.length > 0 ? ` ${late.slice(0, 5).join(', ')} ${late.length === 1 ? 'makes' : 'make'} others wait.` : '');
  const draw = (picture: SVGSVGElement): void => {
    bars.forEach((bar, row) => {
      const y = row * high + 2;
      picture.append(
        label(
          left - 8,
          y + high / 2 + 2,
          fitted(bar.culprit ? `▶ ${bar.label}` : bar.label, left - 10, bar.culprit),
          bar.culprit ? 'culprit' : 'quiet',
          'end'
        )
      );
      let x = left;
      bar.parts.forEach((value, i) => {
        if (value <= 0) return;
        const wide = (value / most) * plot;
        const segment = s(
          'g',
          {},
          rect(x, y, wide, high - 4, partClass(i)),
          s('title', {}, `${bar.label}, ${partText(bar, i, perStep)}`)
        );
        picture.append(segment);
        const share = percent(value / bar.total);
        const texts = [`${kParts[i].short} ${share}`, kParts[i].short];
        const text = texts.find((t) => textWidth(t) + 12 < wide);
        if (text && high >= 20)
          picture.append(label(x + 6, y + high / 2 + 2, text, `inside ${partClass(i).slice(5)}-text`));
        x += wide;
      });
      if (perStep) picture.append(label(x + 5, y + high / 2 + 2, time(bar.total), 'quiet'));
    });
    if (!perStep) return;
    const y = bars.length * high + 4;
    for (const tick of linearTicks(0, most, Math.max(2, Math.floor(plot / 110)))) {
      const x = left + (tick / most) * plot;
      picture.append(line(x, y - 4, x, y, 'axis'), label(x, y + 13, tick === 0 ? '0' : time(tick), 'quiet', 'middle'));
    }
  };
  return { width, height, sentence, draw };
}

const kStackHeight = 190;

export interface StackText {
  title: string;
  ofColumn: (column: number) => string;
  xLabel: (column: number) => string;
  axis: string;
}

// Stacked columns of time: over the steps, or over all ranks.
export function stackChart(stack: Stack, width: number, text: StackText): Chart {
  const [left, top, bottom] = [58, 8, 36];
  const right = width > 640 ? 120 : 8;
  const totals = stack.parts.map(sum);
  const most = Math.max(...totals, 1e-9);
  const plot = width - left - right;
  const tall = kStackHeight - top - bottom;
  const n = stack.x.length;
  const wide = plot / Math.max(1, n);
  const y = (value: number): number => top + tall * (1 - value / most);
  const draw = (picture: SVGSVGElement): void => {
    const sums = new Array<number>(n).fill(0);
    const ends: { text: string; y: number }[] = [];
    for (let p = 0; p < kParts.length; p++) {
      if (stack.parts.every((parts) => parts[p] <= 0)) continue;
      let path = '';
      for (let i = 0; i < n; i++) {
        const [from, to] = [y(sums[i]), y(sums[i] + stack.parts[i][p])];
        const x = left + i * wide;
        path += `M${x.toFixed(2)},${from.toFixed(2)}V${to.toFixed(2)}h${(wide * (wide > 6 ? 0.92 : 1)).toFixed(2)}V${from.toFixed(2)}z`;
        sums[i] += stack.parts[i][p];
      }
      picture.append(
        s(
          'g',
          {},
          s('path', { d: path, class: `${partClass(p)}${wide < 6 ? ' dense' : ''}` }),
          s('title', {}, kParts[p].label)
        )
      );
      const last = stack.parts[n - 1][p];
      if (last / most > 0.05) ends.push({ text: kParts[p].short, y: y(sums[n - 1] - last / 2) });
    }
    if (right > 20)
      for (const end of ends) picture.append(label(left + plot + 6, end.y + 4, fitted(end.text, right - 8), 'quiet'));
    for (const tick of linearTicks(0, most, 4)) {
      picture.append(
        line(left - 4, y(tick), left, y(tick), 'axis'),
        label(left - 7, y(tick) + 4, tick === 0 ? '0' : time(tick), 'quiet', 'end')
      );
    }
    picture.append(line(left, top + tall, left + plot, top + tall, 'axis'));
    const each = Math.max(1, Math.ceil(n / Math.max(2, Math.floor(plot / 90))));
    for (let i = 0; i < n; i += each) {
      picture.append(label(left + (i + 0.5) * wide, top + tall + 15, text.xLabel(i), 'quiet', 'middle'));
    }
    picture.append(label(left + plot / 2, kStackHeight - 5, text.axis, 'quiet', 'middle'));
    for (let i = 0; i < n && n <= 1024; i++) {
      const hit = rect(left + i * wide, top, wide, tall, 'hit');
      hit.append(s('title', {}, text.ofColumn(i)));
      picture.append(hit);
    }
  };
  const worst = totals.indexOf(Math.max(...totals));
  const sentence = `${text.title}, ${count(n)} columns${n > 0 ? `; the largest: ${text.ofColumn(worst)}` : ''}.`;
  return { width, height: kStackHeight, sentence, draw };
}
