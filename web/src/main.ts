// Starts the page: decodes what the top and the first picture show and puts them on the screen, then the other sections.
// If anything goes wrong the static summary stays as it is, and a sentence says why there are no pictures.
import './style/colors.css';
import './style/base.css';
import './style/layout.css';
import './style/content.css';
import './style/charts.css';
import './style/parts.css';
import './style/heat.css';
import './style/print.css';
import { button, h } from './base/dom';
import { printable } from './base/names';
import { forgetThemeListeners, toggleTheme, watchTheme } from './base/theme';
import { compareSections, compareTop } from './compare/page';
import { canInflate, decodePage } from './data/decode';
import { LaterParts, type PartPath } from './data/later_parts';
import type { Page } from './data/types';
import { runLive } from './live/live';
import { drawWhenSeen, frameOrKept, newFrame, type Frame } from './live/out_of_sight';
import { liveSource } from './live/source';
import { culpritCards, headline, keyFigures, needsOfFigures } from './report/figures';
import { reportSections } from './report/page';
import { emptyNote, type Section } from './report/section';
import { setDefinitions } from './widgets/define';
import { patterns } from './widgets/svg';

const kStaticId = 'as-text';
const kLongestFrameMs = 5000; // a page in a frame that is out of sight is drawn never, and yet not hidden

function contents(sections: Section[], withText: boolean): HTMLElement {
  const links = sections.map((s) => [s.id, s.title]);
  if (withText) links.push([kStaticId, 'The same as text']);
  return h(
    'nav',
    { class: 'contents', 'aria-label': 'Contents' },
    h('ul', {}, ...links.map(([id, title]) => h('li', {}, h('a', { href: `#${id}` }, title))))
  );
}

function header(page: Page): HTMLElement {
  const kind = page.kind === 'comparison' ? 'comparison' : 'report';
  return h(
    'header',
    { class: 'top' },
    h('h1', {}, h('bdi', {}, printable(page.title)), h('span', { class: 'kind' }, ` – ${kind} by ${page.tool ?? 'lockstep'}`)),
    button('Light or dark', toggleTheme, { class: 'theme' })
  );
}

// The static summary moves to the end, closed. Its heading would be a second main heading, so that it is dropped there.
function staticPart(text: HTMLElement): HTMLElement {
  // Copies move, so that the summary can come back whole if a later part fails.
  const content = h(
    'div',
    { class: 'static-text' },
    ...[...text.childNodes]
      .map((node) => node.cloneNode(true))
      .filter((node) => !(node instanceof HTMLHeadingElement && node.tagName === 'H1'))
  );
  for (const pre of content.querySelectorAll('pre')) {
    pre.tabIndex = 0;
    pre.setAttribute('role', 'region');
    pre.setAttribute('aria-label', 'The report as text');
  }
  text.remove();
  return h(
    'section',
    { id: kStaticId, 'aria-labelledby': `${kStaticId}-heading` },
    h('h2', { id: `${kStaticId}-heading` }, 'The same as text'),
    h('details', { class: 'print-open' }, h('summary', {}, 'Show the text report'), content)
  );
}

// Lets the browser draw what is there before the next section is made.
function breath(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

// Until what was made so far is on the screen. A page that nobody sees draws nothing, so that it is not waited for.
function drawn(): Promise<void> {
  if (document.hidden) return breath();
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0));
    setTimeout(resolve, kLongestFrameMs);
  });
}

async function fill(section: Section, body: HTMLElement, parts: LaterParts): Promise<void> {
  try {
    await parts.load(section.needs ?? []);
    for (const child of await section.build()) if (child) body.append(child);
  } catch (error) {
    body.replaceChildren(
      emptyNote(
        `This part cannot be shown, because its data are damaged: ${error instanceof Error ? error.message : String(error)}`
      )
    );
  }
}

interface Stored {
  page: Page;
  parts: LaterParts; // what is not in the page yet
}

