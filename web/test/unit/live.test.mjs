// How often a page of a growing run asks for the next picture.
import assert from 'node:assert/strict';
import test from 'node:test';
import { loadPure } from '../lib/pure.mjs';

const { rest } = await loadPure();

function restAfter(answer, drawing) {
  return rest.restMs({ askedMs: 5000, answeredMs: 5000 + answer, drawnMs: 5000 + answer + drawing });
}

test('a page asks no more than once a second', () => {
  for (const [answer, drawing] of [[0, 0], [100, 50], [400, 100], [700, 200]]) {
    assert.ok(answer + drawing + restAfter(answer, drawing) >= 1000, `${answer} and ${drawing}`);
  }
  assert.equal(restAfter(0, 0), 1000);
  assert.equal(restAfter(100, 50), 850);
});

test('the time in which the answer is made is no rest twice', () => {
  assert.equal(restAfter(2000, 100), 500);
  assert.equal(restAfter(1000, 200), 250);
});

test('drawing takes at most a quarter of the time', () => {
  assert.equal(restAfter(100, 1000), 2900);
  for (const [answer, drawing] of [[0, 500], [200, 400], [2000, 900]]) {
    assert.ok(4 * drawing <= answer + drawing + restAfter(answer, drawing), `${answer} and ${drawing}`);
  }
});
