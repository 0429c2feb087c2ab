import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUserOfOwnRuns, takeUserId } from '../../../agent/script-host/user-ids.ts';

test('a user belongs to runs of this agent only while a run has it', async () => {
  const user = await takeUserId();
  assert.ok(user !== null);
  // People of a directory service have numbers like these, and so have runs of other agents.
  const neighbour = user.uid === 59_999 ? user.uid - 1 : user.uid + 1;
  assert.deepEqual([user.uid, neighbour].map(isUserOfOwnRuns), [true, false]);
  await user[Symbol.asyncDispose]();
  assert.equal(isUserOfOwnRuns(user.uid), false);
});
