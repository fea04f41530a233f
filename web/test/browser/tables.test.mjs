// Tables in a real browser: what does not fit says so, and what the text above a table explains can be seen.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, noBrowser, open } from '../lib/browser.mjs';
import { fakePage } from '../lib/fake.mjs';

const options = { skip: noBrowser };
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

const tables = (tab) =>
  tab.locator('.table').evaluateAll((all) =>
    all.map((table) => {
      const box = table.querySelector('.table-box');
      const shadow = getComputedStyle(table.querySelector('.table-frame'), '::after');
      return {
        name: box.getAttribute('aria-label'),
        cut: box.scrollWidth > box.clientWidth + 1,
        shadow: shadow.content !== 'none' && shadow.width !== 'auto',
        button: table.querySelector('.more-columns').offsetWidth > 0
      };
    })
  );

for (const [kind, width] of [
  ['small', 1280],
  ['host', 1280],
  ['hostile', 360],
  ['comparison', 1280],
  ['comparison', 360]
]) {
  test(`a table that is cut at the right shows it, ${kind}, ${width} px`, options, async () => {
    const { tab, context } = await open(browser, `cut-${kind}-${width}`, fakePage(kind), { width });
    await tab.waitForTimeout(200);
    const found = await tables(tab);
    assert.ok(found.length > 3);
    for (const table of found) assert.deepEqual([table.shadow, table.button], [table.cut, table.cut], table.name);
    if (width < 500) assert.ok(found.some((table) => table.cut));
    await context.close();
  });
}

test('the button scrolls to the columns that are cut, and is gone when there are no more', options, async () => {
  const { tab, context } = await open(browser, 'sideways', fakePage('small'), { width: 600 });
  const table = tab.locator('#collectives .table');
  const more = table.getByRole('button', { name: 'More columns →' });
  for (let i = 0; i < 8 && (await more.isVisible()); i++) {
    await more.click();
    await tab.waitForTimeout(600);
  }
  assert.equal(await more.isVisible(), false);
  const end = await table.locator('.table-box').evaluate((box) => box.scrollWidth - box.clientWidth - box.scrollLeft);
  assert.ok(end <= 1);
  assert.match(await table.locator('.table-frame').getAttribute('class'), /cut-left/);
  await context.close();
});

test('the columns that the text above a table explains are seen whole at 1280 px', options, async () => {
  for (const [kind, section, labels] of [
    ['small', 'kernels', ['total', 'median', 'p99', 'longest']],
    ['small', 'collectives', ['verdict', 'waiting']],
    ['comparison', 'kernels', ['change a step', 'verdict']],
    ['comparison', 'ranks', ['caused waiting a step, base', 'caused waiting a step, new', 'change']]
  ]) {
    const { tab, context } = await open(browser, `seen-${kind}`, fakePage(kind));
    const seen = await tab.locator(`#${section} .table`).first().evaluate((table) => {
      const edge = table.querySelector('.table-box').getBoundingClientRect().right;
      const heads = [...table.querySelectorAll('th')].filter((th) => th.getBoundingClientRect().right <= edge + 1);
      return heads.map((th) => th.querySelector('.sort').firstChild.textContent);
    });
    for (const label of labels) assert.ok(seen.includes(label), `${section} of ${kind}: ${label} is not among ${seen}`);
    await context.close();
  }
});
