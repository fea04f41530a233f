// What axe-core objects to in a page, as sentences.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function objections(tab) {
  await tab.evaluate(source);
  const result = await tab.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return result.violations.map(
    (v) =>
      `${v.id}: ${v.nodes
        .slice(0, 3)
        .map((n) => `${n.target} ${n.failureSummary ?? ''}`)
        .join('; ')}`
  );
}
