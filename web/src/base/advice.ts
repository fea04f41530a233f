// Advice that was written for readers of the text report names flags of the command that they have just typed. Readers of
// a page have typed none, so that they get whole commands. Pure.

export interface Part {
  text: string;
  command: boolean;
}

const kCommand = 'lockstep analyze';

// "--view idle,host --ranks 3", unless a command stands before it; "add --expect-ranks 8"; "pass --families FILE".
const kViews = /(?<!with )--view [a-z_,]*[a-z](?: --ranks [\d,-]*\d| --instances| --sort \w+)*/;
const kAdded = /(?<=\b(?:add|pass) )--[a-z-]+(?: [A-Z]+\b| \d+)?/;
const kFlags = new RegExp(`${kViews.source}|${kAdded.source}`, 'g');

export function advice(text: string): Part[] {
  const parts: Part[] = [];
  const add = (more: string, command: boolean): void => {
    if (more !== '') parts.push({ text: more, command });
  };
  let from = 0;
  for (const found of text.matchAll(kFlags)) {
    add(text.slice(from, found.index), false);
    add(`${kCommand} TRACES ${found[0]}`, true);
    from = found.index + found[0].length;
  }
  add(text.slice(from), false);
  return parts;
}

export function hasCommand(text: string): boolean {
  return advice(text).some((part) => part.command);
}
