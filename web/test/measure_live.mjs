// node test/measure_live.mjs ADDRESS: keeps the live page of a run open in Chromium until it is stopped. For each picture
// that the browser has drawn it prints a line: the time (Unix, ms), and how many collectives of all ranks it stands on.
import { launch } from './lib/browser.mjs';

// Runs in the page. The answer that a picture was drawn from is the last one fetched before.
function tellPictures() {
  const isTable = (list) => list !== null && typeof list === 'object' && '@columns' in list;
  const rowsOf = (list) => {
    if (!isTable(list)) return list ?? [];
    const { instances, members } = list['@columns'];
    return instances.map((each, i) => ({ instances: each, members: members[i] }));
  };
  const collectivesOf = (text) =>
    rowsOf(JSON.parse(text).report.collectives).reduce((sum, row) => sum + row.instances * row.members.length, 0);

  let answer = null;
  const fetchAsIs = window.fetch;
  window.fetch = async (...question) => {
    const response = await fetchAsIs(...question);
    if (response.ok && String(question[0]).endsWith('/page')) {
      const text = response.text.bind(response);
      response.text = async () => {
        answer = await text();
        return answer;
      };
    }
    return response;
  };

  let map = null;
  new MutationObserver(() => {
    const now = document.querySelector('#heat-overview[data-drawn]');
    if (now === null || now === map || answer === null) return;
    map = now;
    const drawnFrom = answer;
    requestAnimationFrame(() =>
      setTimeout(() => {
        const at = Date.now();
        window.picture(at, collectivesOf(drawnFrom));
      }, 0)
    );
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-drawn'] });
}

const [address] = process.argv.slice(2);
if (!address) {
  process.stderr.write('Usage: measure_live.mjs ADDRESS\n');
  process.exit(2);
}
const browser = await launch();
const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } });
await tab.exposeFunction('picture', (at, collectives) => process.stdout.write(`${at} ${collectives}\n`));
await tab.addInitScript(tellPictures);
await tab.goto(address);
process.once('SIGTERM', async () => {
  await browser.close();
  process.exit(0);
});
