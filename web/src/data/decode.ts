// Decodes the data that a page carries: base64 of deflate-raw of UTF-8 JSON, with lists stored by column.
// Throws an Error with a sentence for the reader where that is not possible.
import type { Page } from './types';

export const kSchema = 'lockstep.page/1';

export function bytesOfBase64(text: string): Uint8Array {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export function canInflate(): boolean {
  try {
    return typeof DecompressionStream === 'function' && new DecompressionStream('deflate-raw') !== undefined;
  } catch {
    return false;
  }
}

export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const source = new Blob([bytes as unknown as BlobPart]).stream();
  const stream = source.pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Codes of cells, one character each: those below U+0080 stand for their number less 0x20, others for theirs less 0x120,
// because quotes, backslashes and characters that cannot be printed would be longer in JSON.
export function cellsOf(text: string, size: number): Uint8Array {
  if (text.length !== size) throw new Error(`A picture has ${text.length} cells instead of ${size}.`);
  const cells = new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    const c = text.charCodeAt(i);
    cells[i] = c < 0x80 ? c - 0x20 : c - 0x120;
  }
  return cells;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

// Replaces {"@columns": {...}, "@length": n} by the list of n objects that it stands for, at any depth.
export function expandColumns(value: Json): Json {
  if (Array.isArray(value)) {
    // Long lists of numbers are common and hold nothing to expand.
    if (typeof value[0] === 'number') return value;
    for (let i = 0; i < value.length; i++) value[i] = expandColumns(value[i]);
    return value;
  }
  if (value === null || typeof value !== 'object') return value;
  const columns = value['@columns'];
  if (columns !== undefined && columns !== null && typeof columns === 'object' && !Array.isArray(columns)) {
    return listOfColumns(columns, Number(value['@length'] ?? 0));
  }
  for (const key of Object.keys(value)) value[key] = expandColumns(value[key]);
  return value;
}

function listOfColumns(columns: { [key: string]: Json }, length: number): Json[] {
  const names = Object.keys(columns);
  const lists = names.map((name) => expandColumns(columns[name]));
  const rows: Json[] = [];
  for (let i = 0; i < length; i++) {
    const row: { [key: string]: Json } = {};
    for (let c = 0; c < names.length; c++) {
      const list = lists[c];
      row[names[c]] = Array.isArray(list) ? (list[i] ?? null) : null;
    }
    rows.push(row);
  }
  return rows;
}

export function parsePage(text: string): Page {
  const json = JSON.parse(text) as Json;
  if (json === null || typeof json !== 'object' || Array.isArray(json)) throw new Error('The data are not an object.');
  if (json['schema'] !== kSchema) {
    throw new Error(`The data have the format "${String(json['schema'])}" and this page reads "${kSchema}".`);
  }
  return expandColumns(json) as unknown as Page;
}

export async function decodePage(base64: string): Promise<Page> {
  const bytes = await inflate(bytesOfBase64(base64));
  return parsePage(new TextDecoder().decode(bytes));
}
