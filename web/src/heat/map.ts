// A heat map on the page: the picture, its cursor, zoom by wheel, box and keyboard, and the line that reads it out.
import { h, onWidth } from '../base/dom';
import { cssColor, onTheme } from '../base/theme';
import type { View } from './grid';
import { cellAt, frameOf, xOf, yOf, type Frame } from './frame';
import { kBold, sizeCanvas } from './canvas';
import { paint, textOfMark, type Drawing } from './paint';
import { follow, inside, moved, wholeOf, zoom, fit, type Cell, type Size } from './window';

export interface MapContent extends Omit<Drawing, 'view'> {
  sentence: string; // what the picture shows, for those who cannot see it
  readout: (gridRow: number, column: number) => string;
}

export class HeatMap {
  readonly element: HTMLElement;
  private readonly base = h('canvas', { role: 'img' });
  private readonly over = h('canvas', { class: 'over', 'aria-hidden': 'true' });
  private readonly line = h('p', { class: 'readout', 'aria-live': 'polite' });
  private readonly stage: HTMLElement;
  private frame: Frame | null = null;
  private view: View;
  private cursor: Cell | null = null;
  private anchor: { x: number; y: number } | null = null;
  private box: { x: number; y: number } | null = null;
  private width = 0;

  constructor(
    private content: MapContent,
    private readonly hint: string
  ) {
    this.view = wholeOf(this.size());
    this.stage = h(
      'div',
      { class: 'stage', tabindex: '0', role: 'application', 'aria-roledescription': 'heat map' },
      this.base,
      this.over
    );
    this.element = h('div', { class: 'heat' }, this.stage, this.line);
    this.listen();
    onWidth(this.stage, (width) => {
      this.width = width;
      this.draw();
    });
    onTheme(() => this.draw());
    this.label();
  }

  size(): Size {
    return { rows: this.content.grid.rows, columns: this.content.grid.columns };
  }

  // Shows other content. The view is kept where the map has the same size and order of rows.
  show(content: MapContent): void {
    const before = this.size();
    const sameOrder = this.content.order === content.order;
    this.content = content;
    const now = this.size();
    if (before.rows !== now.rows || before.columns !== now.columns || !sameOrder) {
      this.view = wholeOf(now);
      this.cursor = null;
    }
    this.label();
    this.draw();
  }

  zoomBy(factor: number): void {
    const middle = {
      row: this.view.row + this.view.rows / 2 - 0.5,
      column: this.view.column + this.view.columns / 2 - 0.5
    };
    this.setView(zoom(this.view, this.size(), factor, this.cursor ?? middle));
  }

  reset(): void {
    this.setView(wholeOf(this.size()));
  }

  private label(): void {
    this.base.setAttribute('aria-label', this.content.sentence);
    this.stage.setAttribute('aria-label', `${this.content.sentence} ${this.hint}`);
    this.line.textContent = this.hint;
    this.line.classList.add('hint');
  }

  private setView(view: View): void {
    this.view = fit(view, this.size());
    this.draw();
  }

  private draw(): void {
    if (this.width === 0) return;
    const start = performance.now();
    const context = this.base.getContext('2d');
    if (!context) return;
    context.font = kBold;
    const { grid, order, marks } = this.content;
    const labels = [0, grid.rows - 1]
      .map((r) => this.content.rowLabel(order[r]))
      .concat(
        marks.map((m) => `${textOfMark(m, this.content.rowLabel(m.rows[0]))}  `),
        this.content.rowTitle
      );
    if (this.content.group) labels.push(...[...order.slice(0, 64)].map(this.content.group));
    const labelWidth = Math.max(40, ...labels.map((text) => context.measureText(text).width));
    this.frame = frameOf({
      width: this.width,
      rows: grid.rows,
      topBars: this.content.topBars !== null,
      rightBars: this.content.rightBars !== null,
      labelWidth
    });
    paint(this.base, this.frame, { ...this.content, view: this.view });
    this.drawOver();
    const taken = performance.now() - start;
    // For the tests: how long it took, and where the cells are in pixels of the canvas.
    this.element.dataset.drawn = taken.toFixed(1);
    this.element.dataset.frame = [this.frame.left, this.frame.top, this.frame.plotWidth, this.frame.plotHeight].join(
      ' '
    );
    if (!performance.getEntriesByName('lockstep-first-picture').length) performance.mark('lockstep-first-picture');
  }

