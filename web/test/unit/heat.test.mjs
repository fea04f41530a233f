// The heat map: codes, tiles, orders, views, and what is said about a cell.
import assert from 'node:assert/strict';
import test from 'node:test';
import { cellText } from '../lib/pictures.mjs';
import { loadPure } from '../lib/pure.mjs';
import { random } from '../lib/random.mjs';

const { codes, grid, order, frame, win, describeCell, scale, decode, timeTicks } = await loadPure();

const tile = (cells, more) => ({
  first_row: 0,
  ranks_per_row: 1,
  columns_per_cell: 1,
  row_ranks: null,
  cells: cellText(cells),
  ...more
});

test('a code holds a time to 4.5 percent', () => {
  const r = random(11);
  for (let i = 0; i < 2000; i++) {
    const ns = 10 ** r.between(3, 10);
    assert.ok(Math.abs(codes.nsOfCode(codes.codeOfNs(ns)) / ns - 1) < 0.045);
  }
  assert.equal(codes.codeOfNs(0), codes.kNone);
  assert.equal(codes.codeOfNs(1), codes.kSmallest);
  for (let q = 2; q < 256; q++) assert.equal(codes.codeOfNs(codes.nsOfCode(q)), q);
});

const columnsOf = (n) => ({ kind: 'step', each: 1, starts: Array.from({ length: n }, (_, i) => i) });

test('every code survives as a character', () => {
  const all = Uint8Array.from({ length: 256 }, (_, q) => q);
  const text = cellText(all);
  assert.equal(text.length, 256);
  assert.equal(JSON.stringify(text).length, 258);
  assert.deepEqual(decode.cellsOf(text, 256), all);
});

test('tiles are put together where they belong', () => {
  const layer = {
    name: 'caused_wait',
    tiles: [tile([1, 2, 3, 4, 5, 6], { rows: 2, columns: 3 }), tile([7, 8, 9], { rows: 1, columns: 3, first_row: 3 })]
  };
  const made = grid.overviewOf(layer, 4, columnsOf(3));
  assert.deepEqual([...made.cells], [1, 2, 3, 4, 5, 6, 0, 0, 0, 7, 8, 9]);
});

test('tiles of different detail keep the largest value', () => {
  const layer = {
    name: 'x',
    tiles: [
      tile([9, 2, 3, 4, 7, 1, 1, 1], { rows: 2, columns: 4 }),
      tile([5, 6], { rows: 1, columns: 2, ranks_per_row: 2, columns_per_cell: 2, first_row: 0 })
    ]
  };
  const made = grid.overviewOf(layer, 2, columnsOf(4));
  assert.deepEqual([made.rows, made.columns, ...made.cells], [1, 2, 9, 6]);
});

test('rows in full detail are found by their ranks', () => {
  const layer = {
    name: 'x',
    tiles: [
      tile([1, 2, 3, 4], { rows: 2, columns: 2, row_ranks: [7, 3] }),
      tile([5, 1], { rows: 1, columns: 2, row_ranks: [4] })
    ]
  };
  const made = grid.detailOf(layer, columnsOf(2));
  assert.deepEqual(made.rowRanks, [7, 3, 4]);
  assert.deepEqual([...made.cells], [1, 2, 3, 4, 5, 1]);
  assert.equal(grid.detailOf({ tiles: [] }, columnsOf(4)), null);
});

test('damaged cells are refused', () => {
  assert.throws(() => decode.cellsOf(cellText([1, 2, 3]), 4), /3 cells instead of 4/);
});

test('a picture shows the largest cell of each pixel, in any order of rows', () => {
  const r = random(12);
  for (let i = 0; i < 60; i++) {
    const [rows, columns] = [r.whole(1, 60), r.whole(1, 90)];
    const g = { rows, columns, cells: Uint8Array.from({ length: rows * columns }, () => r.whole(0, 255)) };
    const shuffled = Int32Array.from([...Array(rows).keys()].sort(() => r.next() - 0.5));
    const view = win.fit(
      { row: r.whole(0, rows), rows: r.whole(1, rows), column: r.whole(0, columns), columns: r.whole(1, columns) },
      g
    );
    const [w, h] = [r.whole(1, 50), r.whole(1, 50)];
    for (const [reduce, pick] of [
      ['largest', Math.max],
      ['smallest', Math.min]
    ]) {
      const made = grid.reduceCells(g, shuffled, view, w, h, reduce);
      const found = new Map(); // by an independent rule: each cell goes to the pixel that covers it
      for (let y = 0; y < view.rows; y++) {
        for (let x = 0; x < view.columns; x++) {
          const pixel = [made.height, made.width].map((n, k) => {
            let p = 0;
            const [at, of] = k === 0 ? [y, view.rows] : [x, view.columns];
            while (Math.floor(((p + 1) * of) / n) <= at) p++;
            return p;
          });
          const key = pixel[0] * made.width + pixel[1];
          const value = g.cells[shuffled[view.row + y] * columns + view.column + x];
          found.set(key, found.has(key) ? pick(found.get(key), value) : value);
        }
      }
      assert.equal(found.size, made.cells.length);
      for (const [key, value] of found) assert.equal(made.cells[key], value);
    }
  }
});

