import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { WriteWatch } from '../../../control-plane/core/write-watch.ts';
import { Again, LeaseLost, startTimers } from '../../../control-plane/core/timers.ts';
import { createMetrics } from '../../../control-plane/observability/metrics.ts';
import { TestClock } from '../../support/test-clock.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function setUp(on: 'all' | 'one', run: () => Promise<unknown>) {
  const clock = new TestClock(0);
  const logged: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => logged.push(line) });
  const metrics = createMetrics(new Registry(), 'test');
  const leases = {
    isHeld: false,
    holds: () => leases.isHeld,
    tryHold: () => Promise.resolve(leases.isHeld),
  };
  const timers = startTimers(
    [{ name: 'count', everyMs: 10_000, on, run }],
    clock,
    logger,
    metrics,
    new WriteWatch(clock, logger),
    leases,
  );
  const failures = async () => (await metrics.timerFailures.get()).values.length;
  return { clock, leases, logged, failures, timers };
}

test('an operation of one replica runs on the holder of its lease, and on the next one soon', async () => {
  let runs = 0;
  const { clock, leases, timers } = setUp('one', () => Promise.resolve((runs += 1) && false));
  await using _timers = timers;
  for (let passed = 0; passed < 30; passed += 1) {
    clock.advance(1_000);
    await turn();
  }
  assert.equal(runs, 0);
  leases.isHeld = true;
  clock.advance(2_000);
  await turn();
  assert.equal(runs, 1, 'it does not wait for its own period');
  clock.advance(9_000);
  await turn();
  assert.equal(runs, 1);
});

test('an operation of all replicas needs no lease', async () => {
  let runs = 0;
  const { clock, timers } = setUp('all', () => Promise.resolve((runs += 1) && false));
  await using _timers = timers;
  clock.advance(10_000);
  await turn();
  assert.equal(runs, 1);
});

test('a lease that was lost while an operation ran is no failure', async () => {
  const { clock, leases, failures, logged, timers } = setUp('one', () =>
    Promise.reject(new LeaseLost('count')),
  );
  await using _timers = timers;
  leases.isHeld = true;
  clock.advance(10_000);
  await turn();
  assert.equal(await failures(), 0);
  assert.match(logged.join(''), /another replica has taken over count/);
});

test('an operation that is not done goes on when others have had the event loop', async () => {
  let runs = 0;
  const { clock, timers } = setUp('all', () => {
    runs += 1;
    return Promise.resolve(runs < 3 && new Again(15));
  });
  await using _timers = timers;
  for (const [passed, expected] of [
    [10_000, 1],
    [14, 1],
    [1, 2],
    [15, 3],
    [9_999, 3],
    [1, 4],
  ] as const) {
    clock.advance(passed);
    await turn();
    assert.equal(runs, expected);
  }
});
