import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'node:test';
import { ProcessTime } from '../../../agent/worker/process-time.ts';
import { fakeKernel } from '../../support/fake-kernel.ts';
import { TestClock } from '../../support/test-clock.ts';

/** A clock whose timers stand still for a while, as those of a stopped or busy process do. */
class StoppableClock extends TestClock {
  #stoppedMs = 0;

  override now(): number {
    return super.now() + this.#stoppedMs;
  }

  override monotonic(): number {
    return super.monotonic() + this.#stoppedMs;
  }

  /** Time passes, and nothing is called back. */
  stop(ms: number): void {
    this.#stoppedMs += ms;
  }
}

function open() {
  const clock = new StoppableClock(1_000_000_000_000);
  const kernel = fakeKernel(clock);
  const processTime = new ProcessTime({ clock, kernel });
  processTime.watch();
  const suspensions: number[] = [];
  processTime.onSuspension(({ lastedMs }) => suspensions.push(Math.round(lastedMs)));
  return { clock, kernel, processTime, suspensions };
}

test('an attempt that was open while the process was stopped knows for how long', () => {
  const { clock, processTime, suspensions } = open();
  clock.advance(3_000);
  const before = processTime.begin();
  clock.advance(100);
  const ended = before.facts(true);
  before.end();
  const open1 = processTime.begin();
  clock.advance(100);
  clock.stop(12_000);
  // The timers of the schedule may come before the tick.
  const after = processTime.begin();
  clock.advance(20);
  assert.equal(ended.suspendedMs, 0);
  assert.ok(Math.abs(open1.facts(true).suspendedMs - 12_000) < 50);
  assert.equal(after.facts(true).suspendedMs, 0);
  assert.equal(suspensions.length, 1);
  assert.equal(processTime.load.lastSuspension?.lastedMs, suspensions[0]);
  assert.equal(processTime.wasSuspendedWithin(5_000), true);
  assert.equal(processTime.wasSuspendedWithin(10), false);
});

test('a stop in the middle of a tick, or before the end of an attempt, is not lost', () => {
  const { clock, kernel, processTime, suspensions } = open();
  clock.advance(3_000);
  const measuring = processTime.begin();
  clock.advance(50);
  // The kernel's accounts are read within a tick, after the clock.
  const { main } = kernel;
  kernel.main = () => {
    kernel.main = main;
    clock.stop(6_000);
    return main();
  };
  clock.advance(40);
  const { suspendedMs } = measuring.facts(true);
  assert.ok(Math.abs(suspendedMs - 6_000) < 50, `${suspendedMs}`);
  clock.stop(4_000);
  measuring.end();
  clock.advance(2_000);
  assert.deepEqual(
    suspensions.map((ms) => Math.round(ms / 1_000)),
    [6, 4],
  );
});

test('work of its own and waiting for a CPU are no suspension, however long', () => {
  const { clock, kernel, processTime, suspensions } = open();
  clock.advance(2_000);
  const measuring = processTime.begin();
  clock.advance(20);
  clock.stop(5_000);
  kernel.ran(2_000);
  kernel.waited(3_000);
  clock.advance(20);
  const { suspendedMs, waitedMs } = measuring.facts(true);
  assert.deepEqual(suspensions, []);
  assert.equal(suspendedMs, 0);
  assert.ok(waitedMs > 4_900, `${waitedMs}`);
});

test('sleep of the machine is a suspension, a clock that is set is none', () => {
  const { clock, kernel, processTime, suspensions } = open();
  clock.advance(5_000);
  clock.setWall(clock.now() + 3_600_000);
  clock.advance(5_000);
  assert.deepEqual(suspensions, []);
  const measuring = processTime.begin();
  kernel.slept(60_000);
  clock.setWall(clock.now() + 60_000);
  clock.advance(100);
  assert.ok(Math.abs(measuring.facts(true).suspendedMs - 60_000) < 100);
  assert.equal(suspensions.length, 1);
});

test('a delay leaves out time in which the process was stopped, and sockets are read before it ends', async () => {
  const { clock, processTime } = open();
  clock.advance(2_000);
  const measuring = processTime.begin();
  const patient = processTime.running(clock);
  const ended: string[] = [];
  patient.after(1_000, () => ended.push('deadline'));
  const cancel = patient.after(1_000, () => ended.push('answered'));
  clock.advance(400);
  clock.stop(30_000);
  clock.advance(600);
  assert.deepEqual(ended, []);
  // What came meanwhile is read here.
  cancel();
  await turn();
  assert.deepEqual(ended, ['deadline']);
  measuring.end();
});

test('a delay is extended by what the agent waited, at most to twice its length', async () => {
  const { clock, kernel, processTime } = open();
  clock.advance(2_000);
  const measuring = processTime.begin();
  const begun = clock.monotonic();
  let endedAt = 0;
  processTime.running(clock).after(1_000, () => {
    endedAt = clock.monotonic() - begun;
  });
  for (let step = 0; step < 400 && endedAt === 0; step += 1) {
    kernel.waited(9);
    clock.advance(10);
    await turn();
  }
  assert.ok(endedAt >= 1_900 && endedAt <= 2_050, `${endedAt}`);
  measuring.end();
});

test('time of a running clock stands still while the process is stopped', () => {
  const { clock, processTime } = open();
  const running = processTime.running(clock);
  clock.advance(1_000);
  const before = running.monotonic();
  clock.stop(60_000);
  assert.ok(running.monotonic() - before < 2_000);
});

test('the shares of the last minute say what the process lacked, also while nothing is measured', () => {
  const { clock, kernel, processTime } = open();
  clock.advance(60_000);
  assert.deepEqual(processTime.load.shares, { cpuWait: null, throttled: 0 });
  for (let second = 0; second < 60; second += 1) {
    kernel.ran(20);
    kernel.waited(80);
    kernel.throttled(300);
    clock.advance(1_000);
  }
  const { cpuWait, throttled } = processTime.load.shares;
  assert.ok(Math.abs((cpuWait ?? 0) - 0.8) < 0.01, `${cpuWait}`);
  assert.ok(Math.abs(throttled - 0.3) < 0.02, `${throttled}`);
  clock.advance(120_000);
  assert.deepEqual(processTime.load.shares, { cpuWait: null, throttled: 0 });
});
