// The page in a real browser: it is there for everybody, whatever the data are, and does nothing else.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { objections } from '../lib/axe.mjs';
import { launch, noBrowser, open } from '../lib/browser.mjs';
import { fakePage, kinds } from '../lib/fake.mjs';
import { hostileNames } from '../lib/names.mjs';

const options = { skip: noBrowser };
let browser;

before(async () => {
  if (!noBrowser) browser = await launch();
});
after(async () => {
  await browser?.close();
});

async function nothingWrong(opened) {
  assert.deepEqual(opened.wrong, []);
  assert.deepEqual(await opened.violations(), []);
}

async function accessible(tab) {
  assert.deepEqual(await objections(tab), []);
}

test('script and style together are at most 150 kB', () => {
  const size = ['page.js', 'page.css'].map((name) => statSync(new URL(`../../dist/${name}`, import.meta.url)).size);
  assert.ok(size[0] + size[1] <= 150000, `${size[0]} + ${size[1]} bytes`);
});

for (const kind of kinds) {
  for (const dark of [false, true]) {
    if (kind === 'large' && dark) continue;
    test(
      `${kind}, ${dark ? 'dark' : 'light'}: no error, no violation of the policy, no request, nothing that axe-core objects to`,
      options,
      async () => {
        const opened = await open(browser, kind, fakePage(kind), { dark });
        await nothingWrong(opened);
        await accessible(opened.tab);
        assert.equal(
          await opened.tab.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth),
          true
        );
        await opened.context.close();
      }
    );
  }
}

test('on a telephone nothing is wider than the screen, and axe-core has no objection', options, async () => {
  for (const kind of ['small', 'host', 'hostile', 'comparison']) {
    const opened = await open(browser, `phone-${kind}`, fakePage(kind), { width: 360, height: 740 });
    assert.equal(await opened.tab.evaluate(() => document.documentElement.scrollWidth), 360, kind);
    await accessible(opened.tab);
    await nothingWrong(opened);
    await opened.context.close();
  }
});

test(
  'axe-core has no objection to opened parts either: tables, numbers behind findings, a definition, a command',
  options,
  async () => {
    const opened = await open(browser, 'opened', fakePage('small'));
    const { tab } = opened;
    await tab.evaluate(() => {
      for (const d of document.querySelectorAll('details')) d.open = true;
    });
    await tab.getByRole('button', { name: 'Show the command that opens this in Perfetto' }).click();
    await tab.waitForTimeout(100);
    await accessible(tab);
    await tab.locator('.figures button.define').first().click();
    await accessible(tab);
    await tab.keyboard.press('Escape');
    assert.equal(await tab.evaluate(() => document.activeElement.classList.contains('define')), true);
    await nothingWrong(opened);
    await opened.context.close();
  }
);

test('hostile names stay text', options, async () => {
  const opened = await open(browser, 'hostile-names', fakePage('hostile'));
  const { tab } = opened;
  assert.equal(await tab.evaluate(() => window.hacked), undefined);
  assert.equal(await tab.locator('main img, main b, main script, main iframe').count(), 0);
  const shown = await tab.locator('#kernels .table').first().locator('tbody td:first-child').allInnerTexts();
  assert.ok(
    shown.includes('<img src=x onerror=alert(1)>') && shown.includes('</script><script>window.hacked=1</script>')
  );
  assert.ok(shown.every((name) => name.length <= 60));
  assert.ok(shown.every((name) => !/[\u0000\u001b\u202a-\u202e\u2066-\u2069]/.test(name)));
  await tab.locator('#kernels button.whole').first().click();
  assert.equal((await tab.locator('dialog.note .note-text').innerText()).length, hostileNames[2].length);
  assert.equal(await tab.title(), hostileNames[0]);
  await nothingWrong(opened);
  await opened.context.close();
});

test('runs that lack something say why and what would fill the place', options, async () => {
  for (const [kind, id, text] of [
    ['single', 'who-is-late', /only one rank/],
    ['no_collectives', 'who-is-late', /no kernel in the traces is known to communicate; those of NCCL/],
    ['no_collectives', 'collectives', /no collectives/],
    ['no_steps', 'where-time-goes', /no steps that all ranks share/],
    ['empty', 'kernels', /no kernels/],
    ['empty', 'quality', /no trace was read/]
  ]) {
    const { tab, context } = await open(browser, `lack-${kind}`, fakePage(kind));
    assert.match(await tab.locator(`#${id}`).innerText(), text);
    assert.equal(await tab.locator('section:has(.empty) svg[height="0"]').count(), 0);
    await context.close();
  }
});

test('without scripts, with damaged data and in an old browser the summary is there', options, async () => {
  const page = fakePage('small');
  const still = await open(browser, 'still', page, { scripts: false });
  assert.match(
    await still.tab.locator('main#static').innerText(),
    /Rank 5 makes the others wait[^]*rank 5 makes the others wait/
  );
  await still.context.close();
  const damaged = await open(browser, 'damaged', page, { html: { blocks: [['id="lockstep-data"', 'AAAA']] }, ready: false });
  await damaged.tab.locator('.failed').waitFor();
  assert.equal(await damaged.tab.locator('main#static').isVisible(), true);
  assert.match(await damaged.tab.locator('.failed').innerText(), /cannot be shown/);
  assert.deepEqual(damaged.wrong, []);
  await damaged.context.close();
  const broken = fakePage('small');
  broken.report.pictures.layers[0].tiles[0].rows += 1;
  const part = await open(browser, 'broken', broken);
  assert.match(await part.tab.locator('#who-is-late').innerText(), /data are damaged/);
  assert.ok((await part.tab.locator('#kernels tbody tr').count()) > 3);
  await part.context.close();
});

test('with scripts the text report is closed at the end', options, async () => {
  const { tab, context } = await open(browser, 'text', fakePage('small'));
  assert.equal(await tab.locator('#static').count(), 0);
  assert.equal(await tab.locator('#as-text details').getAttribute('open'), null);
  assert.equal(await tab.evaluate(() => document.querySelector('main').lastElementChild.id), 'as-text');
  await tab.getByText('Show the text report').click();
  assert.match(await tab.locator('#as-text pre').innerText(), /rank 5 makes the others wait/);
  await context.close();
});

test('the button changes between light and dark, and paper is always light', options, async () => {
  const { tab, context } = await open(browser, 'theme', fakePage('small'), { dark: true });
  const ground = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await tab.getByRole('button', { name: 'Light or dark' }).click();
  assert.notEqual(await ground(), dark);
  await tab.getByRole('button', { name: 'Light or dark' }).click();
  assert.equal(await ground(), dark);
  await tab.emulateMedia({ media: 'print' });
  assert.equal(await ground(), 'rgb(255, 255, 255)');
  assert.equal(await tab.locator('.controls').first().isVisible(), false);
  await context.close();
});

test(
  'before printing the text report and the numbers behind findings open, and close again afterwards',
  options,
  async () => {
    const { tab, context } = await open(browser, 'printing', fakePage('small'));
    const opened = () => tab.locator('details.print-open[open]').count();
    assert.equal(await opened(), 0);
    await tab.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    assert.equal(await opened(), 2);
    await tab.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await opened(), 0);
    await context.close();
  }
);
