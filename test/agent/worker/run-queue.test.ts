import assert from 'node:assert/strict';
import test from 'node:test';
import { RunQueue, type Turn } from '../../../agent/worker/run-queue.ts';
import type { Run } from '../../../agent/worker/run.ts';
import { definitionOf } from '../../support/runner-context.ts';
import { TestClock } from '../../support/test-clock.ts';
import { assignedCheck } from '../../support/plain.ts';

const start = Date.UTC(2026, 0, 1);

function runNamed(runId: string, sequenceStartedAt: number | null = null): Run {
  return {
    check: assignedCheck({ definition: definitionOf('URL', { url: 'http://a.example' }) }),
    ...{ runId, slotLocation: 'here', runLocation: 'here', scheduledFor: null, jobId: null },
    ...{ attempt: 1, sequenceStartedAt, epoch: 1, source: null, environmentUrl: null },
  };
}

/** A queue with one permit, whose attempts end when the test says so. */
function openQueue(permits = 1) {
  const clock = new TestClock(start);
  const begun: string[] = [];
  const turns = new Map<string, Turn & { finish: () => void }>();
  const queuedMs: number[] = [];
  const queue = new RunQueue({
    ...{ clock, permits: { light: permits, heavy: 1 }, poolOf: () => 'light' as const },
    async attempt({ runId }, turn) {
      begun.push(runId);
      const { promise, resolve } = Promise.withResolvers<void>();
      turns.set(runId, { ...turn, finish: resolve });
      await promise;
      turn.end();
    },
    onPermit: (_run, _pool, ms) => queuedMs.push(ms),
    onBroken: (error) => {
      throw error;
    },
  });
  const turn = (runId: string) => {
    const found = turns.get(runId);
    assert.ok(found !== undefined, `${runId} has not begun`);
    return found;
  };
  const open = () => [...queue.openRuns()].map(({ runId }) => runId);
  return { queue, clock, begun, turn, queuedMs, open };
}

/** Lets promises that are settled go on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a run is queued when its time has come, and begins when there is a permit', async () => {
  const { queue, clock, begun, turn, queuedMs } = openQueue();
  queue.add(runNamed('now'));
  queue.add(runNamed('later'), 5_000);
  clock.advance(4_999);
  await settled();
  assert.deepEqual(begun, ['now']);
  assert.deepEqual(queue.pool('light'), { running: 1, queued: 0, permits: 1 });
  clock.advance(1);
  assert.deepEqual(queue.pool('light'), { running: 1, queued: 1, permits: 1 });
  clock.advance(2_000);
  turn('now').finish();
  await settled();
  assert.deepEqual(
    [begun, queuedMs],
    [
      ['now', 'later'],
      [0, 2_000],
    ],
  );
  turn('later').finish();
  await queue.drain();
});

test('an attempt that is measured gives its permit to the next, and is still waited for', async () => {
  const { queue, begun, turn, open } = openQueue();
  queue.add(runNamed('first'));
  queue.add(runNamed('second'));
  await settled();
  turn('first').measured();
  await settled();
  assert.deepEqual(begun, ['first', 'second']);
  assert.deepEqual(open(), ['first', 'second']);
  assert.equal(queue.size, 2);
  turn('first').finish();
  turn('second').finish();
  await queue.drain();
  assert.deepEqual([open(), queue.size], [[], 0]);
});

test('a waiting run that is cancelled is given back and never begins', async () => {
  const { queue, clock, begun } = openQueue();
  const waiting = runNamed('waiting', start);
  queue.add(waiting, 60_000);
  assert.equal(queue.cancel('waiting'), waiting);
  assert.equal(queue.cancel('waiting'), null);
  clock.advance(120_000);
  await queue.drain();
  assert.deepEqual(begun, []);
});

test('a run in progress learns whether a person ended it or its lease is lost', async () => {
  const { queue, turn } = openQueue(2);
  queue.add(runNamed('cancelled'));
  queue.add(runNamed('dropped'));
  await settled();
  assert.equal(queue.cancel('cancelled'), null);
  queue.drop('dropped');
  const seen = ['cancelled', 'dropped'].map((runId) => {
    const { signal, isCancelled } = turn(runId);
    return [signal.aborted, isCancelled()];
  });
  assert.deepEqual(seen, [
    [true, true],
    [true, false],
  ]);
  turn('cancelled').finish();
  turn('dropped').finish();
  await queue.drain();
});

test('open runs are those in progress and those that wait for a retry, not those that have not begun', async () => {
  const { queue, turn, open } = openQueue();
  queue.add(runNamed('running'));
  queue.add(runNamed('retried', start - 1_000), 10_000);
  queue.add(runNamed('due later'), 10_000);
  assert.deepEqual(open(), ['running', 'retried']);
  await settled();
  turn('running').finish();
  await queue.drain();
});

test('draining forgets what waits for its time, and finishes what is queued', async () => {
  const { queue, clock, begun, turn } = openQueue();
  queue.add(runNamed('running'));
  queue.add(runNamed('queued'));
  queue.add(runNamed('waiting'), 1_000);
  const drained = queue.drain();
  queue.add(runNamed('too late'));
  clock.advance(5_000);
  await settled();
  turn('running').finish();
  await settled();
  turn('queued').finish();
  await drained;
  assert.deepEqual(begun, ['running', 'queued']);
});

test('aborting ends attempts that are not over, and spares those of which evidence is gathered', async () => {
  const { queue, turn } = openQueue(2);
  queue.add(runNamed('measuring'));
  queue.add(runNamed('measured'));
  await settled();
  turn('measured').measured();
  queue.abort();
  assert.deepEqual(
    [turn('measuring').signal.aborted, turn('measured').signal.aborted],
    [true, false],
  );
  turn('measuring').finish();
  turn('measured').finish();
  await queue.drain();
});

test('a permit that is given back early goes to one other run, and its own can still be ended', async () => {
  const { queue, begun, turn } = openQueue();
  for (const name of ['first', 'second', 'third']) queue.add(runNamed(name));
  await settled();
  turn('first').releasePermit();
  turn('first').releasePermit();
  await settled();
  assert.deepEqual(begun, ['first', 'second']);
  queue.abort();
  assert.equal(turn('first').signal.aborted, true);
  for (const name of ['first', 'second']) turn(name).finish();
  await settled();
  turn('third').finish();
  await queue.drain();
});
