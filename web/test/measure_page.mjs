// npm run measure -- PAGE.html [TIMES]: how long a page that lockstep wrote takes to its first picture and until all of it
// is there, as wall time and as processor time of the browser's main thread, how long a zoom step takes, and how much
// memory of JavaScript is in use at the end. First it checks that the map and the tables are there.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './lib/browser.mjs';

const kCategories = ['blink.user_timing', 'toplevel'];
const kKeys = ['+', '+', '+', '-', '-', '-'];

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function verify(tab) {
  const cells = await tab.locator('#heat-overview canvas').first().getAttribute('aria-label');
  if (!/^Heat map of .* cells/.test(cells ?? '')) throw new Error(`The page has no map of ranks and steps: ${cells}`);
  if ((await tab.locator('#kernels tbody tr').count()) === 0) throw new Error('The page shows no kernel.');
  const left = await tab.locator('script[data-path]').count();
  if (left > 0) throw new Error(`${left} parts of the data were not read.`);
}

// Processor time of the main thread, in ms, from the begin of the page to a mark.
function processorMs(trace, name) {
  const mark = trace.traceEvents.find((event) => event.name === name);
  const own = trace.traceEvents.filter((event) => event.pid === mark.pid && event.tid === mark.tid && event.tts > 0);
  const begin = own.filter((event) => event.name === 'navigationStart').at(-1) ?? own[0];
  const first = own.filter((event) => event.ts >= begin.ts).sort((a, b) => a.ts - b.ts)[0];
  return (mark.tts - first.tts) / 1000;
}

async function zoomMs(tab) {
  await tab.focus('#heat-overview .stage');
  let most = 0;
  for (const key of kKeys) {
    await tab.keyboard.press(key);
    most = Math.max(most, Number(await tab.locator('#heat-overview').getAttribute('data-drawn')));
  }
  return most;
}

async function measure(file) {
  const browser = await launch();
  const tab = await (await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } })).newPage();
  await browser.startTracing(tab, { categories: kCategories });
  await tab.goto(file);
  await tab.waitForFunction(() => document.documentElement.dataset.ready === '1', null, { timeout: 120000 });
  const [first, all] = await tab.evaluate(() => [
    performance.getEntriesByName('lockstep-first-picture')[0].startTime,
    performance.mark('measured-all').startTime
  ]);
  const trace = JSON.parse(String(await browser.stopTracing()));
  await verify(tab);
  const cdp = await tab.context().newCDPSession(tab);
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  const zoom = await zoomMs(tab);
  await browser.close();
  const figures = { first, all, zoom, memory: usedSize / 1e6 };
  return { ...figures, firstCpu: processorMs(trace, 'lockstep-first-picture'), allCpu: processorMs(trace, 'measured-all') };
}

const [path, times = '5'] = process.argv.slice(2);
if (!path) {
  process.stderr.write('Usage: measure_page.mjs PAGE.html [TIMES]\n');
  process.exit(2);
}
const runs = [];
for (let i = 0; i < Number(times); i++) runs.push(await measure(pathToFileURL(resolve(path)).href));
const told = (key, digits = 0) =>
  `${median(runs.map((run) => run[key])).toFixed(digits)} (${runs.map((run) => run[key].toFixed(digits)).join(', ')})`;
process.stdout.write(
  `${path}, ${(readFileSync(path).length / 1e6).toFixed(2)} MB, median and each of ${runs.length} runs
first picture: ${told('first')} ms, main thread ${told('firstCpu')} ms of processor
whole page: ${told('all')} ms, main thread ${told('allCpu')} ms of processor
a zoom step: at most ${told('zoom', 1)} ms
memory of JavaScript: ${told('memory', 1)} MB
`
);
