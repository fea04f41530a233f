// Screenshots for people to look at, and how long the pictures take. LOCKSTEP_SCREENSHOTS names the folder.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { launch, noBrowser, open, shots } from '../lib/browser.mjs';
import { fakePage } from '../lib/fake.mjs';

const options = { skip: noBrowser };
const kMostBytes = 8e6; // of a page, also of 16,384 ranks and 10,000 steps
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

const looks = [
  ['small', {}],
  ['small', { dark: true }],
  ['host', {}],
  ['host', { dark: true }],
  ['comparison', {}],
  ['comparison', { dark: true }],
  ['small', { width: 360, height: 740 }],
  ['hostile', { width: 360, height: 740, dark: true }],
  ['small', { scripts: false }]
];

for (const [kind, look] of looks) {
  const name = [
    kind,
    look.dark ? 'dark' : 'light',
    look.width ? 'phone' : '',
    look.scripts === false ? 'without-scripts' : ''
  ]
    .filter(Boolean)
    .join('-');
  test(`screenshot ${name}`, options, async (t) => {
    const { tab, context } = await open(browser, `shot-${name}`, fakePage(kind), look);
    await tab.waitForTimeout(200);
    const path = join(shots, `${name}.png`);
    await tab.screenshot({ path, fullPage: true });
    t.diagnostic(path);
    assert.ok(statSync(path).size > 5000);
    await context.close();
  });
}

test('screenshot of paper, with the text report', options, async (t) => {
  const { tab, context } = await open(browser, 'shot-paper', fakePage('small'), { dark: true });
  await tab.emulateMedia({ media: 'print' });
  const path = join(shots, 'small-paper.pdf');
  await tab.pdf({ path, format: 'A4' });
  await tab.screenshot({ path: join(shots, 'small-paper.png'), fullPage: true });
  t.diagnostic(path);
  assert.ok(statSync(path).size > 20000);
  await context.close();
});

for (const kind of ['small', 'host', 'large']) {
  test(`time of the first picture and of zooming, ${kind}`, options, async (t) => {
    const opened = await open(browser, `time-${kind}`, fakePage(kind));
    const { tab } = opened;
    const first = await tab.evaluate(() => performance.getEntriesByName('lockstep-first-picture')[0].startTime);
    await tab.focus('#heat-overview .stage');
    const zooms = [];
    for (const key of ['+', '+', '+', '-', '-', '-']) {
      await tab.keyboard.press(key);
      zooms.push(Number(await tab.locator('#heat-overview').getAttribute('data-drawn')));
    }
    const bytes = statSync(opened.file).size;
    assert.ok(bytes <= kMostBytes, `${kind}: ${bytes} bytes`);
    t.diagnostic(
      `${kind}: file ${(bytes / 1e6).toFixed(2)} MB, first picture after ${first.toFixed(0)} ms, a zoom step takes up to ${Math.max(...zooms).toFixed(1)} ms`
    );
    assert.ok(first > 0 && zooms.every((ms) => ms > 0));
    await opened.context.close();
  });
}
