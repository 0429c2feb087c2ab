import assert from 'node:assert/strict';
import test from 'node:test';
import { CpuWaits, WaitCounter } from '../../../agent/script-host/cpu-waits.ts';

test('waits are found by when they were, and never exceed the time that is asked for', () => {
  const waits = new CpuWaits();
  waits.add({ from: 0, to: 250, ranMs: 20, waitedMs: 200 });
  waits.add({ from: 250, to: 500, ranMs: 250, waitedMs: 0 });
  waits.add({ from: 500, to: 750, ranMs: 50, waitedMs: 100 });
  assert.equal(waits.between(0, 750), 300);
  assert.equal(waits.between(500, 750), 100);
  assert.equal(waits.between(700, 750), 50, 'all of it may have lain there');
  assert.equal(waits.between(260, 490), 0);
  assert.equal(waits.ranBetween(0, 750), 70, 'where nothing waited, nothing is kept');
});

for (const [what, pressures, expected] of [
  ['the rest of the machine was busy, and the processes had ended', [0, 200], 200],
  ['the machine was quiet, and the processes had ended', [0, 5], 5],
  ['the kernel does not say', [null, null], 0],
] as const) {
  test(`after the last look ${what}: ${expected} ms may have been waited`, () => {
    const waits = new CpuWaits();
    new WaitCounter(waits, 0, pressures[0]).end(250, pressures[1]);
    assert.equal(waits.between(0, 250), expected);
  });
}

test('what the processes of a run ran themselves is not what others took from it', () => {
  const waits = new CpuWaits();
  const counter = new WaitCounter(waits, 0, 0);
  // This process: it has run for longer than it is said that anything waited.
  const self = { parent: 1, session: 1, startTime: '1', isAlive: true, threads: 1 };
  counter.look([{ ...self, pid: process.pid, cpuMs: 500 }], 250, 250);
  assert.equal(waits.between(0, 250), 0);
});
