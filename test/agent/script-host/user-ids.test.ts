import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUserOfRuns, takeUserId } from '../../../agent/script-host/user-ids.ts';

test('a user belongs to one run at a time', async () => {
  const users = await Promise.all(Array.from({ length: 40 }, takeUserId));
  const uids = users.map((user) => user?.uid ?? 0);
  assert.equal(new Set(uids).size, 40);
  assert.ok(uids.every(isUserOfRuns), uids.join());
  for (const user of users) await user?.[Symbol.asyncDispose]();
});
