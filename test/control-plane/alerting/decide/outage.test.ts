import assert from 'node:assert/strict';
import test from 'node:test';
import {
  isOutageOver,
  outagesOf,
  unnotified,
  type CheckStreak,
} from '../../../../control-plane/alerting/decide/error-streak.ts';

const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse('2026-11-21T08:00:00Z');

function streak(checkId: string, fields: Partial<CheckStreak> = {}, code = 'BROWSER_MISSING') {
  const { since = start, runs = 3 } = fields;
  const kinds = [{ code, runs, message: `no browser for ${checkId}` }];
  return { checkId, since, notedAt: since, lastAt: since, runs, kinds, ...fields };
}

const passedBy = (now: number) => (instant: number) => now - instant;

const codes = (since: number | null, streaks: CheckStreak[], now: number) =>
  outagesOf({ since, streaks }, passedBy(now)).map(({ code }) => code);

test('a location is in outage after ten minutes and three runs of any of its checks', () => {
  const streaks = [streak('a', { runs: 1 }), streak('b', { runs: 1 })];
  assert.deepEqual(codes(start, streaks, start + 30 * minute), []);
  const three = [...streaks, streak('c', { runs: 1 })];
  assert.deepEqual(codes(start, three, start + 10 * minute - 1), []);
  assert.deepEqual(codes(start, three, start + 10 * minute), [null]);
});

test('after an hour two runs are enough: checks may run once an hour or a day', () => {
  const once = streak('a', { runs: 1 });
  assert.deepEqual(codes(start, [once], start + 48 * hour), []);
  const twice = streak('a', { runs: 2 });
  assert.deepEqual(codes(start, [twice], start + hour - 1), []);
  assert.deepEqual(codes(start, [twice], start + hour), [null]);
});

test('errors count from when they were heard of: a backlog has not lasted yet', () => {
  const backlog = streak('a', { runs: 60, notedAt: start + hour });
  assert.deepEqual(codes(start, [backlog], start + hour + 9 * minute), []);
  assert.deepEqual(codes(start, [backlog], start + hour + 10 * minute), [null]);
});

test('while others are fine, each code is one outage of all checks that have it', () => {
  const streaks = [
    streak('a'),
    streak('b', { since: start + minute }),
    streak('c', {}, 'RUNTIME_MISSING'),
    streak('new', { runs: 2 }),
  ];
  assert.deepEqual(outagesOf({ since: null, streaks }, passedBy(start + 11 * minute)), [
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

test('a check that was in outage before is no sign of a location in outage', () => {
  const old = streak('old', { runs: 30 });
  const since = start + 30 * minute;
  assert.deepEqual(codes(since, [old], start + hour), ['BROWSER_MISSING']);
  const fresh = streak('fresh', { since, runs: 3 });
  assert.deepEqual(codes(since, [old, fresh], start + hour), [null]);
});

test('the most common error stands for a location, whichever check met it', () => {
  const streaks = [
    streak('a', { runs: 4 }),
    streak('b', { runs: 3 }, 'NETWORK_UNAVAILABLE'),
    streak('c', { runs: 3 }, 'NETWORK_UNAVAILABLE'),
  ];
  const [outage] = outagesOf({ since: start, streaks }, passedBy(start + hour));
  assert.deepEqual(
    [outage?.kind?.code, outage?.kind?.runs, outage?.runs],
    ['NETWORK_UNAVAILABLE', 6, 10],
  );
});

test('who was notified of the location is not notified of its codes, but the other way round', () => {
  const ofCode = outagesOf({ since: null, streaks: [streak('a')] }, passedBy(start + hour));
  const whole = outagesOf({ since: start, streaks: [streak('a')] }, passedBy(start + hour));
  assert.deepEqual(unnotified(ofCode, new Set([null])), []);
  assert.deepEqual(unnotified(ofCode, new Set(['BROWSER_MISSING'])), []);
  assert.deepEqual(unnotified(ofCode, new Set(['RUNTIME_MISSING'])), ofCode);
  assert.deepEqual(unnotified(whole, new Set(['BROWSER_MISSING'])), whole);
});

test('a location is over with a result, a code when no check has it any more', () => {
  const streaks = [streak('a')];
  const ofLocation = { code: null, since: start };
  assert.equal(isOutageOver(ofLocation, { since: start, streaks }), false);
  assert.equal(isOutageOver(ofLocation, { since: null, streaks }), true);
  assert.equal(isOutageOver(ofLocation, { since: start + 1, streaks }), true, 'another one began');
  const late = { since: start - 1, streaks };
  assert.equal(isOutageOver(ofLocation, late), true, 'a late error began another one');
  assert.equal(isOutageOver(ofLocation, { since: start, streaks: [] }), true, 'nothing runs there');
  const isOver = (code: string) => isOutageOver({ code, since: start }, { since: null, streaks });
  assert.equal(isOver('BROWSER_MISSING'), false);
  assert.equal(isOver('RUNTIME_MISSING'), true);
});
