import assert from 'node:assert/strict';
import test from 'node:test';
import { EvidenceBudget, evidenceLevel } from '../../../agent/worker/evidence-budget.ts';

test('the more attempts gather at once, the less each of them may', () => {
  const levels = [1, 100, 101, 300, 301, 10_000].map(evidenceLevel);
  assert.deepEqual(levels, ['all', 'all', 'packets', 'packets', 'events', 'events']);
});

test('an attempt counts from its failure until its result is stored', () => {
  const budget = new EvidenceBudget();
  const shares = Array.from({ length: 101 }, () => budget.open());
  assert.equal(shares[0]?.begin(), 'all', 'shares that have not begun do not count');
  for (const share of shares.slice(1, 100)) share.begin();
  assert.equal(shares[100]?.begin(), 'packets');
  for (const share of shares) share[Symbol.dispose]();
  using after = budget.open();
  assert.equal(after.begin(), 'all');
});

test('cutting ends what is gathered, and waits until it is stored', async () => {
  const budget = new EvidenceBudget();
  const [gathering, measuring] = [budget.open(), budget.open()];
  gathering.begin();
  let isCut = false;
  const cut = budget.cut().then(() => {
    isCut = true;
  });
  assert.deepEqual([gathering.deadline.aborted, measuring.deadline.aborted], [true, false]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isCut, false);
  gathering[Symbol.dispose]();
  await cut;
  measuring[Symbol.dispose]();
});
