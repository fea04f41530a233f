// A live page in a real browser, of which one is killed in the middle. LOCKSTEP_LIVE is the address of the page of a run
// that grows; once the file LOCKSTEP_LIVE_SEEN is there, whoever made the run grow ends it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import test from 'node:test';
import { chromium } from 'playwright-core';
import { noBrowser, plain } from '../lib/browser.mjs';

const address = process.env.LOCKSTEP_LIVE;
const options = { skip: noBrowser || (!address && 'LOCKSTEP_LIVE names no page of a run that grows') };
const patience = { timeout: 100000 };

async function start() {
  const server = await chromium.launchServer({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu']
  });
  const browser = await chromium.connect(server.wsEndpoint());
  const tab = await browser.newPage();
  const wrong = [];
  tab.on('pageerror', (error) => wrong.push(error.message));
  await tab.goto(address);
  return { server, browser, tab, wrong };
}

function statusSays(tab, text) {
  return tab.waitForFunction((part) => document.querySelector('.live-status')?.textContent?.includes(part), text, patience);
}

// Until the page has drawn the run once more.
async function nextPicture(tab) {
  await tab.evaluate(() => {
    window.before = document.querySelector('main');
  });
  await tab.waitForFunction(() => document.querySelector('main > section') && document.querySelector('main') !== window.before, null, patience);
}

test('what is out of sight keeps its last state until somebody scrolls there', options, async () => {
  const { server, browser, tab, wrong } = await start();
  await statusSays(tab, 'Growing');
  const marked = () => tab.evaluate(() => document.querySelector('#quality .section-body > .seen-before') !== null);
  await tab.evaluate(() => document.querySelector('#quality .section-body').firstElementChild.classList.add('seen-before'));
  await nextPicture(tab);
  assert.ok(await marked());
  await tab.evaluate(() => document.getElementById('quality').scrollIntoView());
  await tab.waitForFunction(() => document.querySelector('#quality .seen-before') === null, null, patience);
  await tab.waitForFunction(() => document.querySelector('#quality .section-body').childElementCount > 0, null, patience);
  assert.deepEqual(wrong, []);
  await browser.close();
  await server.close();
});

test('a browser that is killed harms no other page, which shows the run until it is complete', options, async () => {
  const first = await start();
  await statusSays(first.tab, 'Growing');
  await nextPicture(first.tab);
  const died = new Promise((resolve) => {
    first.server.process().once('exit', resolve);
  });
  first.server.process().kill('SIGKILL');
  await died;

  const second = await start();
  await statusSays(second.tab, 'Growing');
  await nextPicture(second.tab);
  writeFileSync(process.env.LOCKSTEP_LIVE_SEEN, '');
  await statusSays(second.tab, 'Complete');
  const answer = await fetch(new URL(`/api/v1/runs/live/page`, address));
  const page = await answer.json();
  const shown = plain(await second.tab.textContent('main'));
  for (const sentence of page.headline) assert.ok(shown.includes(plain(sentence)), sentence);
  assert.deepEqual(second.wrong, []);
  await second.browser.close();
  await second.server.close();
});
