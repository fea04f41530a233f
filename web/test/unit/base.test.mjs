// Units, names and colours.
import assert from 'node:assert/strict';
import test from 'node:test';
import { loadPure } from '../lib/pure.mjs';
import { random } from '../lib/random.mjs';

const { units, names, color, utc, adviceText } = await loadPure();
const plain = (text) => text.replace(/\u00a0/g, ' ');

test('times have three digits and the unit of the text report', () => {
  const cases = [
    [0, '0 ns'],
    [7, '7 ns'],
    [999, '999 ns'],
    [1000, '1 µs'],
    [9184, '9.18 µs'],
    [70644, '70.6 µs'],
    [356768, '357 µs'],
    [4770816, '4.77 ms'],
    [540433369, '540 ms'],
    [1e9, '1 s'],
    [61.25e9, '61.2 s'],
    [61.75e9, '61.8 s'],
    [1125e3, '1.12 ms'],
    [70650, '70.7 µs'],
    [100500, '100 µs'],
    [101500, '102 µs'],
    [-28308, '−28.3 µs'],
    [-0.4, '0 ns']
  ];
  for (const [ns, text] of cases) assert.equal(plain(units.time(ns)), text);
});

test('a time that is shown is within half a unit of its last digit of the true one', () => {
  const r = random(1);
  const size = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
  for (let i = 0; i < 2000; i++) {
    const ns = Math.round(10 ** r.between(0, 11));
    const [digits, unit] = plain(units.time(ns)).split(' ');
    const decimals = digits.includes('.') ? digits.split('.')[1].length : 0;
    assert.ok(
      Math.abs(Number(digits) * size[unit] - ns) <= 0.5000001 * size[unit] * 10 ** -decimals,
      `${ns} as ${digits} ${unit}`
    );
  }
});

test('shares are those of the text report', () => {
  const cases = [
    [0, '0 %'],
    [0.991014658, '99.1 %'],
    [1, '100 %'],
    [0.9996, '100 %'],
    [0.00135663068, '0.14 %'],
    [0.069, '6.9 %'],
    [0.654512579, '65.5 %']
  ];
  for (const [ratio, text] of cases) assert.equal(plain(units.percent(ratio)), text);
});

test('what is not known is a dash and never zero', () => {
  for (const format of [
    units.time,
    units.bytes,
    units.percent,
    units.count,
    units.significant,
    units.signedTime,
    units.signedPercent
  ]) {
    for (const value of [null, undefined, NaN, Infinity]) assert.equal(format(value), '–');
  }
  assert.equal(units.interval(null, units.time), '–');
});

test('changes have a sign, and a factor where they are large', () => {
  assert.equal(plain(units.signedPercent(1.70879871)), '+170.9 %');
  assert.equal(plain(units.signedPercent(-0.0021)), '−0.2 %');
  assert.equal(plain(units.signedPercent(33.2947739)), '× 34.3');
  assert.equal(plain(units.signedTime(-28308)), '−28.3 µs');
  assert.equal(plain(units.percent(-0.0021)), '−0.21 %');
  assert.deepEqual([-1234567, -1234, -150.4, -0.5].map(units.significant), ['−1.23e+6', '−1,234', '−150', '−0.5']);
});

test('what is shown as zero has no sign', () => {
  for (const ratio of [0, -0.00049, 0.00049, -0]) assert.equal(plain(units.signedPercent(ratio)), '0.0 %');
  for (const ns of [0, -0.3, 0.3, -0]) assert.equal(plain(units.signedTime(ns)), '0 ns');
});

test('an interval has one unit, that of its change, and no time falls by more than all of it', () => {
  const cases = [
    [-0.868, [-9.799, 9.8], '−100.0 % to +980.0 %'],
    [411, [-165.531, 164], '× 0 to × 165'],
    [8.03, [7.36, 9.5], '+736.0 % to +950.0 %'],
    [10.5, [8, 12], '× 9 to × 13'],
    [0, [-0.0004, 0.0004], '0.0 % to 0.0 %'],
    [null, [-0.01, 0.02], '−1.0 % to +2.0 %']
  ];
  for (const [ratio, pair, text] of cases) assert.equal(plain(units.percentInterval(ratio, pair)), text);
  assert.equal(units.percentInterval(0.1, null), '–');
});

test('a number and its unit in a sentence stay on one line', () => {
  assert.equal(units.keepUnits('540 ms of 978 us, 9 sheep'), '540\u00a0ms of 978\u00a0µs, 9 sheep');
  assert.equal(units.keepUnits('(interval -3 % to -1 us), rank-3'), '(interval −3\u00a0% to −1\u00a0µs), rank-3');
});

