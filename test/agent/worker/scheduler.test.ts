import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { CorrectedClock } from '../../../agent/worker/corrected-clock.ts';
import { Scheduler } from '../../../agent/worker/scheduler.ts';
import { SlotQueue } from '../../../agent/worker/slot-queue.ts';
import { TestClock } from '../../support/test-clock.ts';
import { assignedCheck } from '../../support/plain.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const id = '6d1c2a34-58a4-4f0e-9b9e-2f1f6f1f0a01';

const check = (fields: Partial<AssignedCheck> = {}): AssignedCheck =>
  assignedCheck({ id, frequency: 0, frequencyOffset: 10, ...fields });

const gapsOf = (slots: readonly number[]): number[] => [
  ...new Set(slots.slice(1).map((slot, index) => slot - (slots[index] ?? 0))),
];

function setUp(
  finished: [string, number][] = [],
  raw = new TestClock(start),
  clock = new CorrectedClock(raw),
) {
  const ran: number[] = [];
  const missed: number[] = [];
  const scheduler = new Scheduler({
    clock,
    finishedSlots: new Map(finished),
    onSlot: (_check, slot) => ran.push(slot),
    onMissed: (_check, slot) => missed.push(slot),
  });
  return { raw, clock, scheduler, ran, missed };
}

const schedule = scheduleOf({ checkId: id, frequency: 0, frequencyOffset: 10 });

test('every slot starts once, the latest one is made up for at the beginning', () => {
  const { raw, scheduler, ran, missed } = setUp();
  scheduler.apply('here', [check()], [], true);
  raw.advance(60_000);
  const first = slotAtOrAfter(schedule, start - 10_000 + 1);
  assert.deepEqual(
    ran,
    [0, 1, 2, 3, 4, 5, 6].map((n) => first + n * 10_000).filter((slot) => slot <= start + 60_000),
  );
  assert.deepEqual(missed, []);
});

test('a slot finished before a restart is not run again, nor one from before the check', () => {
  const last = slotAtOrAfter(schedule, start - 9_999);
  const finished = setUp([[id, last]]);
  finished.scheduler.apply('here', [check()], [], true);
  finished.raw.advance(9_000);
  assert.equal(finished.ran.includes(last), false);
  const young = setUp();
  young.scheduler.apply('here', [check({ scheduleFrom: start })], [], true);
  young.raw.advance(9_999);
  assert.ok(young.ran.every((slot) => slot > start));
});

test('in round robin a location runs only its own slots', () => {
  const { raw, scheduler, ran } = setUp();
  scheduler.apply('here', [check({ locations: ['here', 'there'], scheduleFrom: start })], [], true);
  raw.advance(100_000);
  assert.equal(ran.length, 5);
  assert.deepEqual(gapsOf(ran), [20_000]);
});

test('a removed check stops, and a change that keeps the schedule keeps the plan', () => {
  const { raw, scheduler, ran } = setUp();
  scheduler.apply('here', [check({ scheduleFrom: start })], [], true);
  raw.advance(15_000);
  const before = ran.length;
  scheduler.apply('here', [check({ scheduleFrom: start, revision: 2, name: 'b' })], [], false);
  assert.equal(ran.length, before);
  scheduler.apply('here', [], [id], false);
  raw.advance(60_000);
  assert.equal(ran.length, before);
});

test('a wall clock that is set neither skips nor repeats a slot', () => {
  for (const jumpMs of [3_600_000, -3_600_000, 1_500, -1_500]) {
    const { raw, scheduler, ran, missed } = setUp();
    scheduler.apply('here', [check({ scheduleFrom: start })], [], true);
    raw.advance(25_000);
    raw.setWall(raw.now() + jumpMs);
    raw.advance(25_000);
    assert.deepEqual(gapsOf(ran), [10_000], `after a jump of ${jumpMs} ms`);
    assert.equal(ran.length, 5);
    assert.deepEqual(missed, []);
  }
});

test('an offset to the control plane is followed when it is real', () => {
  const { raw, clock } = setUp();
  assert.equal(clock.observeOffset(1_500), false);
  assert.equal(clock.now(), raw.now());
  assert.equal(clock.observeOffset(-60_000), true);
  assert.equal(clock.now(), raw.now() - 60_000);
});

