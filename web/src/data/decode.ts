// Decodes the data that a page carries: base64 of deflate-raw of UTF-8 JSON, with lists stored by column.
// Throws an Error with a sentence for the reader where that is not possible.
import { expandColumns, type Json } from './columns';
import type { Page } from './types';

export const kSchema = 'lockstep.page/1';

type Base64Reader = { fromBase64?: (text: string) => Uint8Array };

export function bytesOfBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as Base64Reader).fromBase64;
  if (native) return native.call(Uint8Array, text);
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

async function inflatedJson(bytes: Uint8Array): Promise<Json> {
  const inflate = new DecompressionStream('deflate-raw');
  const writer = inflate.writable.getWriter();
  const written = Promise.all([writer.write(bytes as unknown as BufferSource), writer.close()]);
  const [json] = await Promise.all([new Response(inflate.readable).json() as Promise<Json>, written]);
  return json;
}

// The JSON value that is stored as base64; the browser reads it from the decompressed bytes.
export async function storedJson(base64: string): Promise<Json> {
  try {
    return await inflatedJson(bytesOfBase64(base64));
  } catch {
    throw new Error('They are cut short or were changed.'); // Browsers tell of a failed fetch instead.
  }
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

function pageOf(json: Json): Page {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) throw new Error('The data are not an object.');
  if (json['schema'] !== kSchema) {
    throw new Error(`The data have the format "${String(json['schema'])}" and this page reads "${kSchema}".`);
  }
  return expandColumns(json) as unknown as Page;
}

export function parsePage(text: string): Page {
  return pageOf(JSON.parse(text) as Json);
}

export async function decodePage(base64: string): Promise<Page> {
  return pageOf(await storedJson(base64));
}