test('flags of the command line become whole commands', () => {
  const said = (text) =>
    adviceText
      .advice(text)
      .map((part) => (part.command ? `[${part.text}]` : part.text))
      .join('');
  const cases = [
    ['--view quality shows what the traces lack', '[lockstep analyze TRACES --view quality] shows what the traces lack'],
    ['--view idle,host; check CPU pinning', '[lockstep analyze TRACES --view idle,host]; check CPU pinning'],
    ['more stages; --view skew,imbalance', 'more stages; [lockstep analyze TRACES --view skew,imbalance]'],
    ['--view idle,host --ranks 3: why', '[lockstep analyze TRACES --view idle,host --ranks 3]: why'],
    ['--view skew --instances: for whom', '[lockstep analyze TRACES --view skew --instances]: for whom'],
    ['If so, add --expect-ranks 8.', 'If so, add [lockstep analyze TRACES --expect-ranks 8].'],
    ['nsys profile --cuda-graph-trace=node', 'nsys profile --cuda-graph-trace=node'],
    ['(lockstep analyze or show with --view quality says why)', '(lockstep analyze or show with --view quality says why)'],
    ['nothing', 'nothing']
  ];
  for (const [text, whole] of cases) assert.equal(said(text), whole);
  assert.deepEqual(cases.map(([text]) => adviceText.hasCommand(text)), [...Array(6).fill(true), false, false, false]);
});

test('a moment is told in UTC, to the microsecond', () => {
  assert.equal(utc.utcOf('1769904000556197152'), '2026-02-01 00:00:00.556197 UTC');
  assert.equal(utc.utcOf('1769904000000000999'), '2026-02-01 00:00:00.000000 UTC');
  for (const unknown of [null, undefined, '', 'x', '-1', '9'.repeat(30)]) assert.equal(utc.utcOf(unknown), '');
});

test('ticks are inside the axis and ascend', () => {
  const r = random(2);
  for (let i = 0; i < 500; i++) {
    const low = 10 ** r.between(0, 6);
    const high = low * 10 ** r.between(0.1, 6);
    for (const ticks of [units.logTicks(low, high, true), units.linearTicks(0, high, 5)]) {
      assert.ok(ticks.length <= 40);
      ticks.forEach((t, k) => assert.ok(t <= high * 1.002 && (k === 0 || t > ticks[k - 1])));
    }
  }
});

test('a cut name keeps both ends and its length, and splits no character', () => {
  const r = random(3);
  for (let i = 0; i < 500; i++) {
    const name = Array.from({ length: r.whole(1, 200) }, () =>
      r.next() < 0.2 ? '😀' : String.fromCharCode(r.whole(97, 122))
    ).join('');
    const limit = r.whole(10, 80);
    const cut = names.cutMiddle(name, limit);
    assert.ok(cut.length <= limit);
    assert.equal(cut.isWellFormed ? cut.isWellFormed() : true, true);
    if (name.length > limit) {
      const [head, tail] = cut.split('…');
      assert.ok(name.startsWith(head) && name.endsWith(tail));
    } else assert.equal(cut, name);
  }
});

test('control characters and marks of direction are shown by their codes', () => {
  assert.equal(names.printable('a\u202eb\u0000c\u001b'), 'a⟨U+202E⟩b⟨U+0000⟩c⟨U+001B⟩');
  assert.equal(names.printable('ordinary<name>'), 'ordinary<name>');
  assert.ok(names.shortName('\u0000'.repeat(10000), 60).length <= 60);
});

test('lists of numbers read like a sentence', () => {
  assert.equal(names.listOfNumbers([3]), '3');
  assert.equal(names.listOfNumbers([3, 4, 5, 6]), '3 to 6');
  assert.equal(names.listOfNumbers([1, 5]), '1 and 5');
  assert.equal(names.listOfNumbers([1, 3, 5, 7, 9, 11, 13]), '1, 3, 5, 7, 9 and 2 more');
});

test('larger values have more contrast to the ground, in light and in dark', () => {
  for (const [dark, ground] of [
    [false, [255, 255, 255]],
    [true, [23, 27, 33]]
  ]) {
    let before = 0;
    for (let t = 0; t <= 1.0001; t += 0.02) {
      const c = color.contrast(color.scaleColor(t, dark), ground);
      assert.ok(c >= before - 0.02, `contrast falls at ${t}`);
      before = c;
    }
    assert.ok(color.contrast(color.scaleColor(1, dark), ground) >= 3);
  }
});
