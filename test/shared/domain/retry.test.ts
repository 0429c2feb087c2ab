import assert from 'node:assert/strict';
import test from 'node:test';
import { retryStrategy } from '@monitor/shared/contract/check.ts';
import {
  decideRetry,
  effectiveRetryStrategy,
  retryDelaySeconds,
} from '@monitor/shared/domain/retry.ts';

const strategy = (fields: Record<string, unknown>) => retryStrategy.parse(fields);
const failed = {
  ...{ attempt: 1, hasFailures: true, isNetworkError: false, elapsedMs: 0 },
  hasOtherLocation: false,
};

test('delays grow as the strategy says', () => {
  const delays = (fields: Record<string, unknown>) =>
    [1, 2, 3].map((n) => retryDelaySeconds(strategy(fields), n));
  assert.deepEqual(delays({ type: 'FIXED', baseBackoffSeconds: 10 }), [10, 10, 10]);
  assert.deepEqual(delays({ type: 'LINEAR', baseBackoffSeconds: 10 }), [10, 20, 30]);
  assert.deepEqual(delays({ type: 'EXPONENTIAL', baseBackoffSeconds: 5 }), [5, 25, 125]);
});

test('a run ends after the allowed retries, and after one for SINGLE_RETRY', () => {
  const fixed = strategy({ type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 2 });
  const kinds = (given: typeof fixed) =>
    [1, 2, 3].map((attempt) => decideRetry({ ...failed, strategy: given, attempt }).kind);
  assert.deepEqual(kinds(fixed), ['retry', 'retry', 'final']);
  assert.deepEqual(kinds(strategy({ type: 'SINGLE_RETRY' })), ['retry', 'final', 'final']);
});

test('passes, agent errors and exceeded durations are not retried', () => {
  const fixed = strategy({ type: 'FIXED', baseBackoffSeconds: 60, maxDurationSeconds: 100 });
  assert.equal(decideRetry({ ...failed, strategy: fixed, hasFailures: false }).kind, 'final');
  assert.equal(decideRetry({ ...failed, strategy: null }).kind, 'final');
  assert.equal(decideRetry({ ...failed, strategy: fixed, elapsedMs: 40_000 }).kind, 'retry');
  assert.equal(decideRetry({ ...failed, strategy: fixed, elapsedMs: 40_001 }).kind, 'final');
});

test('onlyOn NETWORK_ERROR retries nothing else, as a word or as a list', () => {
  for (const onlyOn of ['NETWORK_ERROR', ['NETWORK_ERROR']]) {
    const picky = strategy({ type: 'FIXED', onlyOn });
    assert.equal(decideRetry({ ...failed, strategy: picky }).kind, 'final');
    assert.equal(decideRetry({ ...failed, strategy: picky, isNetworkError: true }).kind, 'retry');
  }
});

test('doubleCheck is one immediate retry from another location, where there is one', () => {
  const given = effectiveRetryStrategy({ retryStrategy: null, doubleCheck: true });
  assert.deepEqual(decideRetry({ ...failed, strategy: given, hasOtherLocation: true }), {
    ...{ kind: 'retry', delayMs: 0, where: 'elsewhere' },
  });
  assert.deepEqual(decideRetry({ ...failed, strategy: given }), {
    ...{ kind: 'retry', delayMs: 0, where: 'here' },
  });
  assert.equal(decideRetry({ ...failed, strategy: given, attempt: 2 }).kind, 'final');
  assert.equal(effectiveRetryStrategy({ retryStrategy: null, doubleCheck: false }), null);
});
