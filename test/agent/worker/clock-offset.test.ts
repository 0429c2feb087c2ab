import assert from 'node:assert/strict';
import test from 'node:test';
import { clockOffsetOf } from '../../../agent/worker/clock-offset.ts';
import { CorrectedClock } from '../../../agent/worker/corrected-clock.ts';
import { TestClock } from '../../support/test-clock.ts';

/** A call with these travel times to a control plane whose clock is `aheadMs` ahead. */
function sample(aheadMs: number, thereMs: number, heldMs: number, backMs: number) {
  const sentAt = 1_000_000;
  return clockOffsetOf({
    receivedAt: sentAt + thereMs + heldMs + backMs,
    tookMs: thereMs + heldMs + backMs,
    theirs: {
      receivedAt: sentAt + thereMs + aheadMs,
      sentAt: sentAt + thereMs + heldMs + aheadMs,
    },
  });
}

test('the time a call was held does not count', () => {
  assert.deepEqual(sample(3_600_000, 40, 20_000, 40), { offsetMs: 3_600_000, uncertaintyMs: 40 });
  assert.deepEqual(sample(-500, 10, 0, 10), { offsetMs: -500, uncertaintyMs: 10 });
});

test('a slow way in one direction is uncertainty, and the truth lies within', () => {
  for (const ahead of [0, 900, -7_000]) {
    const { offsetMs, uncertaintyMs } = sample(ahead, 30_000, 0, 100);
    assert.ok(Math.abs(offsetMs - ahead) <= uncertaintyMs);
    assert.equal(uncertaintyMs, 15_050);
  }
});

test('a wall clock that is set during the call does not distort it', () => {
  // Set back by an hour while the call was held: the monotonic clock did not notice.
  const seen = clockOffsetOf({
    receivedAt: 1_000_000 - 3_600_000 + 20_100,
    tookMs: 20_100,
    theirs: { receivedAt: 1_000_050, sentAt: 1_020_050 },
  });
  assert.deepEqual(seen, { offsetMs: 3_600_000, uncertaintyMs: 50 });
});

test('an offset is followed when it is surely more than two seconds', () => {
  const clock = new CorrectedClock(new TestClock(1_000_000));
  assert.equal(clock.observeOffset(15_000, 15_050), false);
  assert.equal(clock.now(), 1_000_000);
  assert.equal(clock.observeOffset(2_500, 1_000), false);
  assert.equal(clock.observeOffset(2_500, 100), true);
  assert.equal(clock.now(), 1_002_500);
});
