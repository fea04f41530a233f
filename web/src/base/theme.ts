// Light and dark: what the reader's system asks for, unless the button chooses; always light when printed.
// Canvases do not follow style sheets, so that they are drawn again when the theme changes.
type Listener = () => void;

const listeners: Listener[] = [];
let chosen: 'light' | 'dark' | null = null;

function matches(query: string): boolean {
  return window.matchMedia(query).matches;
}

export function isDark(): boolean {
  if (matches('print')) return false;
  return chosen === null ? matches('(prefers-color-scheme: dark)') : chosen === 'dark';
}

export function onTheme(listener: Listener): void {
  listeners.push(listener);
}

// When the pictures are made again, as the data of a served page grow.
export function forgetThemeListeners(): void {
  listeners.length = 0;
}

const colors = new Map<string, string>();

function changed(): void {
  colors.clear();
  for (const listener of listeners) listener();
}

export function toggleTheme(): void {
  chosen = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = chosen;
  changed();
}

export function watchTheme(): void {
  for (const query of ['(prefers-color-scheme: dark)', 'print'])
    window.matchMedia(query).addEventListener('change', changed);
  window.addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details.print-open:not([open])')) {
      details.open = true;
      details.dataset.opened = '1';
    }
    changed();
  });
  window.addEventListener('afterprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details[data-opened]')) {
      details.open = false;
      delete details.dataset.opened;
    }
    changed();
  });
}

// A colour of the style sheet, for canvases. It is kept until the theme changes: asking the style sheet takes long.
export function cssColor(name: string): string {
  const kept = colors.get(name);
  if (kept !== undefined) return kept;
  const color = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  colors.set(name, color);
  return color;
}
