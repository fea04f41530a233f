// Makes the HTML file of a page from its JSON, the same way as the C++ side does. For tests and for work on the page.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deflateRawSync } from 'node:zlib';

const kDist = new URL('../../dist/', import.meta.url);

export const escapeHtml = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const sha256 = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export const packed = (page) => deflateRawSync(Buffer.from(JSON.stringify(page)), { level: 9 }).toString('base64');

// Where in a page the parts are that its first picture does not show, as in web/answers/page_data.cc.
export const laterPaths = ['ranks', 'quality', 'families', 'collectives', 'overlap', 'tails', 'clock.hosts', 'profile']
  .concat(['pictures.pace', 'pictures.instances', 'pictures.tails'])
  .map((path) => `report.${path}`);

// The page without these parts, and the parts by their path.
export function takenApart(page) {
  const first = structuredClone(page);
  const parts = new Map();
  for (const path of laterPaths) {
    const keys = path.split('.');
    const last = keys.pop();
    const owner = keys.reduce((object, key) => object?.[key], first);
    if (owner?.[last] === undefined) continue;
    parts.set(path, owner[last]);
    delete owner[last];
  }
  return { first, parts };
}

// The blocks of data of a page: the attribute of each, and its base64.
export function blocksOf(page) {
  const { first, parts } = takenApart(page);
  const later = [...parts].map(([path, part]) => [`data-path="${path}"`, packed(part)]);
  return [['id="lockstep-data"', packed(first)], ...later];
}

export function htmlOf(page, { text = '', blocks = blocksOf(page) } = {}) {
  const data = blocks.map(([name, bytes]) => `<script type="application/octet-stream" ${name}>${bytes}</script>\n`);
  const script = readFileSync(new URL('page.js', kDist), 'utf8');
  const style = readFileSync(new URL('page.css', kDist), 'utf8');
  if (/<\/(script|style)/i.test(script + style)) throw new Error('The script or the style would end its own element.');
  const csp = `default-src 'none'; script-src ${sha256(script)}; style-src ${sha256(style)}; img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'`;
  const title = escapeHtml(page.title);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<title>${title}</title><style>${style}</style></head><body><div id="app"></div><main id="static"><h1>${title}</h1>${(page.headline ?? []).map((s) => `<p>${escapeHtml(s)}</p>`).join('')}<pre>${escapeHtml(text)}</pre></main>
${data[0]}<script>${script}</script>
${data.slice(1).join('')}</body></html>
`;
}
