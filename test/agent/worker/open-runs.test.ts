import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { pino } from 'pino';
import { maxOpenRuns, type OpenRun } from '@monitor/shared/contract/agent-protocol.ts';
import { CallFailure } from '../../../agent/link/control-plane-client.ts';
import { OpenRunReports, openRunsToReport } from '../../../agent/worker/open-runs.ts';
import { TestClock } from '../../support/test-clock.ts';

const run = (startedAt: number): OpenRun => ({
  ...{ runId: randomUUID(), checkId: randomUUID(), slotLocation: 'here', scheduledFor: startedAt },
  ...{ startedAt, attempt: 1 },
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** What was told, second by second, of runs that a test puts into `runs`. */
function reports() {
  const clock = new TestClock(10_000);
  const runs: OpenRun[] = [];
  const told: string[][] = [];
  const link = { isUp: true, failure: null as Error | null };
  const loop = new OpenRunReports({
    runs: () => runs,
    clock,
    isLinkUp: () => link.isUp,
    logger: pino({ level: 'silent' }),
    client: {
      reportOpenRuns: (list) => {
        told.push(list.map(({ runId }) => runId));
        return link.failure === null ? Promise.resolve() : Promise.reject(link.failure);
      },
    },
  });
  const seconds = async (count: number) => {
    for (let second = 0; second < count; second += 1) {
      clock.advance(1_000);
      await settle();
    }
  };
  return { clock, runs, told, link, loop, seconds };
}

test('only runs that last are reported, the oldest first, up to the limit of the protocol', () => {
  const [young, old, oldest] = [run(9_500), run(5_000), run(1_000)];
  assert.deepEqual(openRunsToReport([young, old, oldest], 10_000), [oldest, old]);
  const many = Array.from({ length: maxOpenRuns + 5 }, (_, index) => run(index));
  assert.equal(openRunsToReport(many, 10_000).length, maxOpenRuns);
});

test('runs are reported when they last, again when they end, and not while nothing changes', async () => {
  const { runs, told, loop, seconds, clock } = reports();
  using _loop = loop;
  await seconds(5);
  assert.deepEqual(told, [], 'nothing runs');
  runs.push(run(clock.now()));
  await seconds(2);
  assert.deepEqual(told, [[runs[0]?.runId]]);
  await seconds(20);
  assert.equal(told.length, 1);
  runs.pop();
  await seconds(5);
  assert.deepEqual(told.at(-1), []);
  assert.equal(told.length, 2);
});

test('runs that a control plane forgot or did not receive are reported again', async () => {
  const { runs, told, loop, link, seconds, clock } = reports();
  using _loop = loop;
  runs.push(run(clock.now()));
  link.isUp = false;
  await seconds(3);
  assert.equal(told.length, 0);
  link.isUp = true;
  link.failure = new Error('cut');
  await seconds(2);
  assert.equal(told.length, 2);
  link.failure = null;
  await seconds(3);
  assert.equal(told.length, 3);
  loop.forget();
  await seconds(3);
  assert.equal(told.length, 4);
});

test('a control plane that does not know the call is left alone', async () => {
  const { runs, told, loop, link, seconds, clock } = reports();
  using _loop = loop;
  runs.push(run(clock.now()));
  link.failure = new CallFailure('CONTROL_PLANE_REFUSED', 'answered 404', { statusCode: 404 });
  await seconds(60);
  assert.equal(told.length, 1);
});
