// Builders of elements. Text gets into the page only as text nodes, never as markup, because names are untrusted.
import { shortName, printable } from './names';

export type Child = Node | string | null | undefined | false;
export type Attributes = { [name: string]: string | number | boolean | null | undefined };

const kSvg = 'http://www.w3.org/2000/svg';

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child) element.append(child);
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(kSvg, tag) as SVGElementTagNameMap[K];
  fill(element, attributes, children);
  return element;
}

export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = h('button', { type: 'button', ...attributes }, label);
  element.addEventListener('click', act);
  return element;
}

// A labelled choice among a few values.
export function choice(
  label: string,
  options: [string, string][],
  value: string,
  act: (v: string) => void
): HTMLElement {
  const select = h('select', {}, ...options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)));
  select.addEventListener('change', () => act(select.value));
  return h('label', { class: 'choice' }, h('span', {}, label), select);
}

// A name from a trace: isolated, cut in the middle, and with the whole name one click or key press away.
export function nameOf(name: unknown, limit = 60, classes = 'name'): HTMLElement {
  if (typeof name !== 'string' || name === '') return h('span', { class: 'nothing' }, '–');
  const shown = shortName(name, limit);
  if (shown === printable(name)) return h('bdi', { class: classes }, shown);
  const whole = button('', () => showText('The whole name', printable(name)), { class: `${classes} whole` });
  whole.append(h('bdi', {}, shown));
  whole.title = shortName(name, 400);
  return whole;
}

// A dialog with a heading and text: whole names and definitions.
export function showText(heading: string, text: string, note = ''): void {
  document.querySelector('dialog.note')?.remove();
  const close = button('Close', () => dialog.close(), { class: 'plain' });
  const dialog = h(
    'dialog',
    { class: 'note', 'aria-labelledby': 'note-heading' },
    h('h2', { id: 'note-heading' }, heading),
    h('p', { class: 'note-text' }, h('bdi', {}, text)),
    note === '' ? null : h('p', { class: 'quiet' }, note),
    close
  );
  const before = document.activeElement;
  dialog.addEventListener('click', (e) => {
    if (e.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

// Calls `draw` with the width of the box in CSS pixels, now and whenever that changes.
export function onWidth(box: HTMLElement, draw: (width: number) => void): void {
  let width = 0;
  const observer = new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    draw(width);
  });
  observer.observe(box);
}
