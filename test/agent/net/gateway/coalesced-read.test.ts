import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoalescedRead } from '../../../../agent/net/gateway/coalesced-read.ts';

test('one read serves all callers from before it began, and no caller gets an older one', async () => {
  const looks: PromiseWithResolvers<number>[] = [];
  const shared = new CoalescedRead(() => {
    const look = Promise.withResolvers<number>();
    looks.push(look);
    return look.promise;
  });
  const first = shared.read();
  await Promise.resolve();
  const later = [shared.read(), shared.read()];
  await Promise.resolve();
  assert.equal(looks.length, 1, 'one at a time');
  looks[0]?.reject(new Error('no'));
  await assert.rejects(first, /no/);
  await Promise.resolve();
  assert.equal(looks.length, 2);
  looks[1]?.resolve(2);
  assert.deepEqual(await Promise.all(later), [2, 2]);
});