test('slots that came too late, because the process stood still, are reported as missed', () => {
  const raw = new TestClock(start);
  let frozenMs = 0;
  const frozen = {
    now: () => raw.now() + frozenMs,
    monotonic: () => raw.monotonic() + frozenMs,
    after: (delayMs: number, callback: () => void) => raw.after(delayMs, callback),
  };
  const { scheduler, ran, missed } = setUp([], raw, new CorrectedClock(frozen));
  scheduler.apply('here', [check({ scheduleFrom: start })], [], true);
  frozenMs = 45_000;
  raw.advance(5_000);
  assert.equal(ran.length, 1);
  assert.ok(missed.length >= 3, `${missed.length} missed`);
  assert.equal(new Set([...ran, ...missed]).size, ran.length + missed.length);
});

test('slots that are made up for together start one after the other, within seconds', () => {
  const { raw, scheduler, ran } = setUp();
  const checks = Array.from({ length: 300 }, (_, index) =>
    check({
      id: `6d1c2a34-58a4-4f0e-9b9e-${String(index).padStart(12, '0')}`,
      frequency: 1,
      frequencyOffset: 8,
    }),
  );
  const late = checks.filter(({ id: checkId, frequency, frequencyOffset }) => {
    const slot = slotAtOrAfter(scheduleOf({ checkId, frequency, frequencyOffset }), start - 29_999);
    return start - slot > 1_000;
  });
  scheduler.apply('here', checks, [], true);
  raw.advance(0);
  const atOnce = ran.filter((slot) => start - slot > 1_000).length;
  assert.ok(late.length > 50, `${late.length} slots to make up for`);
  assert.ok(atOnce <= 3, `${atOnce} at once`);
  raw.advance(6_000);
  assert.equal(ran.filter((slot) => start - slot > 1_000).length, late.length);
});

test('a check that goes and comes back before its slot is made up for loses no slot', () => {
  const { raw, scheduler, ran } = setUp();
  const phase = slotAtOrAfter(schedule, start) - start;
  raw.advance(phase + 2_000);
  const slot = start + phase;
  const first = check();
  // Takes the first turn, so that the slot of the other one waits.
  const others = Array.from({ length: 3 }, (_, index) =>
    check({ id: `6d1c2a34-58a4-4f0e-9b9e-${String(index).padStart(12, '0')}`, frequency: 1 }),
  );
  scheduler.apply('here', [...others, first], [], true);
  raw.advance(0);
  assert.equal(ran.includes(slot), false, 'the slot waits for its turn');
  scheduler.apply('here', [], [id], false);
  raw.advance(5_000);
  scheduler.apply('here', [first], [], false);
  raw.advance(2_000);
  assert.deepEqual(
    ran.filter((each) => each === slot),
    [slot],
  );
});

for (const [name, aheadMs] of [
  ['three hours', 3 * 3_600_000],
  ['a year', 365 * 86_400_000],
] as const) {
  test(`runs go on within one period when a clock that was ahead by ${name} is set right`, () => {
    const { raw, clock, scheduler, ran, missed } = setUp();
    scheduler.apply('here', [check()], [], true);
    raw.advance(20_000);
    clock.observeOffset(aheadMs);
    raw.advance(60_000);
    clock.observeOffset(-aheadMs);
    raw.advance(5_000);
    const before = ran.length;
    raw.advance(10_000);
    assert.ok(ran.length > before, 'a run within one period');
    assert.ok((ran.at(-1) ?? Infinity) <= raw.now());
    raw.advance(60_000);
    const present = ran.filter((slot) => slot <= raw.now());
    assert.ok(present.length >= 6);
    assert.deepEqual(gapsOf(present.slice(-6)), [10_000]);
    assert.deepEqual(missed, [], 'slots that a step of the clock passed over were never due');
  });
}

test('slots that were finished in the future, by a clock that was ahead, are forgotten at a start', () => {
  const { raw, scheduler, ran } = setUp([[id, start + 3 * 3_600_000]]);
  scheduler.apply('here', [check({ scheduleFrom: start + 3 * 3_600_000 })], [], true);
  raw.advance(10_000);
  assert.equal(ran.length, 1);
});

