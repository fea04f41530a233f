// The page in a real browser: what can be read from it is what the JSON says.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, noBrowser, open, plain } from '../lib/browser.mjs';
import { fakePage } from '../lib/fake.mjs';
import { loadPure } from '../lib/pure.mjs';

const { columns, grid, codes, pictures } = await loadPure();
const expanded = (page) => columns.expandColumns(JSON.parse(JSON.stringify(page)));
const options = { skip: noBrowser };
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

test('the culprit is named first, in the largest type, and marked in the picture', options, async () => {
  const { tab, context } = await open(browser, 'culprit', fakePage('small'));
  const first = await tab.evaluate(() => {
    const size = (e) => parseFloat(getComputedStyle(e).fontSize);
    const lead = document.querySelector('.headline .first');
    return {
      text: lead.textContent,
      largest: [...document.querySelectorAll('body *')].every((e) => size(e) <= size(lead)),
      bottom: lead.getBoundingClientRect().bottom,
      map: document.querySelector('#heat-overview').getBoundingClientRect().top
    };
  });
  assert.match(first.text, /^Rank 5 makes the others wait/);
  assert.equal(first.largest, true);
  assert.ok(first.bottom < 250 && first.map < 900);
  await context.close();
});

test('what limits the numbers is told, and once where it is of several views', options, async () => {
  const page = fakePage('small');
  const stretch = "savings are computed from 1.664 s of the run's 43.08 s, beginning 24.24 s after its start";
  page.report.notices = [
    { view: 'imbalance', reason: stretch },
    { view: 'clock', reason: 'the clock of rank 3 is coarse' },
    { view: 'stragglers', reason: stretch }
  ];
  const { tab, context } = await open(browser, 'notices', page);
  const told = await tab.locator('#quality ul').first().locator('li').allTextContents();
  assert.deepEqual(told.map(plain), [stretch, 'the clock of rank 3 is coarse']);
  await context.close();
});

test('key figures and tables have the numbers of the JSON', options, async () => {
  const page = fakePage('small');
  const { report } = expanded(page);
  const { tab, context } = await open(browser, 'numbers', page);
  const figures = plain(await tab.locator('.figures').innerText());
  const culprit = report.summary.culprits[0];
  assert.ok(
    figures.includes('certain') &&
      figures.includes('31.0 %') &&
      figures.includes('27.0 % to 35.0 %') &&
      figures.includes('4.77 ms')
  );
  assert.ok(figures.includes(`${(100 * culprit.share_of_wait_ratio).toFixed(1)} % of all waiting`));
  // Titles have the exact values: every kernel, every rank's caused waiting.
  const titles = await tab
    .locator('#kernels .table')
    .first()
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.title)));
  assert.deepEqual(
    titles.map((t) => [t[1], t[5], t[3]]).sort(),
    report.profile.kernels
      .map((k) => [
        `${k.total_ns.toLocaleString('en-US')} ns`,
        k.instances.toLocaleString('en-US'),
        `${k.duration_ns.p99.toLocaleString('en-US')} ns`
      ])
      .sort()
  );
  await tab.getByText('The main values as a table').click();
  const rows = tab.locator('#who-is-late .as-table tbody tr');
  await rows.first().waitFor(); // the table is made when it is opened
  const caused = await rows.evaluateAll((all) => all.map((r) => [r.cells[0].textContent, r.cells[1].title]));
  assert.deepEqual(
    caused.sort(),
    report.pictures.blame_ns.map((ns, rank) => [`rank ${rank}`, `${ns.toLocaleString('en-US')} ns`]).sort()
  );
  await context.close();
});

