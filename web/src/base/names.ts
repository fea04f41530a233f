// Names from traces are untrusted: they may hold HTML, control characters, text that runs from right to left, or 10 kB.
// They are only ever put into the page as text; here they are made readable.

// C0 and C1 controls, line separators, and the characters that change the direction of text.
// eslint-disable-next-line no-control-regex
const kUnsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

// Replaces what would be invisible, or would change its surroundings, by its code in brackets: "⟨U+202E⟩".
export function printable(name: string): string {
  return name.replace(kUnsafe, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

// The name with its middle cut out where it is longer than `limit` characters: kernel names differ at both ends.
// It never splits a pair of surrogates.
export function cutMiddle(name: string, limit: number): string {
  if (name.length <= limit) return name;
  const head = Math.ceil((limit - 1) * 0.6);
  const tail = limit - 1 - head;
  let from = head;
  if (/[\ud800-\udbff]/.test(name.charAt(from - 1))) from -= 1;
  let to = name.length - tail;
  if (/[\udc00-\udfff]/.test(name.charAt(to))) to += 1;
  return `${name.slice(0, from)}…${name.slice(to)}`;
}

export function shortName(name: string, limit: number): string {
  return cutMiddle(printable(cutMiddle(name, 4 * limit)), limit);
}

// "3", "3 to 7", "3, 5 and 9", "1, 2, 3 and 13 more".
export function listOfNumbers(numbers: number[], most = 6): string {
  if (numbers.length === 0) return 'none';
  const first = numbers[0];
  const last = numbers[numbers.length - 1];
  if (numbers.length > 2 && last - first === numbers.length - 1) return `${first} to ${last}`;
  if (numbers.length === 1) return String(first);
  if (numbers.length > most) return `${numbers.slice(0, most - 1).join(', ')} and ${numbers.length - most + 1} more`;
  return `${numbers.slice(0, -1).join(', ')} and ${last}`;
}
