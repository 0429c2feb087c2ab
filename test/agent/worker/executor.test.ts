// Own process: the process remembers the runner of each type.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type TestContext } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import type { Job, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { ResultEncryption } from '../../../agent/encryption/result-encryption.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { AgentError } from '../../../agent/errors.ts';
import type { Observation, RunnerContext } from '../../../agent/runners/runner.ts';
import { Executor, type ExecutorOptions } from '../../../agent/worker/executor.ts';
import { ProcessTime } from '../../../agent/worker/process-time.ts';
import { LeaseBook } from '../../../agent/worker/lease-book.ts';
import { Outbox } from '../../../agent/worker/outbox.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { Secret } from '../../../agent/secret.ts';
import { RunIds } from '../../../agent/worker/run-ids.ts';
import { Cipher } from '../../../agent/worker/cipher.ts';
import { temporaryFolder } from '../../support/system.ts';
import { assignedCheck } from '../../support/plain.ts';

const logger = pino({ level: 'silent' });
const seen: Observation = {
  ...{ startedAt: 1, stoppedAt: 2, responseTime: 1, failure: null },
  ...{ request: {}, response: { status: 200 } },
};

let measure: (context: RunnerContext) => Promise<Observation> = () => Promise.resolve(seen);

const noEncryption: ExecutorOptions['encryption'] = { encrypterFor: () => Promise.resolve(null) };

