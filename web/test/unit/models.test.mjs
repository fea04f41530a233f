// Decoding, tables, parts, collectives, tails, and the ledger.
import assert from 'node:assert/strict';
import test from 'node:test';
import { asObjects, byColumns } from '../lib/by_columns.mjs';
import { fakePage, kinds } from '../lib/fake.mjs';
import { packed, takenApart } from '../lib/html.mjs';
import { bucketsOf } from '../lib/pictures.mjs';
import { loadPure } from '../lib/pure.mjs';
import { random } from '../lib/random.mjs';

const { columns, decode, laterParts, pictures, rows, parts, instance, tail, waterfall, words } = await loadPure();

test('a page decodes to what was encoded', async () => {
  for (const kind of kinds.filter((k) => k !== 'large')) {
    const page = fakePage(kind);
    assert.deepEqual(
      asObjects(await decode.decodePage(packed(page))),
      asObjects(columns.expandColumns(JSON.parse(JSON.stringify(page))))
    );
  }
});

test('a page in parts is the whole page once its parts are loaded, each decoded once and only when it is asked for', async () => {
  for (const kind of ['small', 'host', 'no_collectives', 'empty']) {
    const whole = fakePage(kind);
    const { first, parts } = takenApart(whole);
    const asked = [];
    const page = await decode.decodePage(packed(first));
    const later = new laterParts.LaterParts(page, async (path) => {
      asked.push(path);
      return parts.has(path) ? packed(parts.get(path)) : null;
    });
    assert.deepEqual(asked, []);
    const paths = ['report.ranks', ...parts.keys(), ...parts.keys()];
    await later.load(paths);
    assert.deepEqual(asked, [...new Set(paths)]);
    assert.deepEqual(asObjects(page), asObjects(columns.expandColumns(whole)));
  }
});

test('a damaged part is refused each time, and the others are read all the same', async () => {
  const { first, parts } = takenApart(fakePage('small'));
  const page = await decode.decodePage(packed(first));
  const later = new laterParts.LaterParts(page, async (path) =>
    path === 'report.profile' ? packed(parts.get(path)).slice(0, 400) : packed(parts.get(path))
  );
  await assert.rejects(later.load(['report.profile', 'report.collectives']));
  await assert.rejects(later.load(['report.profile']));
  await later.load(['report.collectives']);
  assert.deepEqual(asObjects(page.report.collectives), asObjects(columns.expandColumns(parts.get('report.collectives'))));
});

test('lists by column become the objects that they stand for, nested ones too', () => {
  const list = Array.from({ length: 70 }, (_, i) => ({
    a: i,
    inner: { b: `x${i}` },
    list: Array.from({ length: 66 }, (_, k) => ({ k })),
    none: null
  }));
  const stored = byColumns({ list });
  assert.ok(stored.list['@columns']);
  const rows = columns.expandColumns(JSON.parse(JSON.stringify(stored))).list;
  assert.equal(rows.length, 70);
  assert.equal(rows[69].list[65].k, 65);
  assert.deepEqual(asObjects(rows), list);
  assert.deepEqual(asObjects(columns.expandColumns({ '@columns': {}, '@length': 2 })), [{}, {}]);
});

test('a row reads its columns only when it is asked, and has null where a column is shorter', () => {
  let read = 0;
  const seldom = [{ '@columns': { k: [7] }, '@length': 1 }];
  const watched = new Proxy(seldom, {
    get(list, key) {
      if (key === '0') read += 1;
      return list[key];
    }
  });
  const rows = columns.expandColumns({ '@columns': { a: ['x', 'y'], seldom: watched }, '@length': 2 });
  assert.deepEqual([rows[0].a, rows[1].a, read], ['x', 'y', 0]);
  assert.equal(rows[0].seldom[0].k, 7);
  assert.ok(read > 0);
  assert.equal(rows[1].seldom, null);
});

test('data of another format are refused with a sentence', async () => {
  await assert.rejects(decode.decodePage(packed({ schema: 'lockstep.page/2' })), /reads "lockstep\.page\/1"/);
  await assert.rejects(decode.decodePage(packed([1])), /not an object/);
  await assert.rejects(decode.decodePage('%%%'));
  await assert.rejects(decode.decodePage(packed(fakePage('small')).slice(0, 4000)));
});

test('sorting keeps equal rows in order and puts unknown values last', () => {
  const list = [{ v: 3, i: 0 }, { v: null, i: 1 }, { v: 1, i: 2 }, { v: 3, i: 3 }, { i: 4 }];
  assert.deepEqual(
    rows.sortRows(list, (r) => r.v, 'descending').map((r) => r.i),
    [0, 3, 2, 1, 4]
  );
  assert.deepEqual(
    rows.sortRows(list, (r) => r.v, 'ascending').map((r) => r.i),
    [2, 0, 3, 1, 4]
  );
});

