import assert from 'node:assert/strict';
import test from 'node:test';
import { tryUntil } from '../../../agent/worker/try-until.ts';
import { TestClock } from '../../support/test-clock.ts';

test('what is done at once is tried once', async () => {
  let tries = 0;
  const attempt = () => Promise.resolve((tries += 1));
  assert.equal(await tryUntil(new TestClock(0), 10_000, attempt, () => true), 1);
  assert.equal(tries, 1);
});

test('what fails is tried every half second until it works', async () => {
  const clock = new TestClock(0);
  let tries = 0;
  const attempt = () => {
    tries += 1;
    setImmediate(() => {
      clock.advance(500);
    });
    return Promise.resolve(tries);
  };
  const until = clock.monotonic() + 10_000;
  assert.equal(await tryUntil(clock, until, attempt, (outcome) => outcome === 4), 4);
});

test('when the time is over, the last outcome is what remains', async () => {
  const clock = new TestClock(0);
  let tries = 0;
  const attempt = () => {
    tries += 1;
    setImmediate(() => {
      clock.advance(500);
    });
    return Promise.resolve(tries);
  };
  const until = clock.monotonic() + 2_000;
  assert.equal(await tryUntil(clock, until, attempt, () => false), 4);
});
