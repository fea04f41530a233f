// What the tables of a report share.
import { count } from '../base/units';
import type { Page, Row } from '../data/types';
import { at } from '../widgets/rows';
import type { Column } from '../widgets/table';

// "The longest 4,096 of 16,384 are shown": of a list that was cut short.
export function cutNote(page: Page, list: string): string | undefined {
  const cut = page.cut?.[list] ?? page.cut?.[`report.${list}`];
  return cut ? `${count(cut.shown)} of ${count(cut.of)} are in this page; the JSON report has all.` : undefined;
}

export function column(label: string, kind: Column<Row>['kind'], base: string, path: string): Column<Row> {
  return { label, kind, get: (r) => at(r, path), path: `${base}.${path}` };
}
