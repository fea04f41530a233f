// A served page: fetches what a file would carry, and fetches it again when the run has grown. One EventSource says when;
// nothing is fetched while the page is hidden, nor before the last picture is drawn.
import './live.css';
import { h } from '../base/dom';
import { printable } from '../base/names';
import { parsePage } from '../data/decode';
import type { Page } from '../data/types';
import { ApiError, ask, askPatiently } from './api';
import { addBar, clock, type Bar } from './bar';
import { showHistory } from './history_page';
import { askForToken } from './login';
import { restMs } from './rest';
import { RunsPage } from './runs_page';
import type { LiveSource } from './source';

export interface LiveHooks {
  app: HTMLElement;
  // Draws the page again, in place of what is there.
  show: (page: Page) => Promise<void>;
}

const kListPeriodMs = 5000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function visible(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}

function sectionsOf(app: HTMLElement): HTMLElement[] {
  return [...app.querySelectorAll<HTMLElement>('main > section[id]')];
}

// What was on the screen stays there: the page keeps its height and its place while it is drawn. Sections that are drawn
// only once they are looked at get the height that they had.
async function inPlace(app: HTMLElement, draw: () => Promise<void>): Promise<void> {
  const top = window.scrollY;
  const focused = document.activeElement?.id;
  const heights = new Map(sectionsOf(app).map((section) => [section.id, section.offsetHeight]));
  app.style.minHeight = `${app.offsetHeight}px`;
  try {
    await draw();
  } finally {
    for (const section of sectionsOf(app)) {
      const before = heights.get(section.id) ?? 0;
      if (section.offsetHeight < before) section.style.minHeight = `${before}px`;
    }
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    window.scrollTo({ top, behavior: 'instant' as ScrollBehavior });
    app.style.minHeight = '';
  }
}

class Wanted {
  version = '';
  state = 'open';
  gone = false;
  private wake: (() => void) | null = null;

  listen(url: string, bar: Bar): void {
    const events = new EventSource(url);
    events.addEventListener('run', (event) => {
      const data = JSON.parse((event as MessageEvent<string>).data) as { version: string; state: string };
      this.version = data.version;
      this.state = data.state;
      this.gone = false;
      this.wake?.();
    });
    events.addEventListener('gone', () => {
      this.gone = true;
      this.wake?.();
    });
    events.addEventListener('error', () => {
      bar.tell('The connection to the server is lost. Trying again.');
      if (events.readyState !== EventSource.CLOSED) return;
      setTimeout(() => this.listen(url, bar), 5000); // refused for the moment: the browser itself would give up
    });
  }

  change(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

function stateText(wanted: Wanted): string {
  if (wanted.gone) return 'This run was removed. What is shown is its last state.';
  return wanted.state === 'open' ? `Growing. Shown: what was there at ${clock()}.` : 'Complete.';
}

async function follow(source: LiveSource, events: string, hooks: LiveHooks, bar: Bar, etag: string | null): Promise<void> {
  const wanted = new Wanted();
  wanted.listen(events, bar);
  let shown: string | null = null;
  let last = etag;
  for (;;) {
    while (wanted.version === '' || wanted.version === shown || wanted.gone) {
      if (wanted.version !== '' || wanted.gone) bar.tell(stateText(wanted));
      await wanted.change();
    }
    await visible();
    const version: string = wanted.version;
    const askedMs = performance.now();
    const answer = await askPatiently(source.source, last, bar.tell);
    const answeredMs = performance.now();
    if (answer !== null) {
      last = answer.etag;
      await inPlace(hooks.app, () => hooks.show(parsePage(answer.text)));
    }
    shown = version;
    bar.tell(stateText(wanted));
    await pause(restMs({ askedMs, answeredMs, drawnMs: performance.now() }));
  }
}

async function showPage(source: LiveSource, hooks: LiveHooks, bar: Bar): Promise<void> {
  bar.tell('Reading the run.');
  const answer = await askPatiently(source.source, null, bar.tell);
  if (answer === null) return;
  const page = parsePage(answer.text);
  await hooks.show(page);
  document.title = `${printable(page.title)} – lockstep`;
  bar.tell('');
  document.documentElement.dataset.ready = '1';
  if (source.events !== null) await follow(source, source.events, hooks, bar, answer.etag);
}

async function showRuns(source: LiveSource, hooks: LiveHooks, bar: Bar): Promise<void> {
  const page = new RunsPage(hooks.app);
  for (let etag: string | null = null; ; ) {
    const answer = await askPatiently(source.source, etag, bar.tell);
    bar.tell('');
    if (answer !== null) {
      page.show(answer.text);
      etag = answer.etag;
    }
    document.documentElement.dataset.ready = '1';
    await pause(kListPeriodMs);
    await visible();
  }
}

async function showKind(source: LiveSource, hooks: LiveHooks, bar: Bar): Promise<void> {
  if (source.kind === 'runs') return showRuns(source, hooks, bar);
  if (source.kind !== 'history') return showPage(source, hooks, bar);
  bar.tell('Reading all runs.');
  const answer = await askPatiently(source.source, null, bar.tell);
  if (answer !== null) showHistory(hooks.app, answer.text);
  bar.tell('');
  document.documentElement.dataset.ready = '1';
}

function showProblem(app: HTMLElement, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  app.replaceChildren(
    h('header', { class: 'top' }, h('h1', {}, 'lockstep')),
    h('main', { class: 'alone' }, h('p', { class: 'failed', role: 'alert' }, text), h('p', {}, h('a', { href: '/' }, 'All runs')))
  );
  document.documentElement.dataset.ready = '1';
}

// Runs as long as the page is open.
export async function runLive(source: LiveSource, hooks: LiveHooks): Promise<void> {
  document.documentElement.classList.add('with-page');
  const bar = addBar(hooks.app);
  for (;;) {
    try {
      await showKind(source, hooks, bar);
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) return showProblem(hooks.app, error);
      await askForToken(hooks.app);
      await ask('/api/v1/runs').catch(() => null); // an aggregator behind the server may say no all the same
    }
  }
}
