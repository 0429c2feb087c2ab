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
    theirs: { receivedAt: sentAt + thereMs + aheadMs, sentAt: sentAt + thereMs + heldMs + aheadMs },
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

/** The wall clock of a process that is stopped once, while it reads its clocks, before or after the wall clock. */
class StoppedClock extends TestClock {
  stopMs: { before: number; after: number } | null = null;

  override now(): number {
    const stop = this.stopMs ?? { before: 0, after: 0 };
    this.stopMs = null;
    this.advance(stop.before);
    const seen = super.now();
    this.advance(stop.after);
    return seen;
  }
}

for (const stop of [
  { before: 9_000, after: 0 },
  { before: 0, after: 9_000 },
]) {
  test(`a stop of ${stop.before} ms before and ${stop.after} ms after the reading of the wall clock is no jump of it`, () => {
    const raw = new StoppedClock(1_000_000);
    const clock = new CorrectedClock(raw);
    raw.stopMs = stop;
    assert.equal(clock.now(), 1_009_000);
    raw.advance(1_000);
    assert.equal(clock.now(), 1_010_000);
    assert.equal(clock.elapsed(), 10_000);
  });
}

test('a wall clock that is set is a jump, also where the process was stopped meanwhile', () => {
  const raw = new StoppedClock(1_000_000);
  const clock = new CorrectedClock(raw);
  raw.setWall(1_060_000);
  raw.stopMs = { before: 9_000, after: 0 };
  assert.equal(clock.now(), 1_009_000);
});

test('a stop between the arrival of an answer and the end of its time is uncertainty', () => {
  const { offsetMs, uncertaintyMs } = sample(0, 10, 20_000, 10);
  const stopped = clockOffsetOf({
    ...{ receivedAt: 1_020_020, tookMs: 20_020 + 9_000 },
    theirs: { receivedAt: 1_000_010, sentAt: 1_020_010 },
  });
  assert.ok(Math.abs(stopped.offsetMs - offsetMs) <= stopped.uncertaintyMs - uncertaintyMs);
});
