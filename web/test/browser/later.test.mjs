// The first picture waits for nothing that it does not show: what tables need is decoded after it, and all of it is shown.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { fileOf, launch, noBrowser, open } from '../lib/browser.mjs';
import { fakePage } from '../lib/fake.mjs';
import { blocksOf } from '../lib/html.mjs';
import { loadPure } from '../lib/pure.mjs';

const { columns } = await loadPure();
const options = { skip: noBrowser };
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

// Opens a page and tells in which order data were decoded and pictures drawn: 'decoded', 'picture'.
async function orderOf(name, page) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
  const tab = await context.newPage();
  await tab.addInitScript(() => {
    window.order = [];
    const Inflate = window.DecompressionStream;
    window.DecompressionStream = class extends Inflate {
      get readable() {
        window.order.push('decoded');
        return super.readable;
      }
    };
    const mark = performance.mark.bind(performance);
    performance.mark = (...args) => {
      if (args[0] === 'lockstep-first-picture') window.order.push('picture');
      return mark(...args);
    };
  });
  await tab.goto(`file://${fileOf(name, page)}`);
  await tab.waitForFunction(() => document.documentElement.dataset.ready === '1', null, { timeout: 60000 });
  return { order: await tab.evaluate(() => window.order), context };
}

for (const kind of ['small', 'host', 'large', 'no_steps']) {
  test(`of ${kind} only the first part is decoded before the first picture, and all others after it`, options, async () => {
    const page = fakePage(kind);
    const { order, context } = await orderOf(`order-${kind}`, page);
    const before = order.indexOf('picture');
    // Without a number of steps in the summary, the sentence of what was measured counts those of the profile.
    assert.equal(before, kind === 'no_steps' ? 2 : 1, order.join(' '));
    assert.equal(order.filter((what) => what === 'decoded').length, blocksOf(page).length);
    await context.close();
  });
}

const rowsIn = (tab, section) =>
  tab.locator(`#${section} .table`).evaluateAll((tables) =>
    tables.map((table) => {
      const counted = table.querySelector('.filter .quiet')?.textContent;
      return counted ? Number(counted.replace(/[^\d]/g, '')) : table.querySelectorAll('tbody tr').length;
    })
  );

for (const kind of ['small', 'host']) {
  test(`every table of ${kind} has all of its rows`, options, async () => {
    const page = fakePage(kind);
    const { report } = columns.expandColumns(structuredClone(page));
    const { tab, context } = await open(browser, `rows-${kind}`, page);
    await tab.getByText('Parts by rank as a table').click();
    await tab.locator('#where-time-goes .table').waitFor();
    assert.deepEqual(await rowsIn(tab, 'where-time-goes'), [report.profile.by_rank.length]);
    assert.deepEqual(await rowsIn(tab, 'single-collectives'), [report.pictures.instances.length]);
    assert.deepEqual(await rowsIn(tab, 'tails'), [report.tails.length]);
    assert.deepEqual(await rowsIn(tab, 'kernels'), [report.profile.kernels.length, report.families.length]);
    assert.deepEqual(await rowsIn(tab, 'collectives'), [report.collectives.length]);
    assert.equal(await tab.locator('#findings li.finding').count(), report.findings.length);
    const { gates, files } = report.quality;
    const notUsed = files.filter((file) => file.status !== 'used');
    const expected = [gates, report.clock.hosts, notUsed, report.ranks].map((rows) => rows.length);
    assert.deepEqual(await rowsIn(tab, 'quality'), expected.filter((rows) => rows > 0));
    await context.close();
  });
}

test('a page whose later data are damaged shows its first picture, and says which parts cannot be shown', options, async () => {
  const page = fakePage('small');
  const blocks = blocksOf(page).map(([name, data]) => [name, name.includes('report.profile') ? data.slice(0, 400) : data]);
  const { tab, context, wrong } = await open(browser, 'later-damaged', page, { html: { blocks } });
  await tab.locator('#heat-overview canvas').first().waitFor();
  for (const section of ['where-time-goes', 'kernels']) {
    assert.match(await tab.locator(`#${section}`).innerText(), /cannot be shown, because its data are damaged: They are cut short or were changed\./);
  }
  assert.deepEqual(await rowsIn(tab, 'collectives'), [columns.expandColumns(page.report.collectives).length]);
  assert.deepEqual(wrong, []);
  await context.close();
});
