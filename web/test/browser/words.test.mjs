// What the page says in a real browser: units, commands and names that can be understood without the command line.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { launch, noBrowser, open, plain } from '../lib/browser.mjs';
import { fakePage } from '../lib/fake.mjs';

const options = { skip: noBrowser };
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

const shown = async (tab, selector) => plain(await tab.locator(selector).first().innerText());

test('the first screen says that waiting is summed, and the card when the worst wait was', options, async () => {
  const { tab, context } = await open(browser, 'summed', fakePage('small'));
  assert.match(await shown(tab, '.figures'), /of all waiting, summed over all ranks that wait/);
  assert.match(await shown(tab, '.culprit-card'), /worst wait\s+(?:\?\s+)?2026-02-01 00:00:00\.029977 UTC, 29\.8 ms after the run's start/);
  await context.close();
});

test('advice is a whole command, and times have the units of the page', options, async () => {
  const page = fakePage('small');
  page.headline.push('What would help: --view quality shows what the traces lack.');
  const { tab, context } = await open(browser, 'advice', page);
  assert.match(await shown(tab, '.headline'), /What would help: lockstep analyze TRACES --view quality shows/);
  assert.match(await shown(tab, '.headline'), /TRACES is the folder with the traces/);
  const findings = await shown(tab, '#findings');
  assert.match(findings, /Next: lockstep analyze TRACES --view idle,host\./);
  assert.match(findings, /for 10 µs and more/);
  assert.doesNotMatch(plain(await tab.locator('main').innerText()), /\d us\b|(?<!analyze TRACES )--view/);
  await context.close();
});

test('a title with marks of direction is shown by their codes', options, async () => {
  const { tab, context } = await open(browser, 'reversed', { ...fakePage('small'), title: 'x\u202erev' });
  assert.match(await shown(tab, 'header h1'), /^x⟨U\+202E⟩rev/);
  await context.close();
});

test('a comparison names who is newly late, and says over whom each time is', options, async () => {
  const { tab, context } = await open(browser, 'late', fakePage('comparison'));
  assert.match(await shown(tab, '.figures'), /newly makes others wait\s+(?:\?\s+)?rank 5/);
  const late = await shown(tab, '#late');
  assert.match(late, /Rank 5 on node0 makes others wait now, and did not before/);
  assert.match(late, /the mean rank waits 1\.45 ms a step for it \(exposed\)/);
  assert.match(await shown(tab, '#ranks .lead'), /summed over all ranks that waited/);
  await context.close();
});

test('the intervals of parts of a step are differences in time, in one unit of measure', options, async () => {
  const page = fakePage('comparison');
  Object.assign(page.comparison.metrics[1], { interval: [-574000, 471000], interval_ratio: [-9.799, 9.8], change_ratio: -0.868 });
  const { tab, context } = await open(browser, 'intervals', page);
  const table = await shown(tab, '#step-time table');
  assert.match(table, /step time\s.*\+161\.7 % to \+180\.3 %/);
  assert.match(table, /compute\s.*−574 µs to \+471 µs/);
  assert.doesNotMatch(table, /−979/);
  await context.close();
});

test('each part of the time looks different in the legend', options, async () => {
  const { tab, context } = await open(browser, 'parts', fakePage('small'));
  for (const dark of [false, true]) {
    if (dark) await tab.getByRole('button', { name: 'Light or dark' }).click();
    const looks = await tab.locator('#where-time-goes .part-key .swatch').evaluateAll((all) =>
      all.map((swatch) => {
        const { backgroundColor, backgroundImage } = getComputedStyle(swatch);
        return `${backgroundColor} ${backgroundImage}`;
      })
    );
    assert.ok(looks.length >= 6);
    assert.equal(new Set(looks).size, looks.length, looks.join('\n'));
  }
  await context.close();
});
