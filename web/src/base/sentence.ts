// Sentences that were made for the command line, for readers of a page. Their units are those of the page, and flags
// become whole commands.
import { h, type Child } from './dom';
import { advice, hasCommand } from './advice';
import { keepUnits } from './units';

const kTraces = 'In commands, TRACES is the folder with the traces. Of a stored run: lockstep show NAME --store FILE.';

// The sentence with its commands set off.
export function sentenceOf(text: string): HTMLElement {
  const parts = advice(text).map((part) =>
    part.command ? h('code', { class: 'in-text' }, part.text) : keepUnits(part.text)
  );
  return h('bdi', {}, ...parts);
}

// What the commands of these sentences need to be understood; null where they have none.
export function commandNote(texts: string[]): Child {
  return texts.some(hasCommand) ? h('p', { class: 'quiet' }, kTraces) : null;
}