const latest = slotAtOrAfter(schedule, start - 10_000 + 1);
for (const [name, finished, finishedSlot, first] of [
  ['nothing is known of', undefined, undefined, latest],
  ['another agent has run the latest slot of', undefined, latest, latest + 10_000],
  ['another agent has run an earlier slot of', undefined, latest - 10_000, latest],
  [
    'this agent has run one slot and another agent the next of',
    latest - 10_000,
    latest,
    latest + 10_000,
  ],
  [
    'this agent has run a later slot than another agent of',
    latest,
    latest - 10_000,
    latest + 10_000,
  ],
  ['an agent with a clock that was ahead has run a slot of', undefined, start + 60_000, latest],
] as const) {
  test(`${name} a check: it begins where it should`, () => {
    const { raw, scheduler, ran } = setUp(finished === undefined ? [] : [[id, finished]]);
    const known = finishedSlot === undefined ? {} : { finishedSlot };
    scheduler.apply('here', [check(known)], [], true);
    raw.advance(15_000);
    assert.equal(ran[0], first);
  });
}

test('sleep of the machine passes for the schedule: its slots are missed, not forgotten', () => {
  const raw = new TestClock(start);
  let sleptMs = 0;
  const clock = new CorrectedClock(raw, () => raw.monotonic() + sleptMs);
  const { scheduler, ran, missed } = setUp([], raw, clock);
  scheduler.apply('here', [check({ scheduleFrom: start })], [], true);
  raw.advance(15_000);
  sleptMs = 100_000;
  raw.setWall(raw.now() + sleptMs);
  raw.advance(15_000);
  assert.equal(clock.now(), raw.now());
  const all = [...ran, ...missed].sort((left, right) => left - right);
  assert.ok(missed.length >= 8, `${missed.length} missed`);
  assert.deepEqual(gapsOf(all), [10_000], 'every slot either ran or was missed');
});

test('the queue gives slots in order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000)), (instants) => {
      const queue = new SlotQueue();
      for (const at of instants) queue.push({ at, checkId: 'a', plan: 1 });
      const out: number[] = [];
      for (let slot = queue.pop(); slot !== undefined; slot = queue.pop()) out.push(slot.at);
      assert.deepEqual(
        out,
        [...instants].sort((left, right) => left - right),
      );
    }),
  );
});

test('slots in a pause are skipped without a record, from its start to just before its end', () => {
  const { raw, scheduler, ran, missed } = setUp();
  const first = slotAtOrAfter(schedule, start + 1);
  const slot = (n: number): number => first + n * 10_000;
  const paused = (pauses: AssignedCheck['pauses']) => check({ scheduleFrom: start, pauses });
  scheduler.apply('here', [paused([{ from: slot(1), to: slot(3) }])], [], true);
  raw.advance(49_999);
  assert.deepEqual(ran, [slot(0), slot(3), slot(4)]);

  scheduler.apply('here', [paused([{ from: slot(5), to: slot(99) }])], [], false);
  raw.advance(20_000);
  assert.equal(ran.length, 3);
  scheduler.apply('here', [paused([])], [], false);
  raw.advance(10_000);
  assert.deepEqual(ran.slice(3), [slot(7)], 'the window is gone: the next slot runs');
  assert.deepEqual(missed, []);
});

test('a slot in a pause is not made up for after a restart, nor reported when it is noticed late', () => {
  const last = slotAtOrAfter(schedule, start - 9_999);
  const { raw, scheduler, ran, missed } = setUp();
  const pauses = [{ from: last - 5_000, to: last + 5_000 }];
  scheduler.apply('here', [check({ pauses })], [], true);
  raw.advance(1);
  assert.equal(ran.length, 0);
  const next = last + 10_000;
  scheduler.apply('here', [check({ pauses: [{ from: next, to: next + 1 }] })], [], true);
  raw.setWall(next + 60_000);
  raw.advance(10_000);
  assert.equal(ran.includes(next) || missed.includes(next), false);
});
