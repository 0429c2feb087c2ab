import assert from 'node:assert/strict';
import test from 'node:test';
import { outcomeWithoutAttempt } from '../../../agent/worker/attempt.ts';
import { concludeAttempt, type EndedAttempt } from '../../../agent/worker/conclude-attempt.ts';
import type { Run } from '../../../agent/worker/run.ts';
import { definitionOf } from '../../support/runner-context.ts';
import { assignedCheck } from '../../support/plain.ts';

const start = Date.UTC(2026, 0, 1);

function failedRun(check: Partial<Run['check']> = {}, fields: Partial<Run> = {}): Run {
  return {
    check: assignedCheck({
      locations: ['here', 'there'],
      retryStrategy: {
        ...{ type: 'LINEAR', baseBackoffSeconds: 10, maxRetries: 2, maxDurationSeconds: 600 },
        ...{ sameRegion: true, onlyOn: [] },
      },
      definition: definitionOf('URL', { url: 'http://a.example' }),
      ...check,
    }),
    ...{ runId: 'run', slotLocation: 'here', runLocation: 'here', scheduledFor: start },
    ...{ jobId: null, attempt: 1, sequenceStartedAt: null, epoch: 7, source: null },
    environmentUrl: null,
    ...fields,
  };
}

function ended(run: Run, endedAt: number, fields: Partial<EndedAttempt> = {}): EndedAttempt {
  const outcome = { ...outcomeWithoutAttempt(endedAt), hasFailures: true, errorMessages: ['no'] };
  return {
    ...{ run, outcome, resultId: `result ${run.attempt}`, isCancelled: false },
    ...{ sequenceStartedAt: run.sequenceStartedAt ?? start, endedAt },
    ...fields,
  };
}

test('a run is retried here after growing delays until its strategy ends', () => {
  const seen: unknown[] = [];
  let run: Run | null = failedRun();
  let now = start;
  while (run !== null) {
    now += 1_000;
    const { submission, retry, retriedWhere } = concludeAttempt(ended(run, now), true);
    seen.push([submission.attempt, submission.resultType, retriedWhere, now - start]);
    run = retry?.run ?? null;
    now = retry?.dueAt ?? now;
  }
  assert.deepEqual(seen, [
    [1, 'ATTEMPT', 'here', 1_000],
    [2, 'ATTEMPT', 'here', 12_000],
    [3, 'FINAL', null, 33_000],
  ]);
});

test('another location goes on only while the link is up; the result then says when', () => {
  const elsewhere = failedRun({
    retryStrategy: {
      ...{ type: 'FIXED', baseBackoffSeconds: 5, maxRetries: 1, maxDurationSeconds: 600 },
      ...{ sameRegion: false, onlyOn: [] },
    },
  });
  const up = concludeAttempt(ended(elsewhere, start + 1_000), true);
  assert.deepEqual([up.retriedWhere, up.retry], ['elsewhere', null]);
  assert.deepEqual(up.submission.retryElsewhere, {
    notBefore: start + 6_000,
    sequenceStartedAt: start,
  });
  const down = concludeAttempt(ended(elsewhere, start + 1_000), false);
  assert.deepEqual([down.retriedWhere, down.retry?.dueAt], ['here', start + 6_000]);
  assert.equal(down.submission.retryElsewhere, null);
});

test('an agent error is final, and carries its code', () => {
  const outcome = {
    ...outcomeWithoutAttempt(start),
    ...{ hasErrors: true, faultCode: 'NETWORK_UNAVAILABLE' },
  };
  const { submission, retry } = concludeAttempt(ended(failedRun(), start, { outcome }), true);
  assert.deepEqual(
    [submission.resultType, submission.hasErrors, submission.faultCode, retry],
    ['FINAL', true, 'NETWORK_UNAVAILABLE', null],
  );
});

test('a cancelled run is final and claims nothing about its target', () => {
  const cancelled = ended(failedRun(), start, { isCancelled: true });
  const { submission, retry } = concludeAttempt(cancelled, true);
  const { isCancelled, hasFailures, hasErrors, errorMessages, resultType } = submission;
  assert.deepEqual(
    { isCancelled, hasFailures, hasErrors, errorMessages, resultType },
    {
      ...{ isCancelled: true, hasFailures: false, hasErrors: false, errorMessages: [] },
      resultType: 'FINAL',
    },
  );
  assert.equal(retry, null);
});
