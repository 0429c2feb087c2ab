/** Routes of this machine that say no, as a check sees them. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { observeError } from '../../../agent/net/failure.ts';
import { AgentError } from '../../../agent/errors.ts';

const unreachable = Object.assign(new Error('connect EHOSTUNREACH'), { code: 'EHOSTUNREACH' });

test('a host that a route of this machine calls unreachable is an agent error: nothing had left', () => {
  assert.throws(
    () => observeError('connect', unreachable, 'a:80', { hasLeft: false }),
    (error) => error instanceof AgentError && error.code === 'NETWORK_UNAVAILABLE',
  );
});

test('a host that a router or its own network calls unreachable is a failure of the target', () => {
  for (const known of [{ hasLeft: true }, {}]) {
    const failure = observeError('connect', unreachable, 'a:80', known);
    assert.deepEqual([failure.code, failure.isNetworkError], ['EHOSTUNREACH', true]);
  }
});
