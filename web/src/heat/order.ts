// Orders in which the rows of a heat map can be shown. Pure.
import type { Num, Text } from '../data/types';

export interface RowsOfMap {
  ranks: number[];
  hosts: Text[];
  blame: Num[] | null;
}

export interface Order {
  id: string;
  label: string;
  rows: Int32Array;
  group: ((row: number) => string) | null;
}

// From this number of ranks on, one row is too thin to be found by its place: those who cause most come first.
export const kRanksShownInOrder = 256;

function sorted(n: number, before: (a: number, b: number) => number): Int32Array {
  return Int32Array.from([...Array(n).keys()].sort((a, b) => before(a, b) || a - b));
}

const kKinds: [string, string][] = [
  ['pp', 'pipeline stage'],
  ['tp', 'tensor-parallel place'],
  ['dp', 'data-parallel replica'],
  ['ep', 'expert-parallel place'],
  ['cp', 'context-parallel place']
];

// Coordinates of a rank in a layout: the kind named first is the one in which neighbouring ranks differ first.
export function placeInLayout(layout: { [name: string]: unknown }, kind: string, rank: number): number {
  const order = typeof layout.order === 'string' ? layout.order : 'tp-cp-ep-dp-pp';
  let stride = 1;
  for (const name of order.split('-')) {
    const size = typeof layout[name] === 'number' ? Math.max(1, layout[name] as number) : 1;
    if (name === kind) return Math.floor(rank / stride) % size;
    stride *= size;
  }
  return 0;
}

// All orders that the data allow. Rows that hold several ranks keep the order of ranks inside them, so that only
// the order of the rows by the largest waiting of one of their ranks can be offered in addition.
export function ordersOf(rows: RowsOfMap, ranksPerRow: number, layout: { [name: string]: unknown } | null): Order[] {
  const n = Math.ceil(rows.ranks.length / ranksPerRow);
  const orders: Order[] = [{ id: 'rank', label: 'rank', rows: sorted(n, () => 0), group: null }];
  if (rows.blame) {
    const most = Array.from({ length: n }, (_, i) =>
      Math.max(0, ...rows.blame!.slice(i * ranksPerRow, (i + 1) * ranksPerRow).map((v) => v ?? 0))
    );
    orders.push({ id: 'blame', label: 'caused waiting', rows: sorted(n, (a, b) => most[b] - most[a]), group: null });
  }
  if (ranksPerRow !== 1) return orders;
  const hosts = [...new Set(rows.hosts)];
  if (hosts.length > 1) {
    const place = new Map(hosts.map((host, i) => [host, i]));
    orders.push({
      id: 'host',
      label: 'host',
      group: (r) => rows.hosts[r] ?? 'host not known',
      rows: sorted(n, (a, b) => place.get(rows.hosts[a])! - place.get(rows.hosts[b])!)
    });
  }
  for (const [kind, label] of layout ? kKinds : []) {
    if (!layout || typeof layout[kind] !== 'number' || (layout[kind] as number) < 2) continue;
    const place = rows.ranks.map((rank) => placeInLayout(layout, kind, rank));
    orders.push({
      id: kind,
      label: `layout: ${label}`,
      group: (r) => `${label} ${place[r]}`,
      rows: sorted(n, (a, b) => place[a] - place[b])
    });
  }
  return orders;
}

export function defaultOrder(orders: Order[], ranks: number, ranksPerRow: number): string {
  return ranks > kRanksShownInOrder && ranksPerRow === 1 && orders.some((o) => o.id === 'blame') ? 'blame' : 'rank';
}