test(
  'the keyboard moves the cursor through the cells, and the line reads out what the tile holds',
  options,
  async () => {
    const page = fakePage('small');
    const { layers, columns } = page.report.pictures;
    const cells = grid.overviewOf(layers[0], 8, columns);
    const { tab, context } = await open(browser, 'keyboard', page);
    await tab.focus('#heat-overview .stage');
    const line = async () => plain(await tab.locator('#heat-overview .readout').textContent());
    await tab.keyboard.press('ArrowDown');
    for (let i = 0; i < 5; i++) await tab.keyboard.press('ArrowDown');
    for (let step = 0; step < 24; step++) {
      if (step > 0) await tab.keyboard.press('ArrowRight');
      const text = await line();
      assert.ok(text.startsWith(`rank 5 (node000), step ${step}: the others waited about `), text);
      const [, value, unit] = /about ([\d.]+) (ns|µs|ms|s) because/.exec(text);
      const ns = Number(value) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }[unit];
      assert.ok(Math.abs(ns / codes.nsOfCode(cells.cells[5 * 24 + step]) - 1) < 0.051, text);
    }
    await tab.keyboard.press('Home');
    assert.match(await line(), /step 0:/);
    await tab.keyboard.press('Control+End');
    assert.match(await line(), /^rank 7 \(node000\), step 23:/);
    for (const [key, code] of [
      [0, 'nothing'],
      [1, 'not resolvable']
    ]) {
      const at = cells.cells.indexOf(key);
      await tab.keyboard.press('Control+Home');
      for (let r = 0; r < Math.floor(at / 24); r++) await tab.keyboard.press('ArrowDown');
      for (let c = 0; c < at % 24; c++) await tab.keyboard.press('ArrowRight');
      assert.ok((await line()).includes(code));
    }
    await context.close();
  }
);

test('the pointer reads out the cell under it, and a box zooms to it', options, async () => {
  const { tab, context } = await open(browser, 'pointer', fakePage('small'));
  const box = await tab.locator('#heat-overview canvas').first().boundingBox();
  const line = () => tab.locator('#heat-overview .readout').textContent();
  await tab.mouse.move(box.x + box.width * 0.4, box.y + 56 + 24 * 5.5);
  assert.match(plain(await line()), /^rank 5 \(node000\), step \d+: the others waited/);
  await tab.mouse.move(box.x + 0.3 * box.width, box.y + 60);
  await tab.mouse.down();
  await tab.mouse.move(box.x + 0.6 * box.width, box.y + 60 + 24 * 6, { steps: 4 });
  await tab.mouse.up();
  await tab.mouse.move(box.x + 0.1 * box.width, box.y + 60);
  const label = plain(await line());
  await tab.getByRole('button', { name: 'Show all' }).first().click();
  await tab.mouse.move(box.x + 0.1 * box.width + 1, box.y + 60);
  assert.notEqual(plain(await line()), label);
  await context.close();
});

test(
  'the pixels of the picture are those of the cells: equal codes look alike, and more waiting is darker',
  options,
  async () => {
    const page = fakePage('small');
    const cells = grid.overviewOf(page.report.pictures.layers[0], 8, page.report.pictures.columns);
    const { tab, context } = await open(browser, 'pixels', page);
    const seen = await tab.evaluate(
      ({ rows, columns }) => {
        const canvas = document.querySelector('#heat-overview canvas');
        const g = canvas.getContext('2d');
        // The plot ends where the column axis begins; its left end is found by the frame that surrounds it.
        const { frame } = canvas.parentElement.parentElement.dataset;
        const [left, top, width, height] = frame.split(' ').map(Number);
        return Array.from({ length: rows * columns }, (_, i) => [
          ...g.getImageData(
            Math.round(left + ((i % columns) + 0.5) * (width / columns)),
            Math.round(top + (Math.floor(i / columns) + 0.5) * (height / rows)),
            1,
            1
          ).data
        ]);
      },
      { rows: 8, columns: 24 }
    );
    const ofCode = new Map();
    seen.forEach((rgba, i) => {
      const code = cells.cells[i];
      if (ofCode.has(code)) assert.deepEqual(rgba, ofCode.get(code));
      ofCode.set(code, rgba);
    });
    assert.equal(ofCode.get(0)[3], 0);
    const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
    const values = [...ofCode]
      .filter(([code]) => code > 1)
      .sort((a, b) => a[0] - b[0])
      .map(([, rgba]) => light(rgba));
    values.forEach((v, i) => assert.ok(i === 0 || v <= values[i - 1] + 1));
    await context.close();
  }
);

