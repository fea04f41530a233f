// npm run sample -- PAGE.json OUT.html [REPORT.txt]: the HTML file of a page.
// npm run sample -- --fake KIND OUT.html: one of the made-up pages of test/lib/fake.mjs.
import { readFileSync, writeFileSync } from 'node:fs';
import { fakePage, kinds } from './lib/fake.mjs';
import { htmlOf } from './lib/html.mjs';

const [first, second, third] = process.argv.slice(2);
if (first === '--fake' && kinds.includes(second) && third) {
  writeFileSync(third, htmlOf(fakePage(second), { text: 'The text report of a made-up run.\n' }));
} else if (first && second && first !== '--fake') {
  const text = third ? readFileSync(third, 'utf8') : '';
  writeFileSync(second, htmlOf(JSON.parse(readFileSync(first, 'utf8')), { text }));
} else {
  process.stderr.write(
    `Usage: make_page.mjs PAGE.json OUT.html [REPORT.txt]\n       make_page.mjs --fake KIND OUT.html\nKinds: ${kinds.join(', ')}\n`
  );
  process.exit(2);
}
