// Sections of the page: each has an anchor, a heading, and one sentence that says which question it answers.
import { h, type Child } from '../base/dom';
import type { PartPath } from '../data/later_parts';

export interface Section {
  id: string;
  title: string;
  needs?: PartPath[]; // are there when `build` is called
  build: () => Promise<Child[]> | Child[];
}

export function frameOfSection(section: Section): { element: HTMLElement; body: HTMLElement } {
  const body = h('div', { class: 'section-body' });
  const element = h(
    'section',
    { id: section.id, 'aria-labelledby': `${section.id}-heading` },
    h('h2', { id: `${section.id}-heading` }, section.title),
    body
  );
  return { element, body };
}

// What stands in place of a chart that has no data: why, and what would fill it.
export function emptyNote(why: string): HTMLElement {
  return h('p', { class: 'empty' }, why);
}

export function lead(text: string): HTMLElement {
  return h('p', { class: 'lead' }, text);
}

export function sub(title: string): HTMLElement {
  return h('h3', {}, title);
}
