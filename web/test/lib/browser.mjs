// Opens pages in Chromium, offline, and notes everything that must not happen: errors, violations of the policy, requests.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { htmlOf } from './html.mjs';

const kChromium = process.env.CHROMIUM ?? '/usr/bin/chromium';

// A reason to skip the tests that need a browser, or false.
export const noBrowser = existsSync(kChromium)
  ? false
  : `THERE IS NO BROWSER AT ${kChromium}: THE PAGE IS NOT TESTED. Install Chromium, or set CHROMIUM to its path.`;
if (noBrowser) process.stderr.write(`${noBrowser}\n`);

// A folder that is gone when the tests of this process have ended.
function temporary(prefix) {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

// Set LOCKSTEP_SCREENSHOTS to keep and look at them.
export const shots = process.env.LOCKSTEP_SCREENSHOTS ?? temporary('lockstep-shots-');
mkdirSync(shots, { recursive: true });
const files = temporary('lockstep-pages-');

export async function launch() {
  return chromium.launch({ executablePath: kChromium, args: ['--no-sandbox', '--disable-gpu'] });
}

export function fileOf(name, page, options) {
  const file = join(files, `${name}.html`);
  writeFileSync(file, htmlOf(page, { text: 'rank 5 makes the others wait\n', ...options }));
  return file;
}

export function open(browser, name, page, options = {}) {
  return openFile(browser, fileOf(name, page, options.html ?? {}), options);
}

export async function openFile(
  browser,
  file,
  { dark = false, width = 1280, height = 900, scripts = true, ready = true } = {}
) {
  const context = await browser.newContext({
    offline: true,
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height },
    javaScriptEnabled: scripts,
    permissions: ['clipboard-read', 'clipboard-write']
  });
  const tab = await context.newPage();
  const wrong = [];
  tab.on('console', (m) => {
    if (['error', 'warning'].includes(m.type())) wrong.push(`console: ${m.text()}`);
  });
  tab.on('pageerror', (e) => wrong.push(`error: ${e.message}`));
  tab.on('dialog', (d) => {
    wrong.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  const own = pathToFileURL(file).href;
  tab.on('request', (r) => {
    if (r.url() !== own) wrong.push(`request: ${r.url()}`);
  });
  if (scripts) {
    await tab.addInitScript(() => {
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (e) =>
        window.violations.push(`${e.violatedDirective} ${e.blockedURI}`)
      );
    });
  }
  await tab.goto(own);
  if (scripts && ready)
    await tab.waitForFunction(() => document.documentElement.dataset.ready === '1', null, { timeout: 60000 });
  return { tab, context, wrong, file, violations: () => (scripts ? tab.evaluate(() => window.violations) : []) };
}

export const plain = (text) => text.replace(/\u00a0/g, ' ');
