// The line above a served page: the way to the other pages, and whether what is shown is up to date.
import { h } from '../base/dom';

export interface Bar {
  tell: (text: string) => void;
}

export function addBar(app: HTMLElement): Bar {
  const status = h('span', { class: 'live-status', role: 'status' });
  const bar = h(
    'nav',
    { class: 'live-bar', 'aria-label': 'Pages' },
    h('a', { href: '/' }, 'All runs'),
    h('a', { href: '/history' }, 'History'),
    status
  );
  app.before(bar);
  return {
    tell: (text) => {
      if (status.textContent !== text) status.textContent = text;
    }
  };
}

export function clock(): string {
  return new Date().toLocaleTimeString();
}