test('pages of a table hold every row once', () => {
  const list = [...Array(523).keys()];
  const pages = rows.pagesOf(list.length, 50);
  assert.deepEqual(
    [...Array(pages).keys()].flatMap((p) => rows.rowsOfPage(list, p, 50)),
    list
  );
  assert.equal(rows.pagesOf(0, 50), 1);
});

test('the bars of ranks add up to the time of a step', () => {
  const profile = columns.expandColumns(JSON.parse(JSON.stringify(fakePage('host').report.profile)));
  const bars = parts.rankBars(profile, [{ ranks: [40, 41] }]);
  assert.equal(bars.length, 1024);
  bars.forEach((bar, i) =>
    assert.ok(Math.abs(bar.total - profile.by_rank[i].span_total_ns / profile.steps.length) < 1)
  );
  assert.deepEqual(
    bars.filter((b) => b.culprit).map((b) => b.rank),
    [40, 41]
  );
  const chosen = parts.chosenBars(bars);
  assert.ok(chosen.length <= 64 && chosen.some((b) => b.rank === 40) && chosen[0].label === 'mean rank');
});

test('columns that neighbours share have their mean, and the last one too', () => {
  const list = Array.from({ length: 10 }, (_, i) => ({ x: i, parts: parts.kParts.map((_, p) => i + p) }));
  const stack = parts.stackOf(list, 4);
  assert.deepEqual(stack.x, [0, 3, 6, 9]);
  assert.equal(stack.parts[0][0], 1);
  assert.equal(stack.parts[3][2], 11);
});

test('hidden communication is what is not exposed', () => {
  assert.deepEqual(
    parts.hiddenOf([
      { comm_ns: 100, exposed_comm_ns: 60 },
      { comm_ns: 50, exposed_comm_ns: 50 }
    ]),
    { comm: 150, hidden: 40, exposed: 110 }
  );
  assert.equal(parts.hiddenOf([]), null);
  const kernels = [
    { category: 'communication', total_ns: 200, instances: 10, step_instances: 5 },
    { category: 'compute', total_ns: 999, instances: 1 }
  ];
  const profile = { kernels, by_rank: [{ exposed_wait_ns: 20, exposed_transfer_ns: 30, exposed_unresolved_ns: 10 }] };
  assert.deepEqual(parts.hiddenOfKernels(profile), { comm: 100, hidden: 40, exposed: 60 });
  assert.equal(parts.hiddenOfKernels({ kernels, by_rank: [] }), null);
});

test('members are in the order in which they arrived, and no wait is longer than the bar', () => {
  const instances = pictures.instancesOf(fakePage('small').report);
  assert.equal(instances.length, 50);
  instances.forEach((one, k) => assert.ok(k === 0 || one.wait_total_ns <= instances[k - 1].wait_total_ns));
  for (const i of instances) {
    const bars = instance.memberBars(i);
    assert.equal(bars.length, i.members.length);
    bars.forEach((b, k) =>
      assert.ok((k === 0 || bars[k - 1].start <= b.start) && b.start <= b.waitEnd && b.waitEnd <= b.end)
    );
    assert.equal(bars[bars.length - 1].rank, i.last_rank);
    assert.equal(bars[bars.length - 1].start, instance.lastArrival(i.members));
  }
});

test('the command opens the collective with a tenth of its length around it', () => {
  assert.equal(
    instance.perfettoCommand({ start_ns: 1000, end_ns: 2000 }),
    'lockstep export RUN --to perfetto --time 900ns..2100ns --output FILE.pftrace'
  );
  assert.match(instance.perfettoCommand({ start_ns: 10, end_ns: 2000 }), /--time 0ns\.\.2199ns/);
});

test('the distribution of a tail falls from all to none and holds the true share', () => {
  const r = random(21);
  for (let i = 0; i < 20; i++) {
    const buckets = bucketsOf(r, 400, 10 ** r.between(3, 6), 0.6);
    const total = buckets.reduce((n, b) => n + b[2], 0);
    const bands = tail.bandsOf([...buckets].reverse());
    assert.equal(bands[0].high, 1);
    assert.ok(Math.abs(bands[bands.length - 1].low) < 1e-12);
    for (const [, upper] of buckets) {
      const above = buckets.filter((b) => b[0] >= upper).reduce((n, b) => n + b[2], 0) / total;
      const found = tail.shareAbove(bands, upper);
      assert.ok(found.low <= above + 1e-9 && above <= found.high + 1e-9);
    }
  }
  assert.deepEqual(tail.bandsOf([]), []);
});

test('the waterfall leads from the base to the new step exactly', () => {
  const ledger = fakePage('comparison').comparison.ledger;
  const fall = waterfall.waterfallOf(ledger);
  assert.equal(
    fall.base,
    ledger.reduce((n, l) => n + l.base_ns_per_step, 0)
  );
  assert.equal(
    fall.next,
    ledger.reduce((n, l) => n + l.new_ns_per_step, 0)
  );
  assert.equal(fall.rungs[0].from, fall.base);
  assert.equal(fall.rungs[fall.rungs.length - 1].to, fall.next);
  fall.rungs.forEach((rung, i) => i > 0 && assert.equal(rung.from, fall.rungs[i - 1].to));
  assert.equal(fall.rungs[0].label, 'waiting for rank 5');
});

