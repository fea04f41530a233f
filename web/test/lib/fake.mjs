// Made-up pages: jobs of several sizes, hostile names, and runs that lack something.
import { fakeComparison } from './fake_comparison.mjs';
import { pageOf } from './fake_report.mjs';
import { hostileNames } from './names.mjs';
import { random } from './random.mjs';

const jobs = {
  small: { ranks: 8, steps: 24, culprits: [5], lateness: 400000 },
  host: { ranks: 1024, steps: 50, culprits: [40, 41, 42, 43, 44, 45, 46, 47], lateness: 900000, burst: [30, 33, 700] },
  large: { ranks: 16384, steps: 10000, culprits: [5000], lateness: 900000, burst: [7000, 7060, 12000] },
  single: { ranks: 1, steps: 24, culprits: [], lateness: 0 },
  hostile: {
    ranks: 8,
    steps: 24,
    culprits: [5],
    lateness: 400000,
    kernels: hostileNames,
    hosts: ['<b>evil</b>', '\u202eright', `h${'o'.repeat(3000)}st`, 'a & b']
  }
};

export const kinds = [...Object.keys(jobs), 'no_steps', 'no_collectives', 'empty', 'comparison'];

export function fakePage(kind, seed = 7) {
  if (kind === 'empty')
    return {
      schema: 'lockstep.page/1',
      kind: 'report',
      title: 'empty',
      tool: 'lockstep 0.1.0',
      headline: ['The run is open and has no data yet.'],
      report: {},
      definitions: {}
    };
  if (kind === 'comparison') return fakeComparison(random(seed));
  const page = pageOf(jobs[kind] ?? jobs.small, random(seed));
  const { report } = page;
  if (kind === 'single') {
    report.pictures.layers = [];
    report.summary.culprits = [];
    page.headline = ['One rank alone has nobody to wait for.'];
  }
  if (kind === 'no_steps') {
    Object.assign(report.profile, { steps: [], by_rank: [] });
    report.summary.step_ns = null;
    report.pictures.columns = {
      kind: 'time',
      each: 5000000,
      starts: report.pictures.columns.starts.map((step) => 5000000 * step)
    };
  }
  if (kind === 'no_collectives') {
    report.pictures.layers = [];
    report.pictures.instances = [];
    report.collectives = [];
    report.summary.culprits = [];
    page.headline = ['The traces have no collectives.'];
  }
  return page;
}
