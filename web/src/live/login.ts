// Asks for a token where the server wants one. The token goes to the server once and stays nowhere in the page.
import { h } from '../base/dom';
import { logIn } from './api';

export function askForToken(app: HTMLElement): Promise<void> {
  const input = h('input', { type: 'password', id: 'token', autocomplete: 'off', required: true });
  const problem = h('p', { class: 'failed', role: 'alert', hidden: true });
  const form = h(
    'form',
    { class: 'login' },
    h('h1', {}, 'This server asks for a token'),
    h('p', {}, 'It is a token of role reader or admin, as for the other ways to ask the aggregator.'),
    h('label', { for: 'token' }, 'Token'),
    input,
    h('button', { type: 'submit' }, 'Log in'),
    problem
  );
  app.replaceChildren(h('main', { class: 'alone' }, form));
  input.focus();
  return new Promise((resolve) => {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const token = input.value.trim();
      input.value = '';
      logIn(token).then(resolve, (error: unknown) => {
        problem.textContent = error instanceof Error ? error.message : String(error);
        problem.hidden = false;
        input.focus();
      });
    });
  });
}