  private drawOver(): void {
    if (!this.frame) return;
    const context = sizeCanvas(this.over, this.frame.width, this.frame.height);
    if (!context) return;
    context.lineWidth = 2;
    context.strokeStyle = cssColor('--cursor');
    if (this.cursor) {
      const x = xOf(this.frame, this.view, this.cursor.column);
      const y = yOf(this.frame, this.view, this.cursor.row);
      const wide = Math.max(5, this.frame.plotWidth / this.view.columns);
      const tall = Math.max(5, this.frame.plotHeight / this.view.rows);
      context.globalAlpha = 0.35;
      context.strokeRect(this.frame.left, y, this.frame.plotWidth, tall);
      context.strokeRect(x, this.frame.top, wide, this.frame.plotHeight);
      context.globalAlpha = 1;
      context.strokeRect(x, y, wide, tall);
    }
    if (this.anchor && this.box) {
      context.setLineDash([4, 3]);
      context.strokeRect(this.anchor.x, this.anchor.y, this.box.x - this.anchor.x, this.box.y - this.anchor.y);
    }
  }

  private point(cell: Cell | null): void {
    if (cell) cell = inside(cell, this.size());
    if (cell?.row === this.cursor?.row && cell?.column === this.cursor?.column) return;
    this.cursor = cell;
    this.line.classList.toggle('hint', !cell);
    this.line.textContent = cell ? this.content.readout(this.content.order[cell.row], cell.column) : this.hint;
    this.drawOver();
  }

  private placeOf(event: MouseEvent): { x: number; y: number } {
    const box = this.base.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private cellOf(at: { x: number; y: number }): Cell | null {
    return this.frame ? cellAt(this.frame, this.view, at.x, at.y) : null;
  }

  private listen(): void {
    this.stage.addEventListener('keydown', (event) => this.onKey(event));
    this.stage.addEventListener('pointermove', (event) => {
      const at = this.placeOf(event);
      if (this.anchor) {
        this.box = at;
        this.drawOver();
      }
      const cell = this.cellOf(at);
      if (cell) this.point(cell);
    });
    this.stage.addEventListener('pointerdown', (event) => {
      const at = this.placeOf(event);
      if (event.button !== 0) return;
      const cell = this.cellOf(at);
      if (cell) this.point(cell);
      if (event.pointerType === 'mouse' && cell) {
        this.anchor = at;
        this.stage.setPointerCapture(event.pointerId);
      }
    });
    this.stage.addEventListener('pointerup', () => this.endBox());
    this.stage.addEventListener('pointercancel', () => {
      this.anchor = null;
      this.box = null;
      this.drawOver();
    });
    // The wheel scrolls the page unless the map has the focus, so that nobody gets stuck in it.
    this.stage.addEventListener(
      'wheel',
      (event) => {
        if (document.activeElement !== this.stage && !event.ctrlKey) return;
        const cell = this.cellOf(this.placeOf(event));
        if (!cell) return;
        event.preventDefault();
        this.setView(zoom(this.view, this.size(), event.deltaY < 0 ? 1.5 : 1 / 1.5, cell));
      },
      { passive: false }
    );
    this.stage.addEventListener('dblclick', () => this.reset());
  }

  private endBox(): void {
    const [from, to] = [this.anchor, this.box];
    this.anchor = null;
    this.box = null;
    if (from && to && this.frame && Math.abs(to.x - from.x) > 6 && Math.abs(to.y - from.y) > 6) {
      const f = this.frame;
      const within = (x: number, low: number, size: number): number => Math.min(Math.max(x, low), low + size - 0.01);
      const corners = [from, to].map(
        (p) => cellAt(f, this.view, within(p.x, f.left, f.plotWidth), within(p.y, f.top, f.plotHeight))!
      );
      const [r0, r1] = corners.map((c) => c.row).sort((a, b) => a - b);
      const [c0, c1] = corners.map((c) => c.column).sort((a, b) => a - b);
      this.setView({ row: r0, rows: r1 - r0 + 1, column: c0, columns: c1 - c0 + 1 });
    }
    this.drawOver();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey) return;
    const key = event.key;
    if (key === '+' || key === '=') this.zoomBy(1.5);
    else if (key === '-' || key === '_') this.zoomBy(1 / 1.5);
    else if (key === '0') this.reset();
    else if (key === 'Escape') {
      this.reset();
      this.point(null);
    } else {
      const from = this.cursor ?? { row: this.view.row, column: this.view.column };
      const to = moved(from, key, this.view, this.size(), event.shiftKey || event.ctrlKey);
      if (!to) return;
      const view = follow(this.view, to, this.size());
      if (view.row !== this.view.row || view.column !== this.view.column) this.setView(view);
      this.point(this.cursor ? to : inside(from, this.size()));
    }
    event.preventDefault();
  }
}
