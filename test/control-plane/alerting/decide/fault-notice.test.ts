import assert from 'node:assert/strict';
import test from 'node:test';
import {
  isFaultOver,
  troublesOf,
  untold,
  type CheckFault,
} from '../../../../control-plane/alerting/decide/fault-notice.ts';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse('2026-11-21T08:00:00Z');

function fault(checkId: string, fields: Partial<CheckFault> = {}, code = 'BROWSER_MISSING') {
  const { since = start, runs = 3 } = fields;
  const kinds = [{ code, runs, message: `no browser for ${checkId}` }];
  return { checkId, since, notedAt: since, lastAt: since, runs, kinds, ...fields };
}

const passedBy = (now: number) => (instant: number) => now - instant;

const codes = (since: number | null, faults: CheckFault[], now: number) =>
  troublesOf({ since, faults }, passedBy(now)).map(({ code }) => code);

test('a location is in trouble after ten minutes and three runs of any of its checks', () => {
  const faults = [fault('a', { runs: 1 }), fault('b', { runs: 1 })];
  assert.deepEqual(codes(start, faults, start + 30 * minute), []);
  const three = [...faults, fault('c', { runs: 1 })];
  assert.deepEqual(codes(start, three, start + 10 * minute - 1), []);
  assert.deepEqual(codes(start, three, start + 10 * minute), [null]);
});

test('after an hour two runs are enough: checks may run once an hour or a day', () => {
  const once = fault('a', { runs: 1 });
  assert.deepEqual(codes(start, [once], start + 48 * hour), []);
  const twice = fault('a', { runs: 2 });
  assert.deepEqual(codes(start, [twice], start + hour - 1), []);
  assert.deepEqual(codes(start, [twice], start + hour), [null]);
});

test('errors count from when they were heard of: a backlog has not lasted yet', () => {
  const backlog = fault('a', { runs: 60, notedAt: start + hour });
  assert.deepEqual(codes(start, [backlog], start + hour + 9 * minute), []);
  assert.deepEqual(codes(start, [backlog], start + hour + 10 * minute), [null]);
});

test('while others are fine, each code is one trouble of all checks that have it', () => {
  const faults = [
    fault('a'),
    fault('b', { since: start + minute }),
    fault('c', {}, 'RUNTIME_MISSING'),
    fault('new', { runs: 2 }),
  ];
  assert.deepEqual(troublesOf({ since: null, faults }, passedBy(start + 11 * minute)), [
    {
      ...{ code: 'BROWSER_MISSING', since: start, runs: 6, checkIds: ['a', 'b'] },
      kind: { code: 'BROWSER_MISSING', runs: 6, message: 'no browser for b' },
    },
    {
      ...{ code: 'RUNTIME_MISSING', since: start, runs: 3, checkIds: ['c'] },
      kind: { code: 'RUNTIME_MISSING', runs: 3, message: 'no browser for c' },
    },
  ]);
});

test('a check that was in trouble before is no sign of a location in trouble', () => {
  const old = fault('old', { runs: 30 });
  const since = start + 30 * minute;
  assert.deepEqual(codes(since, [old], start + hour), ['BROWSER_MISSING']);
  const fresh = fault('fresh', { since, runs: 3 });
  assert.deepEqual(codes(since, [old, fresh], start + hour), [null]);
});

test('the most common error stands for a location, whichever check met it', () => {
  const faults = [
    fault('a', { runs: 4 }),
    fault('b', { runs: 3 }, 'NETWORK_UNAVAILABLE'),
    fault('c', { runs: 3 }, 'NETWORK_UNAVAILABLE'),
  ];
  const [trouble] = troublesOf({ since: start, faults }, passedBy(start + hour));
  assert.deepEqual(
    [trouble?.kind?.code, trouble?.kind?.runs, trouble?.runs],
    ['NETWORK_UNAVAILABLE', 6, 10],
  );
});

test('who knows of the location is not told of its codes, but the other way round', () => {
  const ofCode = troublesOf({ since: null, faults: [fault('a')] }, passedBy(start + hour));
  const whole = troublesOf({ since: start, faults: [fault('a')] }, passedBy(start + hour));
  assert.deepEqual(untold(ofCode, new Set([null])), []);
  assert.deepEqual(untold(ofCode, new Set(['BROWSER_MISSING'])), []);
  assert.deepEqual(untold(ofCode, new Set(['RUNTIME_MISSING'])), ofCode);
  assert.deepEqual(untold(whole, new Set(['BROWSER_MISSING'])), whole);
});

test('a location is over with a result, a code when no check has it any more', () => {
  const faults = [fault('a')];
  assert.equal(isFaultOver(null, faults, false), false);
  assert.equal(isFaultOver(null, faults, true), true);
  assert.equal(isFaultOver(null, [], false), true, 'nothing runs there any more');
  assert.equal(isFaultOver('BROWSER_MISSING', faults, true), false);
  assert.equal(isFaultOver('RUNTIME_MISSING', faults, false), true);
});
