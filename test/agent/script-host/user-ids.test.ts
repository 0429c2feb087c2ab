import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimUserId, isUserOfRuns, takeUserId } from '../../../agent/script-host/user-ids.ts';

test('a user belongs to one run at a time', async () => {
  const users = await Promise.all(Array.from({ length: 40 }, takeUserId));
  const uids = users.map((user) => user?.uid ?? 0);
  assert.equal(new Set(uids).size, 40);
  assert.ok(uids.every(isUserOfRuns), uids.join());
  for (const user of users) await user?.[Symbol.asyncDispose]();
});

test('the user of a run cannot be claimed before that run is over', async () => {
  const user = await takeUserId();
  assert.ok(user !== null);
  assert.equal(await claimUserId(user.uid), null);
  await user[Symbol.asyncDispose]();
  await using claimed = await claimUserId(user.uid);
  assert.equal(claimed?.uid, user.uid);
});