test('another layer and another order show other values', options, async () => {
  const { tab, context } = await open(browser, 'orders', fakePage('host'));
  await tab.getByLabel('Rows by').selectOption('rank');
  await tab.focus('#heat-overview .stage');
  await tab.keyboard.press('ArrowDown');
  const line = async () => plain(await tab.locator('#heat-overview .readout').textContent());
  assert.match(await line(), /^rank 0 /);
  await tab.getByLabel('Rows by').selectOption('blame');
  await tab.focus('#heat-overview .stage');
  await tab.keyboard.press('ArrowDown');
  assert.match(await line(), /^rank 4[0-7] \(node005\)/);
  await tab.getByLabel('Show').first().selectOption('lateness');
  await tab.locator('#heat-overview canvas[aria-label^="Heat map of lateness"]').waitFor();
  await context.close();
});

test('tables sort, filter and turn pages', options, async () => {
  const { tab, context } = await open(browser, 'tables', fakePage('host'));
  const table = tab.locator('#kernels .table').first();
  const names = () => table.locator('tbody td:first-child').allInnerTexts();
  assert.equal((await names()).length, 50);
  assert.equal(await table.locator('th').nth(1).getAttribute('aria-sort'), 'descending');
  await table.getByRole('button', { name: 'Next' }).click();
  assert.match(await table.locator('.pager').innerText(), /Page 2 of 7/);
  await table.getByRole('button', { name: 'kernel', exact: true }).click();
  assert.equal(await table.locator('th').first().getAttribute('aria-sort'), 'ascending');
  const sorted = await names();
  assert.deepEqual(sorted, [...sorted].sort());
  await table.getByRole('searchbox').fill('kernel_29');
  assert.deepEqual((await names()).sort(), ['kernel_29', ...Array.from({ length: 10 }, (_, i) => `kernel_29${i}`)]);
  await context.close();
});

test('a chosen collective is drawn, and its command is copied', options, async () => {
  const page = fakePage('small');
  const { tab, context } = await open(browser, 'instance', page);
  const chosen = pictures.instancesOf(page.report)[3];
  await tab.locator('#single-collectives tbody button').nth(3).click();
  assert.ok(
    plain(await tab.locator('#instance-detail').innerText()).includes(
      `rank ${chosen.last_rank} came ${chosen.last_certain ? '' : 'probably '}last`
    )
  );
  await tab.getByRole('button', { name: 'Show the command that opens this in Perfetto' }).click();
  const pad = Math.ceil((chosen.end_ns - chosen.start_ns) / 10);
  const command = `lockstep export RUN --to perfetto --time ${chosen.start_ns - pad}ns..${chosen.end_ns + pad}ns --output FILE.pftrace`;
  assert.equal(await tab.locator('#instance-detail code').innerText(), command);
  await tab.getByRole('button', { name: 'Copy' }).click();
  await tab.locator('#instance-detail [role=status]').filter({ hasText: /\./ }).waitFor();
  await context.close();
});

test('a comparison has the figures of its JSON', options, async () => {
  const { tab, context } = await open(browser, 'compare', fakePage('comparison'));
  const top = plain(await tab.locator('.figures').innerText());
  assert.ok(
    top.includes('slower') &&
      top.includes('978 µs → 2.65 ms') &&
      top.includes('+170.9 %') &&
      top.includes('+161.7 % to +180.3 %'),
    top
  );
  assert.match(await tab.locator('#ledger svg').getAttribute('aria-label'), /the largest part: waiting for rank 5/);
  assert.match(await tab.locator('#gates').innerText(), /fails/);
  const all = plain(await tab.locator('body').innerText());
  assert.match(all, /run 'tuesday' fails quality gates: clock/);
  assert.match(all, /feed forward\s+271 µs\s+282 µs\s+\+4\.1 %\s+1\.06 µs\s+551 ns\s+−47\.9 %/);
  assert.match(all, /node1\s+node1\s+64\s+\+8\.0 %\s+\+7\.8 %\s+\+5\.1 % to \+10\.5 %\s+\+11\.9 ms/);
  await context.close();
});