// A run that grows is drawn so often that only what somebody looks at is worth it.
function isOpen(page: Page): boolean {
  return page.report?.run?.state === 'open';
}

// Draws the first section, and only then decodes what the others need. `text`: the static summary; null in a page that
// is served, which has none.
async function build({ page, parts }: Stored, app: HTMLElement, text: HTMLElement | null): Promise<void> {
  forgetThemeListeners();
  setDefinitions(page.definitions);
  const comparison = page.kind === 'comparison';
  const sections = comparison ? compareSections(page) : reportSections(page, parts);
  if (!comparison) await parts.load(needsOfFigures(page));
  const frames = isOpen(page) && text === null ? sections.map(frameOrKept) : sections.map(newFrame);
  const top = h('div', { class: 'summary' }, headline(page), comparison ? compareTop(page) : keyFigures(page));
  const main = h('main', {}, top, ...frames.map((f) => f.element));
  const skip = h('a', { class: 'skip', href: `#${sections[0].id}` }, 'Skip to the first picture');
  app.replaceChildren(skip, header(page), contents(sections, text !== null), main, patterns());
  if (text) main.append(staticPart(text));
  document.documentElement.classList.add('with-page');
  const kept = frames.filter((frame) => frame.isKept);
  const draw = async (frame: Frame): Promise<void> => {
    if (frame.isKept) frame.body.replaceChildren();
    await fill(frame.section, frame.body, parts);
    const cards = frame === frames[0] && !comparison ? culpritCards(page) : null;
    if (cards) frame.body.append(cards);
  };
  for (const frame of frames) {
    if (frame.isKept) continue;
    await draw(frame);
    await (frame === frames[0] ? drawn() : breath());
  }
  drawWhenSeen(kept, (frame) => void draw(frame));
}

// The parts of the data stand behind this script, so that it need not wait for them.
function documentRead(): Promise<void> {
  if (document.readyState !== 'loading') return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('DOMContentLoaded', () => resolve(), { once: true });
  });
}

// The text of a part, which leaves the document.
async function storedPart(path: PartPath): Promise<string | null> {
  await documentRead();
  const element = document.querySelector(`script[data-path="${path}"]`);
  element?.remove();
  return element?.textContent ?? null;
}

function goToHash(): void {
  if (location.hash.length > 1) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

function fail(app: HTMLElement, reason: string): void {
  app.replaceChildren(
    h('p', { class: 'failed', role: 'alert' }, `The pictures cannot be shown: ${reason} The text below is complete.`)
  );
}

// Draws what a server gives, again and again; the reader stays where they are.
async function startLive(app: HTMLElement, live: NonNullable<ReturnType<typeof liveSource>>): Promise<void> {
  document.getElementById('static')?.remove();
  watchTheme();
  let first = true;
  const show = async (page: Page): Promise<void> => {
    await build({ page, parts: new LaterParts(page, () => Promise.resolve(null)) }, app, null);
    if (first) goToHash();
    first = false;
  };
  await runLive(live, { app, show });
}

async function start(): Promise<void> {
  const app = document.getElementById('app');
  const live = liveSource();
  if (app && live) return startLive(app, live);
  const data = document.getElementById('lockstep-data');
  const text = document.getElementById('static');
  if (!app || !data || !text) return;
  if (!canInflate() || typeof ResizeObserver !== 'function') {
    fail(app, 'this browser is too old. Chrome or Edge 103, Firefox 113 and Safari 16.4 or later show them.');
    return;
  }
  try {
    const page = await decodePage(data.textContent ?? '');
    data.remove();
    watchTheme();
    await build({ page, parts: new LaterParts(page, storedPart) }, app, text);
    goToHash();
    document.documentElement.dataset.ready = '1';
  } catch (error) {
    fail(app, `the data of this page cannot be read (${error instanceof Error ? error.message : String(error)}).`);
    if (!text.isConnected) app.after(text);
  }
}

void start();