function open(
  t: TestContext,
  encryption = noEncryption,
  key = 'pl_test',
  more: Partial<ExecutorOptions> = {},
) {
  const printed: string[] = [];
  const folder = temporaryFolder();
  const outbox = new Outbox({
    ...{ directory: folder.path, maxBytes: 1e9, maxAgeMs: 1e9, clock: systemClock, logger },
  });
  t.after(async () => {
    await outbox[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const entry = {
    load: () => Promise.resolve((_: unknown, context: RunnerContext) => measure(context)),
    pool: 'light' as const,
  };
  const metrics = createMetrics(new Registry(), '1');
  const leases = new LeaseBook();
  const executor = new Executor({
    encryption,
    liveLogs: { add: (_, line) => printed.push(line), finish: () => Promise.resolve() },
    ...{ clock: systemClock, outbox, logger, ids: new RunIds(), leases },
    processTime: new ProcessTime({ clock: systemClock }),
    missedReason: () => 'agent-overloaded' as const,
    overload: { began: () => undefined, gaveUp: () => undefined },
    runners: { URL: { ...entry, timeoutMs: 1_000 } },
    network: runnerContext().network,
    metrics,
    ...{ scripting: null, scriptingProblem: null, lightConcurrency: 1, heavyConcurrency: 1 },
    isLinkUp: () => true,
    cipher: new Cipher(new Secret(key), 'test'),
    artifactsOf: () => ({
      add: ({ name }) => Promise.resolve(name),
      finish: () => Promise.resolve([]),
      discard: () => Promise.resolve(),
    }),
    onStored: () => undefined,
    ...more,
  });
  const results = (): ResultSubmission[] =>
    outbox
      .take(0, Number.MAX_SAFE_INTEGER, 100, 1e9)
      .map(({ payload }) => JSON.parse(payload) as ResultSubmission);
  return { executor, outbox, leases, metrics, results, printed };
}

function jobOf(fields: Partial<Job['check']> = {}): Job {
  return {
    ...{ id: randomUUID(), runId: randomUUID(), source: 'CLI_TEST_SESSION', scheduledFor: null },
    ...{ slotLocation: 'here', attempt: 1, sequenceStartedAt: null, notBefore: 0, leaseUntil: 0 },
    environmentUrl: null,
    check: assignedCheck({
      ...{ definition: definitionOf('URL', { url: 'http://a.example' }), ...fields },
    }),
  };
}

test('a run that is cancelled while it waits for a permit is never made, and ends as cancelled', async (t) => {
  const { executor, leases, results } = open(t);
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
  assert.deepEqual(leases.jobIds, []);
});

test('what a run prints is streamed, and where results are encrypted it is not, nor is it in the outbox', async (t) => {
  measure = ({ log }) => {
    log('nightingale');
    return Promise.resolve({ ...seen, response: { status: 503, body: 'nightingale' } });
  };
  const { publicKey } = await createKeyFile(null);
  const clock = systemClock;
  const encryption = new ResultEncryption({ pinned: [publicKey], clock, logger });
  for (const [how, streamed] of [
    [noEncryption, ['nightingale']],
    [encryption, []],
  ] as const) {
    const { executor, results, printed } = open(t, how);
    executor.startJob({ ...jobOf(), streamsLogs: true }, 'here', 1);
    await executor.drain();
    assert.deepEqual(printed, streamed);
    const [result] = results();
    assert.equal(result?.hasFailures, true);
    assert.equal(JSON.stringify(result).includes('nightingale'), streamed.length > 0);
  }
});

test('an agent error is recorded with its code, and only then', async (t) => {
  const { executor, results } = open(t);
  measure = () => Promise.reject(new AgentError('NETWORK_UNAVAILABLE', 'no route'));
  executor.startJob(jobOf(), 'here', 1);
  await executor.drain();
  const again = open(t);
  measure = () => Promise.resolve(seen);
  again.executor.startJob(jobOf(), 'here', 1);
  await again.executor.drain();
  assert.deepEqual(
    [...results(), ...again.results()].map(({ hasErrors, faultCode }) => [hasErrors, faultCode]),
    [
      [true, 'NETWORK_UNAVAILABLE'],
      [false, undefined],
    ],
  );
});

const retryStrategy = {
  ...{ type: 'FIXED', baseBackoffSeconds: 60, maxRetries: 2, maxDurationSeconds: 600 },
  ...{ sameRegion: true, onlyOn: [] },
} as NonNullable<Job['check']['retryStrategy']>;

/** A run whose first attempt has failed and whose second one waits. */
async function betweenAttempts(t: TestContext) {
  const opened = open(t);
  measure = () => Promise.resolve({ ...seen, response: { status: 500 } });
  const job = jobOf({ retryStrategy });
  opened.executor.startJob(job, 'here', 1);
  while (opened.results().length === 0) await pause(10);
  return { ...opened, job };
}

test('a run that is cancelled between two attempts ends as cancelled, also on disk', async (t) => {
  const { executor, outbox, leases, results, job } = await betweenAttempts(t);
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
  assert.deepEqual([outbox.pendingRetries(), leases.jobIds], [[], []]);
});

test('a run whose lease is lost between two attempts is not taken up again', async (t) => {
  const { executor, outbox, leases, job } = await betweenAttempts(t);
  executor.loseJobs([job.id]);
  await executor.drain();
  assert.deepEqual([outbox.pendingRetries(), leases.jobIds], [[], []]);
});

test('evidence is gathered without a permit, and less of it when everything fails at once', async (t) => {
  const { executor, results } = open(t);
  const diagnostics = {
    capture: { kind: 'events' as const, packets: 0, missing: null },
    ...{ events: [], traceroute: null, tracerouteMissing: null },
  };
  const levels: string[] = [];
  const { promise: gathered, resolve } = Promise.withResolvers<undefined>();
  measure = () =>
    Promise.resolve({
      ...seen,
      failure: { phase: 'connect', code: 'ECONNREFUSED', message: 'no', isNetworkError: true },
      async evidence(level) {
        levels.push(level);
        if (level !== 'events') await gathered;
        return { diagnostics, pcapReference: null };
      },
    });
  // There is one permit, and no run waits for the evidence of another.
  for (let index = 0; index < 320; index += 1) executor.startJob(jobOf(), 'here', 1);
  while (levels.length < 320) await pause(5);
  const counted = (wanted: string) => levels.filter((level) => level === wanted).length;
  assert.deepEqual(['all', 'packets', 'events'].map(counted), [100, 200, 20]);
  resolve(undefined);
  await executor.drain();
  assert.ok(results().every(({ hasFailures }) => hasFailures));
});

test('a run that waits goes on after a restart, also with another key once its check is assigned again', async (t) => {
  const { check } = jobOf({ retryStrategy });
  const first = open(t);
  measure = () => Promise.resolve({ ...seen, response: { status: 500 } });
  const scheduledFor = Date.now();
  first.executor.startSlot(check, scheduledFor, 'here', 1);
  while (first.outbox.pendingRetries().length === 0) await pause(5);
  const [retry] = first.outbox.pendingRetries();
  assert.ok(retry !== undefined && !retry.payload.includes('a.example'));
  const [attempt] = first.results();
  const rows: [key: string, assigned: Job['check'][], where: string, goesOn: boolean][] = [
    ['pl_test', [], 'here', true],
    ['pl_other', [jobOf().check, check], 'here', true],
    ['pl_other', [check], 'there', false],
    ['pl_other', [jobOf().check], 'here', false],
  ];
  measure = () => Promise.resolve(seen);
  for (const [key, assigned, where, goesOn] of rows) {
    const { executor, results, outbox } = open(t, noEncryption, key);
    executor.resume([{ ...retry, dueAt: Date.now() }]);
    executor.assigned(assigned, where);
    while (goesOn && results().length === 0) await pause(5);
    await executor.drain();
    assert.deepEqual(
      results().map((each) => [each.runId, each.scheduledFor, each.attempt, each.resultType]),
      goesOn ? [[attempt?.runId, scheduledFor, 2, 'FINAL']] : [],
    );
    assert.deepEqual(outbox.pendingRetries(), []);
  }
  await first.executor.drain();
});

/** A run that has failed, and of which evidence is gathered until its deadline. */
async function gathering(t: TestContext, fields: Partial<Job['check']> = {}) {
  const opened = open(t);
  const began = Promise.withResolvers<undefined>();
  const { promise: gathered, resolve: endGathering } = Promise.withResolvers<undefined>();
  measure = () =>
    Promise.resolve({
      ...seen,
      failure: { phase: 'connect', code: 'ECONNREFUSED', message: 'no', isNetworkError: true },
      async evidence(_level, deadline) {
        deadline?.addEventListener('abort', () => {
          endGathering(undefined);
        });
        began.resolve(undefined);
        await gathered;
        const capture = { kind: 'events' as const, packets: 0, missing: null };
        const none = { events: [], traceroute: null, tracerouteMissing: null };
        return { diagnostics: { capture, ...none }, pcapReference: null };
      },
    });
  const job = jobOf(fields);
  opened.executor.startJob(job, 'here', 1);
  await began.promise;
  return { ...opened, job, endGathering };
}

test('what was measured is stored when the process has to end while evidence is gathered', async (t) => {
  const { executor, results } = await gathering(t);
  await executor.abort();
  assert.deepEqual(
    results().map(({ resultType, hasFailures, isCancelled }) => [
      ...[resultType, hasFailures, isCancelled],
    ]),
    [['FINAL', true, false]],
  );
});

test('a run that is cancelled, or lost, while evidence is gathered stays cancelled, or lost', async (t) => {
  const cancelled = await gathering(t);
  cancelled.executor.cancel(cancelled.job.runId);
  cancelled.endGathering(undefined);
  await cancelled.executor.drain();
  assert.deepEqual(
    cancelled.results().map(({ isCancelled, hasFailures }) => [isCancelled, hasFailures]),
    [[true, false]],
  );
  const lost = await gathering(t);
  lost.executor.loseJobs([lost.job.id]);
  lost.endGathering(undefined);
  await lost.executor.drain();
  assert.deepEqual(lost.results(), []);
});

test('the wait for the next attempt begins with the end of the attempt, not of its evidence', async (t) => {
  const begunAt = Date.now();
  const { executor, outbox, metrics, endGathering } = await gathering(t, { retryStrategy });
  const overAt = Date.now();
  await pause(overAt - begunAt + 300);
  endGathering(undefined);
  while (outbox.pendingRetries().length === 0) await pause(5);
  const [retry] = outbox.pendingRetries();
  assert.ok((retry?.dueAt ?? Infinity) <= overAt + 60_000, 'evidence put the next attempt off');
  const { values } = await metrics.runDuration.get();
  const took = values.find(({ metricName }) => metricName?.endsWith('_sum'))?.value ?? Infinity;
  assert.ok(took * 1000 <= overAt - begunAt + 1, 'evidence counted as time of the attempt');
  await executor.drain();
});

test('a shard that is cancelled before it began is given back, and has no result of its own', async (t) => {
  const givenBack: string[] = [];
  const { executor, leases, results } = open(t, noEncryption, 'pl_test', {
    sharedRuns: {
      make: () => Promise.resolve(undefined),
      handInFor: () => Promise.resolve(),
      giveBack(jobId) {
        givenBack.push(jobId);
        leases.release(jobId);
      },
    },
  });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  measure = async () => {
    await promise;
    return seen;
  };
  const [first, second] = [jobOf(), { ...jobOf(), shard: { index: 1, total: 2 } }];
  executor.startJob(first, 'here', 1);
  executor.startJob(second, 'here', 1);
  executor.cancel(second.runId);
  resolve(undefined);
  await executor.drain();
  assert.deepEqual([givenBack, leases.jobIds], [[second.id], []]);
  assert.deepEqual(
    results().map(({ runId }) => runId),
    [first.runId],
  );
});
