import assert from 'node:assert/strict';
import test from 'node:test';
import { ClockTrust } from '../../../../control-plane/reception/decide/clock-trust.ts';
import type { Gap } from '../../../../control-plane/reception/decide/receivable-time.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

const step = (stepMs: number): Gap => ({
  cause: 'clock-step',
  ...{ from: 0, to: stepMs, lostMs: 0, stepMs },
});
const pause = (lostMs: number): Gap => ({
  cause: 'down',
  ...{ from: 0, to: lostMs, lostMs, stepMs: 0 },
});

/** Whether it is trusted some minutes after a gap, when these votes come once a minute. */
function isTrusted(gaps: Gap[], votes: [account: string, aheadMs: number][], lastsMs: number) {
  const trust = new ClockTrust();
  for (const gap of gaps) trust.onGap(gap, 0);
  for (let at = 2 * minute; at < lastsMs; at += minute) {
    votes.forEach(([accountId, aheadMs], index) => {
      trust.hear({ accountId, location: `place-${index}` }, aheadMs, at);
    });
    trust.isTrusted(at);
  }
  return trust.isTrusted(lastsMs);
}

const many = (account: string, aheadMs: number, count: number): [string, number][] =>
  Array.from({ length: count }, () => [account, aheadMs]);

test('whether a clock is believed follows from its gaps and from the agents of all accounts', () => {
  const cases: [says: string, expected: boolean, Parameters<typeof isTrusted>][] = [
    ['a small step', true, [[step(10 * minute)], [], 0]],
    ['a step, and nothing is heard', false, [[step(year)], [], hour]],
    ['the same for a day', true, [[step(year)], [], day]],
    ['confirmed', true, [[step(3 * hour)], [['a', 20]], hour]],
    ['contradicted', false, [[step(year)], [['a', year]], 3 * day]],
    [
      'the agent on its machine speaks first, and others contradict',
      false,
      [
        [step(year)],
        [
          ['a', 0],
          ['a', year],
          ['a', year],
        ],
        3 * day,
      ],
    ],
    ['both of one account', false, [[step(year)], [['a', 0], ...many('a', year, 1)], 3 * day]],
    [
      'a hostile account with many locations against two honest ones',
      true,
      [[step(3 * hour)], [...many('x', 3 * hour, 90), ['a', 0], ['b', 0]], hour],
    ],
    [
      'a hostile account confirms what two honest ones contradict',
      false,
      [[step(year)], [...many('x', 0, 90), ['a', year], ['b', year]], 3 * day],
    ],
    [
      'agents that are wrong for another reason contradict nothing',
      true,
      [[pause(2 * day)], [['a', 0], ...many('b', -2 * hour, 3), ...many('c', 5 * day, 3)], hour],
    ],
    ['two minutes do not matter', true, [[pause(2 * day)], [['a', 2 * minute]], hour]],
    ['set right in parts: not yet', false, [[step(year), step(-3 * hour)], [], hour]],
    ['set right in parts', true, [[step(year), step(-3 * hour), step(3 * hour - year)], [], 0]],
  ];
  for (const [says, expected, given] of cases) assert.equal(isTrusted(...given), expected, says);
});

test('after a small step, agents are heard again before a day without them counts', () => {
  const trust = new ClockTrust();
  trust.onGap(step(year), 0);
  trust.hear({ accountId: 'a', location: 'here' }, year, 5 * minute);
  assert.equal(trust.isTrusted(2 * day), false);
  trust.onGap(step(3_000), 2 * day);
  assert.equal(trust.isTrusted(2 * day + minute), false);
  trust.hear({ accountId: 'a', location: 'here' }, year, 2 * day + 2 * minute);
  assert.equal(trust.isTrusted(3 * day), false);
  assert.match(trust.problem(3 * day) ?? '', /365 days ahead of the agents of one location/);
});

test('a clock that was set back was ahead only when agents agree with it now', () => {
  const trust = new ClockTrust();
  const hear = (aheadMs: number): void => {
    trust.hear({ accountId: 'a', location: 'here' }, aheadMs, 0);
  };
  for (const each of [step(3 * hour), step(-3 * hour)]) trust.onGap(each, 0);
  assert.deepEqual([trust.wasAhead, trust.mayBeBehind], [false, true], 'nobody has said anything');
  hear(20);
  assert.deepEqual([trust.wasAhead, trust.mayBeBehind], [true, false]);
  trust.onGap(step(-10 * minute), 0);
  hear(0);
  assert.deepEqual([trust.wasAhead, trust.mayBeBehind], [true, false], 'a small correction');
  trust.onGap(step(-year), 0);
  hear(-year);
  assert.deepEqual([trust.wasAhead, trust.mayBeBehind], [false, true]);
});

test('a clock that is set back twice within a minute was never ahead', () => {
  const trust = new ClockTrust();
  for (const each of [-3, 3, -3]) {
    trust.onGap(step(each * hour), 0);
    trust.hear({ accountId: 'a', location: 'here' }, each < 0 ? -3 * hour : 0, 0);
  }
  assert.deepEqual([trust.wasAhead, trust.mayBeBehind], [false, true]);
});
