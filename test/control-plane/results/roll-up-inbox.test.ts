import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { shardOf } from '../../../control-plane/db/shard.ts';
import { addToInbox, takeFromInbox } from '../../../control-plane/results/roll-up-inbox.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';

test('results of the shard that has waited longest are taken first, then those of others', async () => {
  await using cp = await startTestControlPlane();
  const { db } = cp.controlPlane.services;
  const one = randomUUID();
  let other = randomUUID();
  while (shardOf(other) === shardOf(one)) other = randomUUID();
  for (const [index, checkId] of [one, other, one, other].entries()) {
    await addToInbox(db, [{ seq: index + 1, runDay: 0, checkId, occasion: 'finals' }], 1);
  }
  const take = async (limit: number): Promise<number[]> => {
    const { waiting } = await takeFromInbox(db, [shardOf(one), shardOf(other)], limit);
    return waiting.flatMap(({ finals = [] }) => finals).sort();
  };
  assert.deepEqual(await take(2), [1, 3]);
  assert.deepEqual(await take(1), [2]);
  assert.deepEqual(await take(2), [4]);
  assert.deepEqual(await take(2), []);
});
