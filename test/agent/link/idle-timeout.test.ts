// Own process: it waits for time-outs.
import assert from 'node:assert/strict';
import test from 'node:test';
import { TimeoutPolicy } from '../../../agent/link/timeout-policy.ts';
import { IdleTimeout } from '../../../agent/link/idle-timeout.ts';
import { TestClock } from '../../support/test-clock.ts';

const megabyte = 1_048_576;

test('an idle call times out, and traffic extends the timeout', () => {
  const clock = new TestClock(0);
  using watch = new IdleTimeout(clock, 20_000);
  clock.advance(19_999);
  watch.moved(100);
  clock.advance(19_999);
  assert.equal(watch.isExpired, false);
  clock.advance(1);
  assert.equal(watch.isExpired, true);
  assert.match(String(watch.signal.reason), /nothing moved for 20 s/);
});

test('a link of 64 kbit/s may be as silent as its buffers are deep', () => {
  const clock = new TestClock(0);
  using watch = new IdleTimeout(clock, 20_000);
  watch.begin(20_000);
  // The buffers take a megabyte at once, then room is made in steps of 300 kB, each of 37 s.
  watch.moved(megabyte);
  let sentMs = 0;
  for (const stepMs of [15_000, 18_000, 30_000, 37_000, 37_000]) {
    clock.advance(stepMs);
    sentMs += stepMs;
    watch.moved(300_000);
    assert.equal(watch.isExpired, false, `after ${sentMs} ms`);
  }
  // The last megabyte is still on its way when everything was handed over.
  watch.expect(20_000);
  clock.advance(130_000);
  assert.equal(watch.isExpired, false);
  clock.advance(10_000);
  assert.equal(watch.isExpired, true);
});

test('on a fast link a large file that stops is noticed as soon as a small one', () => {
  const clock = new TestClock(0);
  using watch = new IdleTimeout(clock, 20_000);
  watch.begin(20_000);
  for (let sent = 0; sent < 150; sent += 1) {
    clock.advance(100);
    watch.moved(megabyte);
  }
  clock.advance(20_000);
  assert.equal(watch.isExpired, true);
});

test('the longest idle time is known afterwards', () => {
  const clock = new TestClock(0);
  using watch = new IdleTimeout(clock, 20_000);
  clock.advance(9_000);
  watch.begin(20_000);
  for (const ms of [100, 7_000, 300]) {
    clock.advance(ms);
    watch.moved(1);
  }
  assert.equal(watch.maxIdleMs, 7_000);
});

test('what was stopped does not stall', () => {
  const clock = new TestClock(0);
  const watch = new IdleTimeout(clock, 1_000);
  watch[Symbol.dispose]();
  clock.advance(5_000);
  assert.equal(watch.isExpired, false);
});

test('timeouts grows when it runs out, follows slow answers, and shrinks step by step', () => {
  const timeouts = new TimeoutPolicy(8_000, 64_000);
  assert.equal(timeouts.ms, 8_000);
  timeouts.ranOut();
  timeouts.ranOut();
  assert.equal(timeouts.ms, 32_000);
  timeouts.answered(300);
  assert.equal(timeouts.ms, 16_000);
  timeouts.answered(300);
  timeouts.answered(300);
  assert.equal(timeouts.ms, 8_000);
  timeouts.answered(5_000);
  assert.equal(timeouts.ms, 20_000);
  for (let failure = 0; failure < 9; failure += 1) timeouts.ranOut();
  assert.equal(timeouts.ms, 64_000);
});
