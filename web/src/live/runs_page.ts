// The list of runs: each with its state and a link to its page, and two to be compared.
import { button, h, type Child } from '../base/dom';

interface RunRow {
  name: string;
  path: string;
  state: string;
  expected_ranks: number | null;
  sources: number;
  complete_sources: number;
  changed_unix_ns: string | null;
}

const kStates: { [state: string]: string } = { open: 'growing', complete: 'complete', analysed: 'complete' };

function changedText(ns: string | null): string {
  if (ns === null || !/^\d+$/.test(ns)) return '–';
  return new Date(Number(BigInt(ns) / 1000000n)).toLocaleString();
}

function ranksText(run: RunRow): string {
  const all = run.expected_ranks ?? run.sources;
  return run.complete_sources === all ? String(all) : `${run.complete_sources} of ${all}`;
}

export class RunsPage {
  private base: string | null = null;
  private fresh: string | null = null;
  private readonly body = h('tbody');
  private readonly compare = button('Compare the two', () => this.goCompare(), { disabled: true });
  private readonly empty = h('p', { class: 'empty', hidden: true }, 'There is no run yet.');

  constructor(app: HTMLElement) {
    const heads = ['Run', 'State', 'Ranks that are there', 'Changed', 'Base', 'New'].map((text) => h('th', { scope: 'col' }, text));
    const table = h('table', { class: 'live-runs' }, h('caption', { class: 'hidden' }, 'Runs'), h('thead', {}, h('tr', {}, ...heads)), this.body);
    app.replaceChildren(
      h('header', { class: 'top' }, h('h1', {}, 'Runs')),
      h('main', { class: 'alone' }, h('section', {}, h('div', { class: 'live-scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs' }, table), this.empty, h('p', {}, this.compare)))
    );
    document.title = 'Runs – lockstep';
  }

  show(text: string): void {
    const document_ = JSON.parse(text) as { runs: RunRow[] };
    const focused = document.activeElement?.id;
    this.body.replaceChildren(...document_.runs.map((run, i) => this.rowOf(run, i)));
    this.empty.hidden = document_.runs.length > 0;
    if (focused) document.getElementById(focused)?.focus();
  }

  private rowOf(run: RunRow, i: number): HTMLElement {
    const cells: Child[] = [
      h('a', { href: `/runs/${run.path}`, id: `run-${i}` }, h('bdi', {}, run.name === '' ? '–' : run.name)),
      kStates[run.state] ?? run.state,
      ranksText(run),
      changedText(run.changed_unix_ns),
      this.pick('base', run, i),
      this.pick('new', run, i)
    ];
    return h('tr', {}, ...cells.map((cell) => h('td', {}, cell)));
  }

  private pick(side: 'base' | 'new', run: RunRow, i: number): HTMLElement {
    const chosen = side === 'base' ? this.base : this.fresh;
    const input = h('input', { type: 'radio', name: side, id: `${side}-${i}`, 'aria-label': `${run.name} as the ${side} side` });
    input.checked = chosen === run.path;
    input.addEventListener('change', () => {
      if (side === 'base') this.base = run.path;
      else this.fresh = run.path;
      this.compare.disabled = this.base === null || this.fresh === null;
    });
    return input;
  }

  private goCompare(): void {
    if (this.base !== null && this.fresh !== null) location.assign(`/compare?base=${this.base}&new=${this.fresh}`);
  }
}
