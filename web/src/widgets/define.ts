// Definitions of figures, from the one place where lockstep defines its fields. Shown by a small button with a question
// mark, in a dialog: so they are at hand with a mouse, a keyboard and a finger.
import { button, showText } from '../base/dom';

let definitions: { [path: string]: string } = {};

export function setDefinitions(all: { [path: string]: string } | undefined): void {
  definitions = all ?? {};
}

// The definition of a path such as "profile.kernels[].duration_ns.p99"; that of its last part alone where the whole path
// has none ("pct.p99" stands for every distribution), joined with that of what it belongs to.
export function definitionOf(path: string): string {
  if (definitions[path]) return definitions[path];
  const dot = path.lastIndexOf('.');
  if (dot < 0) return '';
  const owner = definitions[path.slice(0, dot)];
  const part = definitions[`pct.${path.slice(dot + 1)}`];
  return [owner, part].filter(Boolean).join(' ');
}

export function defineButton(label: string, path: string, more = ''): HTMLButtonElement | null {
  const text = [definitionOf(path), more].filter(Boolean).join(' ');
  if (text === '') return null;
  return button('?', () => showText(label, text, path === '' ? '' : `Field: ${path}`), {
    class: 'define',
    'aria-label': `Definition of ${label}`,
    title: text
  });
}
