import assert from 'node:assert/strict';
import test from 'node:test';
import { Gathered } from '../../../control-plane/core/gathered.ts';

/** Work that ends when the test ends it. */
function stoppable(mostAtOnce: number) {
  const begun: { items: readonly number[]; end: PromiseWithResolvers<void> }[] = [];
  const waiting: (() => void)[] = [];
  const gathered = new Gathered<number, string>(async (items) => {
    const end = Promise.withResolvers<void>();
    begun.push({ items, end });
    waiting.shift()?.();
    await end.promise;
    return items.map((item) => `of ${item}`);
  }, mostAtOnce);
  const next = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  return { gathered, begun, next };
}

test('calls that arrive during the work are worked on together after it, at most so many', async () => {
  const { gathered, begun, next } = stoppable(2);
  let beginning = next();
  const first = gathered.run(1);
  await beginning;
  const later = [2, 3, 4].map((item) => gathered.run(item));
  beginning = next();
  begun[0]?.end.resolve();
  assert.equal(await first, 'of 1');
  await beginning;
  beginning = next();
  begun[1]?.end.resolve();
  await beginning;
  begun[2]?.end.resolve();
  assert.deepEqual(await Promise.all(later), ['of 2', 'of 3', 'of 4']);
  assert.deepEqual(
    begun.map(({ items }) => items),
    [[1], [2, 3], [4]],
  );
});

test('work that fails fails the calls of it, and the next ones are worked on', async () => {
  const { gathered, begun, next } = stoppable(10);
  let beginning = next();
  const failing = [gathered.run(1), gathered.run(2)];
  await beginning;
  const later = gathered.run(3);
  beginning = next();
  begun[0]?.end.reject(new Error('away'));
  for (const call of failing) await assert.rejects(call, /away/);
  await beginning;
  begun[1]?.end.resolve();
  assert.equal(await later, 'of 3');
});