test('steps that the picture lacks are accounted for', () => {
  const profile = (n, partial = 0) => ({ steps: Array(n).fill({}), partial_steps: partial });
  const summary = { step_ns: { count: 60 } };
  assert.equal(
    parts.stepsLeftOut(profile(59), summary),
    'The last of the 60 steps is left out, because nothing shows where it ends. '
  );
  assert.equal(parts.stepsLeftOut(profile(60), summary), '');
  assert.equal(parts.stepsLeftOut(profile(60, 1), summary), '1 step that some ranks lack is left out. ');
  assert.match(parts.stepsLeftOut(profile(50, 3), summary), /^The other 10 of 60 steps .*end\. 3 steps .* are left out\. $/);
  assert.equal(parts.stepsLeftOut(profile(59), { ...summary, steps_by_rank: true }), '');
});

test('an empty map says why nothing was matched, as the text report does', () => {
  const problems = [
    { gate: 'capture_long_enough', detail: 'the capture is short' },
    { gate: 'clock', detail: 'the clocks differ by 10 us' },
    { gate: 'matching', detail: 'rank 0 begins where rank 1 ends', fix: 'record the same steps' }
  ];
  const report = { collectives: [{}], summary: { problems } };
  assert.equal(
    words.whyNotMatched(report),
    'rank 0 begins where rank 1 ends. What to do: record the same steps'
  );
  assert.equal(
    words.whyNotMatched({ ...report, summary: { problems: problems.slice(0, 2) } }),
    'the clocks differ by 10\u00a0µs'
  );
  assert.match(words.whyNotMatched({ collectives: [{}] }), /^no collective could be matched/);
  assert.match(words.whyNotMatched({ collectives: [] }), /^no kernel in the traces is known to communicate; those of NCCL or RCCL, of all ranks, fill it$/);
});

test('the worst wait is told in UTC and since the start of the run', () => {
  const at = { worst_at_ns: 556017984, worst_at_unix_ns: '1769904000556197152' };
  assert.equal(
    words.worstWords(at).replace('\u00a0', ' '),
    "2026-02-01 00:00:00.556197 UTC, 556 ms after the run's start"
  );
  assert.equal(words.worstWords({}), '');
});

test('what mending saves, and when the waits were, is told as in the text report', () => {
  const said = (c) => words.savingWords(c).replaceAll('\u00a0', ' ');
  assert.equal(
    said({ saving_ratio: 0.1, saving_after_others_ratio: 0.3 }),
    '10.0 % by itself, because the others also wait for another one; 30.0 % of each step once that is fixed'
  );
  assert.equal(said({ saving_ratio: 0.0001 }), 'none: replayed without its delay, the run takes as long');
  assert.equal(said({ saving_ratio: 0.2, cause: 'more_data' }), '20.0 % of each step if it moved as much as its peers');
  const late = { recurrence: 'bursty', persistence: 0.5, steps: 40, block_ns: 1e6, stretch_ns: [-5, 2e6] };
  assert.equal(words.howOften(late).replaceAll('\u00a0', ' '), 'in 50.0 % of 40 blocks of 1 ms, in bursts');
  assert.equal(
    words.stretchWords(late).replaceAll('\u00a0', ' '),
    "nearly all from 0 ns to 2 ms after the run's start"
  );
});

test('certain is said only from a confidence of 0.95 on', () => {
  assert.deepEqual([1, 0.95, 0.9499, 0.8, 0.7999, 0].map(words.howSure), [
    'certain',
    'certain',
    'fairly sure',
    'fairly sure',
    'not sure',
    'not sure'
  ]);
});

test('a culprit is named by its scope once', () => {
  assert.equal(words.nameInScope('rank', '5'), 'rank 5');
  assert.equal(words.nameInScope('stage', 'stage 0'), 'stage 0');
  assert.equal(words.nameInScope('host', 'node3'), 'host node3');
});

test('tails have their percentiles from the view tails, and a bucket of zero begins at zero', () => {
  const page = fakePage('small');
  page.report.pictures.tails[0].durations.lower_ns[0] = -1;
  const made = pictures.tailsOf(page.report);
  assert.equal(made.length, 6);
  assert.deepEqual(
    made.map((t) => [t.p50_ns, t.p99_ns, t.max_ns, t.count]),
    page.report.tails.map((t) => [t.fleet_ns.p50, t.fleet_ns.p99, t.fleet_ns.max, t.fleet_ns.count])
  );
  assert.equal(made[0].buckets[0][0], 0);
});

test('the resolution is that of the worst pair of clocks', () => {
  const components = [3, null, 9, 4].map((n) => ({ not_resolvable_below_ns: n }));
  assert.equal(pictures.resolutionOf({ clock: { components } }), 9);
  assert.equal(pictures.resolutionOf({}), null);
});
