// Pages that lockstep itself wrote, in a real browser. LOCKSTEP_PAGES is a folder of them; each has its JSON next to it,
// as --format json gives it (NAME.html, NAME.json). Screenshots go to LOCKSTEP_SCREENSHOTS.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { objections } from '../lib/axe.mjs';
import { launch, noBrowser, openFile, plain, shots } from '../lib/browser.mjs';

const folder = process.env.LOCKSTEP_PAGES ?? '';
const names = folder && existsSync(folder) ? readdirSync(folder).filter((n) => n.endsWith('.html')) : [];
const options = { skip: noBrowser || (names.length === 0 && 'LOCKSTEP_PAGES names no folder with pages') };
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

for (const name of names) {
  for (const dark of [false, true]) {
    test(`${name}, ${dark ? 'dark' : 'light'}: nothing goes wrong, and axe-core has no objection`, options, async () => {
      const opened = await openFile(browser, join(folder, name), { dark });
      assert.deepEqual(opened.wrong, []);
      assert.deepEqual(await opened.violations(), []);
      assert.equal(await opened.tab.locator('script[data-path]').count(), 0); // A part that no section needs is never read.
      assert.deepEqual(await objections(opened.tab), []);
      const picture = `${name.replace('.html', '')}-${dark ? 'dark' : 'light'}.png`;
      await opened.tab.screenshot({ path: join(shots, picture) });
      await opened.context.close();
    });
  }

  test(`${name}: every notice is there, and nothing that is no word of a person`, options, async () => {
    const json = JSON.parse(readFileSync(join(folder, name.replace('.html', '.json')), 'utf8'));
    const { tab, context } = await openFile(browser, join(folder, name));
    const shown = plain(await tab.textContent('main'));
    assert.doesNotMatch(shown, /\b(undefined|NaN|null|Infinity)\b|\[object /);
    for (const notice of json.notices ?? []) assert.ok(shown.includes((notice.reason ?? notice).slice(0, 60)), notice);
    await context.close();
  });

  test(`${name}: the first sentence of the answer is the largest text`, options, async () => {
    const json = JSON.parse(readFileSync(join(folder, name.replace('.html', '.json')), 'utf8'));
    const { tab, context } = await openFile(browser, join(folder, name));
    const shown = plain(await tab.textContent('.headline .first'));
    const sentence = json.headline?.sentence;
    if (sentence) assert.equal(shown.replaceAll('µs', 'us').replaceAll('−', '-'), sentence);
    const culprit = json.summary?.culprits?.[0];
    if (culprit) assert.match(shown.toLowerCase(), new RegExp(`^${culprit.scope} ${culprit.id}\\b`));
    await context.close();
  });
}

test('the map of a run reads out the rank that the summary names in every step', options, async (t) => {
  const name = 'late.html';
  if (!names.includes(name)) return t.skip(`there is no ${name}`);
  const json = JSON.parse(readFileSync(join(folder, 'late.json'), 'utf8'));
  const { tab, context } = await openFile(browser, join(folder, name));
  const rank = Number(json.summary.culprits[0].id);
  const line = async () => plain((await tab.locator('#heat-overview .readout').textContent()) ?? '');
  await tab.focus('#heat-overview .stage');
  await tab.keyboard.press('ArrowDown');
  for (let i = 0; i < rank; i++) await tab.keyboard.press('ArrowDown');
  for (let step = 0; step < 24; step++) {
    if (step > 0) await tab.keyboard.press('ArrowRight');
    assert.match(await line(), new RegExp(`^rank ${rank} \\(\\S+\\), step ${step}: the others waited about [\\d.]+ ms because`));
  }
  await context.close();
});
