// The change of every rank as one strip: for jobs with more ranks than rows can be drawn for.
import { s } from '../base/dom';
import { count, signedTime } from '../base/units';
import { label, line, rect, type Chart } from '../widgets/svg';

export interface RankChange {
  rank: number;
  change: number;
}

export interface Column {
  first: number;
  last: number;
  most: RankChange;
}

// Neighbouring ranks share a column, which shows the largest change of one of them, never a mean.
export function columnsOf(changes: RankChange[], most: number): Column[] {
  const sorted = [...changes].sort((a, b) => a.rank - b.rank);
  const each = Math.max(1, Math.ceil(sorted.length / Math.max(1, most)));
  const columns: Column[] = [];
  for (let i = 0; i < sorted.length; i += each) {
    const chunk = sorted.slice(i, i + each);
    columns.push({
      first: chunk[0].rank,
      last: chunk[chunk.length - 1].rank,
      most: chunk.reduce((a, b) => (Math.abs(b.change) > Math.abs(a.change) ? b : a))
    });
  }
  return columns;
}

const kHeight = 170;

export function stripChart(changes: RankChange[], width: number): Chart {
  const [left, top, bottom] = [70, 10, 34];
  const plot = width - left - 10;
  const columns = columnsOf(changes, Math.floor(plot / 3));
  const high = Math.max(0, ...columns.map((c) => c.most.change));
  const low = Math.min(0, ...columns.map((c) => c.most.change));
  const tall = kHeight - top - bottom;
  const y = (v: number): number => top + tall * (1 - (v - low) / Math.max(1e-9, high - low));
  const wide = plot / columns.length;
  const draw = (picture: SVGSVGElement): void => {
    columns.forEach((column, i) => {
      const v = column.most.change;
      const bar = rect(
        left + i * wide,
        Math.min(y(0), y(v)),
        Math.max(1, wide * 0.85),
        Math.max(0.5, Math.abs(y(v) - y(0))),
        `change real ${v > 0 ? 'worse' : 'better'}`
      );
      picture.append(s('g', {}, bar, s('title', {}, `rank ${column.most.rank}: ${signedTime(v)} a step`)));
    });
    picture.append(line(left, y(0), left + plot, y(0), 'axis'), label(left - 6, y(0) + 4, '0', 'quiet', 'end'));
    if (high > 0) picture.append(label(left - 6, y(high) + 8, signedTime(high), 'quiet', 'end'));
    if (low < 0 && y(low) - y(0) > 14) picture.append(label(left - 6, y(low), signedTime(low), 'quiet', 'end'));
    const each = Math.max(1, Math.ceil(columns.length / Math.max(2, Math.floor(plot / 90))));
    for (let i = 0; i < columns.length; i += each) {
      picture.append(label(left + (i + 0.5) * wide, kHeight - 19, String(columns[i].first), 'quiet', 'middle'));
    }
    picture.append(label(left + plot / 2, kHeight - 4, 'rank', 'quiet', 'middle'));
  };
  const worst = columns.reduce((a, b) => (b.most.change > a.most.change ? b : a), columns[0]);
  return {
    width,
    height: kHeight,
    draw,
    sentence:
      `Change of the caused waiting of ${count(changes.length)} ranks; the largest: ` +
      `rank ${worst.most.rank}, ${signedTime(worst.most.change)} a step.`
  };
}
