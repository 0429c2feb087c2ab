/** Limits of time on a machine that is busy, and on one that is not. */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import test from 'node:test';
import { openMachine } from '../../../agent/doctor/machine.ts';
import { clockWithoutCpuWaits, watchStarvation } from '../../../agent/doctor/busy-machine.ts';
import { TestClock } from '../../support/test-clock.ts';

test('a limit does not count the time in which tasks waited for a CPU, up to five times itself', () => {
  const rows: [string, (elapsedMs: number) => number, number][] = [
    ['a quiet machine', () => 0, 10_000],
    ['half of the time', (ms) => ms / 2, 20_000],
    ['the first three seconds', (ms) => Math.min(ms, 3_000), 13_000],
    ['all the time', (ms) => ms, 50_000],
  ];
  for (const [what, waitedMs, wanted] of rows) {
    const clock = new TestClock(0);
    let endedAt: number | null = null;
    clockWithoutCpuWaits(clock, () => waitedMs(clock.monotonic())).after(10_000, () => {
      endedAt = clock.monotonic();
    });
    clock.advance(100_000);
    assert.ok(endedAt !== null && Math.abs(endedAt - wanted) <= 2, `${what}: ${String(endedAt)}`);
  }
  const clock = new TestClock(0);
  const cancel = clockWithoutCpuWaits(clock, () => clock.monotonic()).after(10_000, assert.fail);
  clock.advance(15_000);
  cancel();
  clock.advance(100_000);
});

test('a machine is starved where more tasks want a CPU than limits were lengthened for', () => {
  const cpus = availableParallelism();
  const after = (before: number, load: number, elapsedMs: number): string | null => {
    const clock = new TestClock(0);
    let said = before;
    const machine = { ...openMachine(), read: () => `${said * cpus} 1.00 1.00 1/300 7` };
    const why = watchStarvation(machine, clock);
    clock.advance(elapsedMs);
    said = load;
    return why();
  };
  assert.equal(after(0.1, 0.1, 10_000), null);
  assert.equal(after(4, 4, 30_000), null);
  assert.match(after(30, 30, 60_000) ?? '', /^30 tasks want each CPU/);
  // It became busy with doctor, and it was busy before it.
  assert.match(after(0, 30 * (1 - Math.exp(-0.5)), 30_000) ?? '', /^30 tasks want each CPU/);
  assert.equal(after(30, 30 * Math.exp(-0.5), 30_000), null);
  const unknown = watchStarvation({ ...openMachine(), read: () => null }, new TestClock(0));
  assert.equal(unknown(), null);
});
