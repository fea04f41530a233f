// A metric over the runs of one context: a sentence, a picture, the runs that changed it.
import { h, s } from '../base/dom';
import { signedPercent, time } from '../base/units';

interface HistoryRun {
  name: string;
  value: number;
  steps: number;
  begins_level: boolean;
}

interface History {
  metric: string;
  sentence: string;
  runs: HistoryRun[];
  changes: { run: string; previous_run: string; change_ratio: number; sentence: string }[];
  left_out: { name: string; reason: string }[];
}

const kWidth = 900;
const kHeight = 220;
const kMargin = 12;

function runLink(name: string): HTMLElement {
  return h('a', { href: `/runs/${encodeURIComponent(name)}` }, h('bdi', {}, name));
}

function picture(history: History): SVGElement {
  const most = Math.max(...history.runs.map((run) => run.value), 1);
  const x = (i: number) => kMargin + (i * (kWidth - 2 * kMargin)) / Math.max(history.runs.length - 1, 1);
  const y = (value: number) => kHeight - kMargin - (Math.max(value, 0) / most) * (kHeight - 2 * kMargin);
  const line = history.runs.map((run, i) => `${x(i).toFixed(1)},${y(run.value).toFixed(1)}`).join(' ');
  const dots = history.runs.map((run, i) =>
    s('circle', { cx: x(i).toFixed(1), cy: y(run.value).toFixed(1), r: run.begins_level ? 6 : 3, class: run.begins_level ? 'change' : 'point' },
      s('title', {}, `${run.name}: ${time(run.value)}`)));
  return s('svg', { class: 'history', viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': history.sentence },
    s('line', { x1: kMargin, x2: kWidth - kMargin, y1: kHeight - kMargin, y2: kHeight - kMargin, class: 'axis' }),
    s('polyline', { points: line, class: 'line' }), ...dots);
}

export function showHistory(app: HTMLElement, text: string): void {
  const history = JSON.parse(text) as History;
  document.title = `${history.metric} over runs – lockstep`;
  const changes = history.changes.map((change) =>
    h('li', {}, runLink(change.run), ` after `, runLink(change.previous_run), `: ${signedPercent(change.change_ratio)}. `, h('bdi', {}, change.sentence)));
  const rows = history.runs.map((run) => h('tr', {}, h('td', {}, runLink(run.name)), h('td', {}, time(run.value)), h('td', {}, String(run.steps))));
  const left = history.left_out.map((run) => h('li', {}, h('bdi', {}, run.name), ': ', h('bdi', {}, run.reason)));
  app.replaceChildren(
    h('header', { class: 'top' }, h('h1', {}, `${history.metric} over runs`)),
    h('main', { class: 'alone' },
      h('section', {}, h('p', { class: 'lead' }, history.sentence), history.runs.length > 0 ? picture(history) : null,
        changes.length > 0 ? h('ul', {}, ...changes) : null),
      h('section', { 'aria-labelledby': 'history-runs' }, h('h2', { id: 'history-runs' }, 'Runs'),
        h('table', { class: 'live-runs' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Run'), h('th', { scope: 'col' }, history.metric), h('th', { scope: 'col' }, 'Steps'))),
          h('tbody', {}, ...rows))),
      left.length > 0 ? h('section', { 'aria-labelledby': 'history-left' }, h('h2', { id: 'history-left' }, 'Left out'), h('ul', {}, ...left)) : null)
  );
}