test('the default order puts those who cause most first only for many ranks', () => {
  const make = (n) => ({ ranks: [...Array(n).keys()], hosts: Array(n).fill('h'), blame: [...Array(n).keys()] });
  const of = (n, k) => {
    const all = order.ordersOf(make(n), k, null);
    return { all, id: order.defaultOrder(all, n, k) };
  };
  assert.equal(of(8, 1).id, 'rank');
  assert.equal(of(256, 1).id, 'rank');
  assert.equal(of(257, 1).id, 'blame');
  assert.equal(of(16384, 16).id, 'rank');
  assert.equal(of(257, 1).all.find((o) => o.id === 'blame').rows[0], 256);
});

test('every order holds every row once', () => {
  const ranks = [...Array(64).keys()];
  const rows = {
    ranks,
    hosts: ranks.map((r) => (r === 9 ? null : `h${r % 3}`)),
    blame: ranks.map((r) => (r * 7) % 13)
  };
  const all = order.ordersOf(rows, 1, { tp: 8, pp: 4, dp: 2 });
  assert.deepEqual(
    all.map((o) => o.id),
    ['rank', 'blame', 'host', 'pp', 'tp', 'dp']
  );
  for (const o of all)
    assert.deepEqual(
      [...o.rows].sort((a, b) => a - b),
      ranks
    );
});

test('a place in the layout follows its order of kinds', () => {
  assert.deepEqual(
    [0, 7, 8, 16, 63].map((r) => order.placeInLayout({ tp: 8, dp: 2, pp: 4 }, 'dp', r)),
    [0, 0, 1, 0, 1]
  );
  assert.deepEqual(
    [0, 1, 4, 8].map((r) => order.placeInLayout({ tp: 2, pp: 4, order: 'pp-tp' }, 'tp', r)),
    [0, 0, 1, 0]
  );
});

test('zooming in and out stays inside the map and keeps the cell in view', () => {
  const r = random(13);
  for (let i = 0; i < 500; i++) {
    const size = { rows: r.whole(1, 2000), columns: r.whole(1, 2000) };
    let view = win.wholeOf(size);
    for (let k = 0; k < 12; k++) {
      const cell = { row: view.row + r.whole(0, view.rows - 1), column: view.column + r.whole(0, view.columns - 1) };
      view = win.zoom(view, size, r.next() < 0.7 ? 1.5 : 1 / 1.5, cell);
      assert.ok(
        view.row >= 0 &&
          view.column >= 0 &&
          view.row + view.rows <= size.rows &&
          view.column + view.columns <= size.columns
      );
      assert.ok(view.rows >= 1 && view.columns >= 1);
      assert.ok(
        cell.row >= view.row &&
          cell.row < view.row + view.rows &&
          cell.column >= view.column &&
          cell.column < view.column + view.columns
      );
    }
  }
});

test('a point on a cell finds that cell', () => {
  const r = random(14);
  for (let i = 0; i < 500; i++) {
    const size = { rows: r.whole(1, 300), columns: r.whole(1, 300) };
    const view = win.fit(
      { row: r.whole(0, 299), rows: r.whole(1, 300), column: r.whole(0, 299), columns: r.whole(1, 300) },
      size
    );
    const f = frame.frameOf({
      width: r.whole(320, 1400),
      rows: size.rows,
      topBars: true,
      rightBars: true,
      labelWidth: 50
    });
    const cell = { row: view.row + r.whole(0, view.rows - 1), column: view.column + r.whole(0, view.columns - 1) };
    const [x, y] = [frame.xOf(f, view, cell.column + 0.5), frame.yOf(f, view, cell.row + 0.5)];
    assert.deepEqual(frame.cellAt(f, view, x, y), cell);
  }
  assert.equal(
    frame.cellAt(frame.frameOf({ width: 600, rows: 5, labelWidth: 50 }), win.wholeOf({ rows: 5, columns: 5 }), 0, 0),
    null
  );
});

