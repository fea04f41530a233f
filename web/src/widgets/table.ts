// Tables that sort, filter and turn pages. Rows are objects of the data; a column says where its value is and how it is
// shown. Values that are not known sort last in both directions.
import { button, h, nameOf, type Child } from '../base/dom';
import {
  bytes,
  count,
  exact,
  known,
  kNothing,
  percent,
  significant,
  signedPercent,
  signedTime,
  time
} from '../base/units';
import { defineButton } from './define';
import { pagesOf, rowsOfPage, sortRows, type Direction } from './rows';
import { sideways } from './sideways';

export type Kind = 'time' | 'percent' | 'bytes' | 'count' | 'number' | 'text' | 'name' | 'signedTime' | 'signedPercent';

export interface Column<R> {
  label: string;
  kind: Kind;
  get: (row: R) => unknown;
  path?: string; // of its definition
  cell?: (row: R) => Child; // in place of the formatted value
  define?: string; // a definition where no path has one
}

export interface TableOptions<R> {
  caption: string;
  columns: Column<R>[];
  rows: R[];
  sort?: number;
  direction?: Direction;
  cut?: string;
  pageSize?: number;
  onRow?: (row: R) => void;
  rowLabel?: (row: R) => string;
  marked?: (row: R) => boolean;
  pageAt?: number;
}

const kPage = 50;
const kWithoutPages = 200;
const kShortName = 16; // characters: stays on one line
const kUnits: { [kind in Kind]?: string } = { time: 'ns', signedTime: 'ns', bytes: 'bytes' };

export function formatted(kind: Kind, value: unknown): string {
  if (kind === 'text' || kind === 'name') {
    return value === null || value === undefined || value === '' ? kNothing : String(value);
  }
  const number = known(value) ? value : null;
  switch (kind) {
    case 'time':
      return time(number);
    case 'signedTime':
      return signedTime(number);
    case 'percent':
      return percent(number);
    case 'signedPercent':
      return signedPercent(number);
    case 'bytes':
      return bytes(number);
    case 'count':
      return count(number);
    default:
      return significant(number);
  }
}

function cellOf<R>(column: Column<R>, row: R): HTMLTableCellElement {
  const value = column.get(row);
  if (column.cell)
    return h('td', { class: column.kind === 'name' || column.kind === 'text' ? 'text' : 'figure' }, column.cell(row));
  if (column.kind === 'name') {
    const short = String(value ?? '').length <= kShortName;
    return h('td', { class: `text ${short ? 'short' : 'wide'}` }, nameOf(value));
  }
  if (column.kind === 'text') return h('td', { class: 'text' }, nameOf(formatted('text', value), 80, ''));
  const title = known(value) ? exact(value, kUnits[column.kind] ?? '') : 'not known';
  return h('td', { class: 'figure', title }, formatted(column.kind, value));
}

export class Table<R> {
  readonly element: HTMLElement;
  private readonly body = h('tbody', {});
  private readonly heads: HTMLTableCellElement[] = [];
  private readonly pager = h('div', { class: 'pager' });
  private readonly status = h('span', { class: 'quiet', 'aria-live': 'polite' });
  private sort: number;
  private direction: Direction;
  private filter = '';
  private page = 0;

  constructor(private readonly options: TableOptions<R>) {
    this.sort = options.sort ?? -1;
    this.direction = options.direction ?? 'descending';
    const head = h('tr', {}, ...options.columns.map((column, i) => this.headOf(column, i)));
    const table = h('table', {}, h('caption', { class: 'hidden' }, options.caption), h('thead', {}, head), this.body);
    const box = h(
      'div',
      { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': `Table: ${options.caption}` },
      table
    );
    const { frame, more } = sideways(box, table);
    const above = h('div', { class: 'above' }, options.rows.length > 8 ? this.filterBox() : null, more);
    this.element = h('div', { class: 'table' }, above, frame, this.pager);
    this.draw();
  }

  private headOf(column: Column<R>, i: number): HTMLTableCellElement {
    const arrow = h('span', { class: 'arrow', 'aria-hidden': 'true' });
    const sort = button('', () => this.sortBy(i), { class: 'sort' });
    sort.append(column.label, arrow);
    const define = column.path || column.define ? defineButton(column.label, column.path ?? '', column.define) : null;
    const head = h(
      'th',
      { scope: 'col', class: column.kind === 'name' || column.kind === 'text' ? 'text' : 'figure' },
      h('span', { class: 'head' }, sort, define)
    );
    this.heads.push(head);
    return head;
  }

  private filterBox(): HTMLElement {
    const input = h('input', {
      type: 'search',
      'aria-label': `Filter: ${this.options.caption}`,
      placeholder: 'Filter rows'
    });
    input.addEventListener('input', () => {
      this.filter = input.value.toLowerCase();
      this.page = 0;
      this.draw();
    });
    return h('div', { class: 'filter' }, input, this.status);
  }

  private sortBy(i: number): void {
    const text = ['name', 'text'].includes(this.options.columns[i].kind);
    if (this.sort === i) this.direction = this.direction === 'descending' ? 'ascending' : 'descending';
    else this.direction = text ? 'ascending' : 'descending';
    this.sort = i;
    this.page = 0;
    this.draw();
  }

  private kept(): R[] {
    const { rows, columns } = this.options;
    const kept =
      this.filter === ''
        ? rows
        : rows.filter((row) => columns.some((c) => formatted(c.kind, c.get(row)).toLowerCase().includes(this.filter)));
    return this.sort < 0 ? kept : sortRows(kept, columns[this.sort].get, this.direction);
  }

  private draw(): void {
    const { columns } = this.options;
    this.heads.forEach((head, i) => {
      head.setAttribute('aria-sort', i === this.sort ? this.direction : 'none');
      const arrow = head.querySelector('.arrow');
      if (arrow) arrow.textContent = i === this.sort ? (this.direction === 'descending' ? ' ↓' : ' ↑') : '';
    });
    const kept = this.kept();
    const size =
      kept.length > (this.options.pageAt ?? kWithoutPages)
        ? (this.options.pageSize ?? kPage)
        : Math.max(1, kept.length);
    const rows = rowsOfPage(kept, this.page, size).map((row) => {
      const tr = h(
        'tr',
        { class: this.options.marked?.(row) ? 'marked' : null },
        ...columns.map((c) => cellOf(c, row))
      );
      return tr;
    });
    if (rows.length === 0)
      rows.push(h('tr', {}, h('td', { colspan: columns.length, class: 'text' }, 'No row matches the filter.')));
    this.body.replaceChildren(...rows);
    this.status.textContent = this.filter === '' ? `${count(kept.length)} rows` : `${count(kept.length)} rows match`;
    this.drawPager(kept.length, size);
  }

  private drawPager(total: number, size: number): void {
    const pages = pagesOf(total, size);
    const go = (page: number): void => {
      this.page = page;
      this.draw();
    };
    const text = `Page ${count(this.page + 1)} of ${count(pages)}`;
    this.pager.replaceChildren(
      ...(pages < 2
        ? []
        : [
            button('Previous', () => go(this.page - 1), { disabled: this.page === 0 }),
            h('span', {}, text),
            button('Next', () => go(this.page + 1), { disabled: this.page >= pages - 1 })
          ])
    );
    if (this.options.cut) this.pager.append(h('span', { class: 'quiet' }, this.options.cut));
  }
}
