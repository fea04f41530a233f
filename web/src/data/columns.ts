// Lists that are stored by column: {"@columns": {...}, "@length": n} stands for a list of n objects. Pure.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const kIndex = Symbol('index');

type Indexed = { [kIndex]: number };

// Replaces lists by column by the lists that they stand for, at any depth. Each of their rows looks its values up in the
// columns, so that only what is read of a row is ever made: a row has no value of its own that { ...row } would copy.
export function expandColumns(value: Json): Json {
  if (Array.isArray(value)) return expandList(value);
  if (value === null || typeof value !== 'object') return value;
  const columns = value['@columns'];
  if (columns !== undefined && columns !== null && typeof columns === 'object' && !Array.isArray(columns)) {
    return rowsOf(columns, Number(value['@length'] ?? 0));
  }
  for (const key of Object.keys(value)) value[key] = expandColumns(value[key]);
  return value;
}

function expandList(list: Json[]): Json[] {
  // Long lists of numbers are common and hold nothing to expand.
  if (typeof list[0] === 'number') return list;
  for (let i = 0; i < list.length; i++) list[i] = expandColumns(list[i]);
  return list;
}

// What a column is asked for: it is expanded when it is first read.
function lookup(column: Json): (this: Indexed) => Json {
  let list: Json[] | null = null;
  return function () {
    list ??= Array.isArray(column) ? expandList(column) : [];
    return list[this[kIndex]] ?? null;
  };
}

function rowsOf(columns: { [key: string]: Json }, length: number): Json[] {
  class RowOfColumns {
    readonly [kIndex]: number;
    constructor(index: number) {
      this[kIndex] = index;
    }
  }
  for (const name of Object.keys(columns)) {
    Object.defineProperty(RowOfColumns.prototype, name, { get: lookup(columns[name]), enumerable: true });
  }
  return Array.from({ length }, (_, i) => new RowOfColumns(i) as unknown as Json);
}