test('keys move the cursor by one, ten, or to an end, and never leave the map', () => {
  const size = { rows: 20, columns: 30 };
  const view = win.wholeOf(size);
  const from = { row: 5, column: 5 };
  const to = (key, far = false) => win.moved(from, key, view, size, far);
  assert.deepEqual(to('ArrowRight'), { row: 5, column: 6 });
  assert.deepEqual(to('ArrowUp', true), { row: 0, column: 5 });
  assert.deepEqual(to('End'), { row: 5, column: 29 });
  assert.deepEqual(to('End', true), { row: 19, column: 29 });
  assert.deepEqual(to('PageDown'), { row: 15, column: 5 });
  assert.equal(to('q'), null);
});

const pictures = {
  ranks: [0, 1, 2, 3],
  hosts: ['n0', 'n0', 'n1', null],
  columns: { kind: 'step', each: 1, starts: [10, 11, 12, 20] }
};

test('the readout says who, when and how much, and what is not known', () => {
  const g = {
    rows: 4,
    columns: 4,
    ranksPerRow: 1,
    columnsPerCell: 1,
    rowRanks: null,
    cells: Uint8Array.from([0, 1, 2, codes.codeOfNs(3.1e6), ...Array(12).fill(0)])
  };
  const say = (c) => describeCell.readout(pictures, 3671, 'caused_wait', g, 0, c).replace(/\u00a0/g, ' ');
  assert.equal(say(0), 'rank 0 (n0), step 10: nothing.');
  assert.equal(
    say(1),
    'rank 0 (n0), step 11: not resolvable, because it is below the uncertainty of 3.67 µs of the clocks.'
  );
  assert.equal(say(2), 'rank 0 (n0), step 12: the others waited 1 µs or less because of it.');
  assert.match(say(3), /^rank 0 \(n0\), step 20: the others waited about 3\.\d ms because of it\.$/);
});

test('the readout of a cell of many ranks and steps says that it is the largest', () => {
  const g = {
    rows: 2,
    columns: 2,
    ranksPerRow: 2,
    columnsPerCell: 2,
    rowRanks: null,
    cells: Uint8Array.from([100, 0, 0, 0])
  };
  assert.match(
    describeCell.readout(pictures, 3671, 'caused_wait', g, 0, 0),
    /^ranks 0 to 1 \(n0\), steps 10 to 11: the most that the others waited for one rank in one step is about/
  );
  assert.equal(describeCell.binning(pictures.columns, g), 'Each cell: the largest of 2 ranks × 2 steps.');
  assert.match(
    describeCell.sentence(pictures, 'lateness', g),
    /Heat map of lateness, 2 by 2 cells, of 4 ranks\. The largest value is at ranks 0 to 1/
  );
});

test('the ticks of a time axis are round moments, wherever the first column begins', () => {
  const view = { row: 0, rows: 1, column: 0, columns: 188 };
  const ticks = timeTicks.timeTicks(-900064, 8388608, view, 9);
  assert.deepEqual(
    ticks.slice(0, 3).map((t) => t.text.replace('\u00a0', ' ')),
    ['0', '200 ms', '400 ms']
  );
  assert.ok(Math.abs(ticks[0].column - 900064 / 8388608) < 1e-9);
  const zoomed = timeTicks.timeTicks(-5e8, 1e8, { ...view, columns: 4 }, 4).map((t) => t.text.replace('\u00a0', ' '));
  assert.deepEqual(zoomed, ['−500 ms', '−400 ms', '−300 ms', '−200 ms', '−100 ms']);
});

test('the scale covers the values, with at least three ticks', () => {
  const r = random(15);
  for (let i = 0; i < 200; i++) {
    const low = r.whole(2, 200);
    const cells = Uint8Array.from({ length: 50 }, () => r.whole(low, Math.min(255, low + r.whole(0, 120))));
    const made = scale.timeScale(cells);
    assert.ok(made.ticks.length >= 2);
    assert.equal(made.codeAt(1) >= Math.max(...cells), true);
    assert.equal(made.color(0, false), null);
    assert.notDeepEqual(made.color(1, false), made.color(Math.max(...cells), false));
    for (const t of made.ticks) assert.ok(t.at >= 0 && t.at <= 1);
  }
  assert.ok(scale.timeScale(new Uint8Array(4)).ticks.length >= 2);
});
