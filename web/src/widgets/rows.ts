// Sorting and paging of the rows of a table. Pure.

export type Direction = 'ascending' | 'descending';

function missing(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (typeof value === 'number' && Number.isNaN(value));
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  const [x, y] = [String(a), String(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

// A sorted copy: equal rows keep their order, and values that are not known come last in both directions.
export function sortRows<R>(rows: R[], get: (row: R) => unknown, direction: Direction): R[] {
  const sign = direction === 'descending' ? -1 : 1;
  return rows
    .map((row, i) => ({ row, i, value: get(row) }))
    .sort((a, b) => {
      const [am, bm] = [missing(a.value), missing(b.value)];
      if (am || bm) return am === bm ? a.i - b.i : am ? 1 : -1;
      return sign * compare(a.value, b.value) || a.i - b.i;
    })
    .map((entry) => entry.row);
}

export function pagesOf(total: number, size: number): number {
  return Math.max(1, Math.ceil(total / size));
}

export function rowsOfPage<R>(rows: R[], page: number, size: number): R[] {
  return rows.slice(page * size, (page + 1) * size);
}

// The value at a path such as "duration_ns.p99"; undefined where a part of the path is missing.
export function at(row: unknown, path: string): unknown {
  let value: unknown = row;
  for (const part of path.split('.')) {
    if (value === null || typeof value !== 'object') return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
