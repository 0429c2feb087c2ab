import assert from 'node:assert/strict';
import test from 'node:test';
import { measureInterval, TimeLedger, type TimeSample } from '../../../agent/worker/time-ledger.ts';

/** At `monotonic`, with what the main thread has run and waited since the beginning. */
function sample(monotonic: number, fields: Partial<TimeSample> = {}): TimeSample {
  return {
    ...{ monotonic, boot: 5_000 + monotonic, main: { runMs: 0, waitMs: 0 }, poolWaitMs: [] },
    ...fields,
  };
}

const begin = sample(0, { poolWaitMs: [0, 0] });
const dueAt = 20;

/** What was missing in a interval that ended with a sample, rounded. */
function missing(after: TimeSample) {
  const { suspendedMs, stoppedMs, waitedMs } = measureInterval(begin, after, dueAt);
  return [suspendedMs, stoppedMs, waitedMs].map(Math.round);
}

for (const [name, after, expected] of [
  ['a tick in time', sample(20), [0, 0, 0]],
  ['a tick within the resolution of timers', sample(21), [0, 0, 0]],
  ['a loop that lagged', sample(221.5, { main: { runMs: 200, waitMs: 0 } }), [0, 0, 200]],
  [
    'a thread that waited for a CPU is late for that reason: counted once',
    sample(221.5, { main: { runMs: 3, waitMs: 190 } }),
    [0, 0, 200],
  ],
  ['waiting without lag', sample(20, { main: { runMs: 3, waitMs: 12 } }), [0, 0, 12]],
  ['a thread of the pool waited', sample(20, { poolWaitMs: [0, 15] }), [0, 0, 15]],
  ['a stopped process neither runs nor waits', sample(10_020), [10_000, 10_000, 0]],
  [
    'a long synchronous task ran',
    sample(10_020, { main: { runMs: 9_990, waitMs: 5 } }),
    [0, 0, 9_999],
  ],
  [
    'a thread that got no CPU at all waited',
    sample(10_020, { main: { runMs: 1, waitMs: 9_995 } }),
    [0, 0, 9_999],
  ],
  ['a short stop is a delay', sample(620), [0, 0, 599]],
  ['a machine that slept', sample(20, { boot: 5_020 + 60_000 }), [60_000, 0, 0]],
  ['a machine whose boot time is not known', sample(20, { boot: null }), [0, 0, 0]],
  ['a kernel that does not say', sample(5_020, { main: null }), [5_000, 5_000, 0]],
] as const) {
  test(`${name} is recognised`, () => {
    assert.deepEqual(missing(after), expected);
  });
}

test('an interval gets its share of what was missing, and none of what was missing before or after', () => {
  const ledger = new TimeLedger(0);
  const add = (until: number, waitedMs: number, stoppedMs = 0): void => {
    ledger.add(
      { ...{ lengthMs: 20, runMs: 0, cpuWaitMs: 0, waitedMs, stoppedMs }, suspendedMs: stoppedMs },
      until,
    );
  };
  add(20, 20);
  const mark = ledger.mark;
  assert.equal(ledger.since(mark, 30).waitedMs, 0, 'what is not known yet');
  add(40, 10);
  assert.equal(ledger.since(mark, 30).waitedMs, 5, 'half of the interval it began in');
  add(60, 0, 2_000);
  add(80, 4);
  const { waitedMs, suspendedMs } = ledger.since(mark, 30);
  assert.deepEqual([waitedMs, suspendedMs], [9, 2_000]);
  assert.equal(ledger.since(ledger.mark, 80).suspendedMs, 0);
});
