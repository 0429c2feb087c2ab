import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type TestContext } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import type { Job, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { Executor } from '../../../agent/worker/execute-run.ts';
import { LagMeter } from '../../../agent/worker/lag-meter.ts';
import { Outbox } from '../../../agent/worker/outbox.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { Secret } from '../../../agent/secret.ts';
import { Seal } from '../../../agent/worker/seal.ts';
import { temporaryFolder } from '../../support/system.ts';
import { withoutCode } from '../../support/plain.ts';

const logger = pino({ level: 'silent' });
const seen: Observation = {
  ...{ startedAt: 1, stoppedAt: 2, responseTime: 1, failure: null },
  ...{ request: {}, response: { status: 200 } },
};

let measure: () => Promise<Observation> = () => Promise.resolve(seen);

function open(t: TestContext) {
  const folder = temporaryFolder();
  const outbox = new Outbox({
    ...{ directory: folder.path, maxBytes: 1e9, maxAgeMs: 1e9, clock: systemClock, logger },
  });
  t.after(async () => {
    await outbox[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const entry = { load: () => Promise.resolve(() => measure()), pool: 'light' as const };
  const executor = new Executor({
    ...{ clock: systemClock, outbox, logger, lagMeter: new LagMeter() },
    runners: { URL: { ...entry, timeoutMs: 1_000 } },
    network: runnerContext().network,
    metrics: createMetrics(new Registry(), '1'),
    ...{ scripting: null, scriptingProblem: null, lightConcurrency: 1, heavyConcurrency: 1 },
    isLinkUp: () => true,
    seal: new Seal(new Secret('pl_test'), 'test'),
    artifactsOf: () => ({
      add: ({ name }) => Promise.resolve(name),
      finish: () => Promise.resolve([]),
      discard: () => Promise.resolve(),
    }),
    onStored: () => undefined,
  });
  const results = (): ResultSubmission[] =>
    outbox
      .take(0, Number.MAX_SAFE_INTEGER, 100, 1e9)
      .map(({ payload }) => JSON.parse(payload) as ResultSubmission);
  return { executor, outbox, results };
}

function jobOf(fields: Partial<Job['check']> = {}): Job {
  return {
    ...{ id: randomUUID(), runId: randomUUID(), source: 'CLI_TEST_SESSION', scheduledFor: null },
    ...{ slotLocation: 'here', attempt: 1, sequenceStartedAt: null, notBefore: 0, leaseUntil: 0 },
    environmentUrl: null,
    check: {
      ...{ id: randomUUID(), revision: 1, type: 'URL', name: 'a', frequency: 1 },
      ...{ frequencyOffset: 1, runParallel: false, locations: ['here'], scheduleFrom: 0 },
      ...{ retryStrategy: null, proxyUrl: null, ...withoutCode },
      definition: definitionOf('URL', { url: 'http://a.example' }),
      ...fields,
    },
  };
}

test('a run that is cancelled while it waits for a place is never made, and ends as cancelled', async (t) => {
  const { executor, results } = open(t);
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let made = 0;
  measure = async () => {
    made += 1;
    await promise;
    return seen;
  };
  const [first, second] = [jobOf(), jobOf()];
  executor.startJob(first, 'here', 1);
  executor.startJob(second, 'here', 1);
  executor.cancel(second.runId);
  resolve(undefined);
  await executor.drain();
  assert.equal(made, 1);
  assert.deepEqual(
    results().map(({ runId, isCancelled }) => [runId, isCancelled]),
    [
      [first.runId, false],
      [second.runId, true],
    ],
  );
  assert.deepEqual(executor.activeJobs, []);
});

/** A run whose first attempt has failed and whose second one waits. */
async function betweenAttempts(t: TestContext) {
  const opened = open(t);
  measure = () => Promise.resolve({ ...seen, response: { status: 500 } });
  const retryStrategy = {
    ...{ type: 'FIXED', baseBackoffSeconds: 60, maxRetries: 2, maxDurationSeconds: 600 },
    ...{ sameRegion: true, onlyOn: [] },
  } as NonNullable<Job['check']['retryStrategy']>;
  const job = jobOf({ retryStrategy });
  opened.executor.startJob(job, 'here', 1);
  while (opened.results().length === 0) await pause(10);
  return { ...opened, job };
}

test('a run that is cancelled between two attempts ends as cancelled, also on disk', async (t) => {
  const { executor, outbox, results, job } = await betweenAttempts(t);
  assert.equal(outbox.pendingRetries().length, 1);
  executor.cancel(job.runId);
  await executor.drain();
  assert.deepEqual(
    results().map(({ attempt, resultType, isCancelled }) => [attempt, resultType, isCancelled]),
    [
      [1, 'ATTEMPT', false],
      [2, 'FINAL', true],
    ],
  );
  assert.deepEqual([outbox.pendingRetries(), executor.activeJobs], [[], []]);
});

test('a run whose lease is lost between two attempts is not taken up again', async (t) => {
  const { executor, outbox, job } = await betweenAttempts(t);
  executor.loseJobs([job.id], () => job.runId);
  await executor.drain();
  assert.deepEqual([outbox.pendingRetries(), executor.activeJobs], [[], []]);
});
