import assert from 'node:assert/strict';
import test from 'node:test';
import type { CheckListOrder } from '@monitor/shared/contract/check-overview.ts';
import { inOrder, type ListedCheck } from '../../../control-plane/results/decide/check-list.ts';

const check = (name: string, fields: Partial<ListedCheck> = {}): ListedCheck => ({
  ...{ id: name, name, type: 'URL', groupId: null, status: 'PASSING', lastRunAt: null },
  ...fields,
});

function names(
  checks: readonly ListedCheck[],
  sort: CheckListOrder,
  reversed = false,
  figures: [id: string, availability: number | null, p95: number | null][] = [],
): string {
  const of = new Map(figures.map(([id, availability, p95]) => [id, { availability, p95 }]));
  return inOrder(checks, { sort, reversed }, of)
    .map(({ name }) => name)
    .join();
}

test('names are in the order in which people read them', () => {
  for (const expected of [
    'shop 2,Shop 9,shop 10,shop 010b',
    'a,Ä b,ab,É,e2,zoo',
    '1,02,10,a,b1,b1.5,b1.40',
    'x18446744073709551616,x118446744073709551616',
  ]) {
    const list = expected.split(',');
    assert.equal(
      names(
        list.toReversed().map((name) => check(name)),
        'name',
      ),
      expected,
    );
    assert.equal(
      names(
        list.map((name) => check(name)),
        'name',
        true,
      ),
      list.toReversed().join(),
    );
  }
});

test('equal ones are by name and missing ones last, in both directions', () => {
  const checks = [
    check('d', { lastRunAt: 5, status: 'FAILING' }),
    check('c', { type: 'API' }),
    check('b', { lastRunAt: 9, status: 'FAILING' }),
    check('a', { lastRunAt: 5, status: 'UNKNOWN' }),
  ];
  assert.equal(names(checks, 'lastRun'), 'b,a,d,c');
  assert.equal(names(checks, 'lastRun', true), 'a,d,b,c');
  assert.equal(names(checks, 'status'), 'b,d,a,c');
  assert.equal(names(checks, 'status', true), 'c,a,b,d');
  assert.equal(names(checks, 'type'), 'c,a,b,d');
  const figures: Parameters<typeof names>[3] = [
    ['a', 99.5, null],
    ['b', 100, 20],
    ['c', null, 300],
  ];
  assert.equal(names(checks, 'availability', false, figures), 'a,b,c,d');
  assert.equal(names(checks, 'availability', true, figures), 'b,a,c,d');
  assert.equal(names(checks, 'p95', false, figures), 'c,b,a,d');
  assert.equal(names(checks, 'p95', true, figures), 'b,c,a,d');
});
