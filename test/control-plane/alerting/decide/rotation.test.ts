import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { weekdays, type RotationFields } from '@monitor/shared/contract/escalation-policy.ts';
import { nextStep } from '../../../../control-plane/alerting/decide/escalation.ts';
import {
  nextOnCall,
  onCallAt,
  shiftsBetween,
} from '../../../../control-plane/alerting/decide/rotation.ts';
import { wallClockOf } from '../../../../control-plane/core/decide/wall-clock.ts';

const hour = 3_600_000;
const day = 24 * hour;

const berlin: RotationFields = {
  people: ['ann', 'bob', 'eve'],
  timezone: 'Europe/Berlin',
  handoverDay: 'SUNDAY',
  handoverTime: '02:30',
  startDate: '2026-03-16',
  overrides: [],
};

const at = (text: string): number => Date.parse(text);

test('people take over at the local time, also where clocks skip or repeat it', () => {
  // From 22 March; on 29 March 02:30 does not exist, and is 03:30.
  const turns = [
    ['2026-03-22T01:29:59Z', null],
    ['2026-03-22T01:30:00Z', 'ann'],
    ['2026-03-29T01:29:59Z', 'ann'],
    ['2026-03-29T01:30:00Z', 'bob'],
    ['2026-04-05T00:29:59Z', 'bob'],
    ['2026-04-05T00:30:00Z', 'eve'],
    ['2026-04-12T00:30:00Z', 'ann'],
    // On 25 October 02:30 comes twice; the first counts.
    ['2026-10-25T00:29:59Z', 'ann'],
    ['2026-10-25T00:30:00Z', 'bob'],
    ['2026-10-25T01:30:00Z', 'bob'],
    ['2026-11-01T01:30:00Z', 'eve'],
  ] as const;
  for (const [instant, person] of turns) {
    assert.equal(onCallAt(berlin, at(instant)), person, instant);
  }
  assert.deepEqual(nextOnCall(berlin, at('2026-03-01T00:00:00Z')), {
    person: 'ann',
    from: at('2026-03-22T01:30:00Z'),
  });
});

test('an override comes first, the last of several; who is next is somebody else', () => {
  const overrides = [
    { from: '2026-04-01T00:00:00Z', until: '2026-04-04T00:00:00Z', person: 'eve' },
    { from: '2026-04-02T00:00:00Z', until: '2026-04-03T00:00:00Z', person: 'dan' },
  ];
  const rotation = { ...berlin, overrides };
  assert.equal(onCallAt(rotation, at('2026-04-01T12:00:00Z')), 'eve');
  assert.equal(onCallAt(rotation, at('2026-04-02T12:00:00Z')), 'dan');
  assert.equal(onCallAt(rotation, at('2026-04-03T12:00:00Z')), 'eve');
  assert.equal(onCallAt(rotation, at('2026-04-04T00:00:00Z')), 'bob');
  assert.deepEqual(nextOnCall(rotation, at('2026-03-30T00:00:00Z')), {
    person: 'eve',
    from: at('2026-04-01T00:00:00Z'),
  });
  assert.equal(nextOnCall({ ...berlin, people: ['ann', 'ann'] }, at('2026-04-01T00:00:00Z')), null);
});

test('property: turns follow each other without gaps, a week long, at the local time of the hand-over', () => {
  const arbitrary = fc.record({
    people: fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 7 }),
    timezone: fc.constantFrom(
      ...['UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Australia/Lord_Howe'],
    ),
    handoverDay: fc.constantFrom(...weekdays),
    hours: fc.integer({ min: 0, max: 23 }),
    minutes: fc.constantFrom(0, 15, 30, 59),
    startDay: fc.integer({ min: 14_000, max: 24_000 }),
    later: fc.integer({ min: 0, max: 1_500 * day }),
  });
  fc.assert(
    fc.property(arbitrary, ({ hours, minutes, startDay, later, ...fields }) => {
      const pad = (number: number) => String(number).padStart(2, '0');
      const rotation: RotationFields = {
        ...fields,
        handoverTime: `${pad(hours)}:${pad(minutes)}`,
        startDate: new Date(startDay * day).toISOString().slice(0, 10),
        overrides: [],
      };
      const { people, timezone } = rotation;
      const clock = wallClockOf(timezone);
      const instant = startDay * day + 9 * day + later;
      const person = onCallAt(rotation, instant);
      assert.ok(person !== null && people.includes(person));
      const next = nextOnCall(rotation, instant);
      if (people.length === 1) {
        assert.equal(next, null);
        return;
      }
      assert.ok(next !== null && next.from > instant && next.from <= instant + 8 * day + 25 * hour);
      assert.equal(next.person, people[(people.indexOf(person) + 1) % people.length]);
      assert.equal(onCallAt(rotation, next.from - 1), person);
      assert.equal(onCallAt(rotation, next.from), next.person);
      // The instant of that local time; where clocks skip it, it is moved by the change.
      const shown = clock.shownAt(next.from);
      const midnight = Math.floor(shown / day) * day;
      const wanted = midnight + (hours * 60 + minutes) * 60_000;
      const isSkipped = clock.shownAt(clock.instantOf(wanted)) !== wanted;
      if (!isSkipped && shown === wanted) {
        const weekday = weekdays[(Math.floor(shown / day) + 3) % 7];
        assert.equal(weekday, rotation.handoverDay);
      }
      const after = nextOnCall(rotation, next.from);
      const lasts = (after?.from ?? 0) - next.from;
      assert.ok(lasts >= 6 * day - hour && lasts <= 8 * day + hour, String(lasts / hour));
    }),
  );
});

test('nobody is next where one person has all turns and overrides; dates are read once', (t) => {
  const overrides = Array.from({ length: 100 }, (_, index) => ({
    from: new Date(at('2026-04-01T00:00:00Z') + index * 2 * day).toISOString(),
    until: new Date(at('2026-04-02T00:00:00Z') + index * 2 * day).toISOString(),
    person: 'ann',
  }));
  const parse = t.mock.method(Date, 'parse');
  const alone = { ...berlin, people: ['ann'], overrides };
  assert.equal(nextOnCall(alone, at('2026-03-30T00:00:00Z')), null);
  const two = { ...alone, people: ['ann', 'ann', 'bob'] };
  assert.deepEqual(nextOnCall(two, at('2026-03-30T00:00:00Z')), {
    person: 'bob',
    from: at('2026-04-06T00:00:00Z'),
  });
  assert.ok(
    parse.mock.callCount() < 5 * overrides.length,
    `${parse.mock.callCount()} dates parsed`,
  );
});

test('property: who is next is the first to be on call who is somebody else', () => {
  const person = fc.constantFrom('ann', 'bob', 'eve');
  const override = fc.record({
    person,
    from: fc.integer({ min: 0, max: 400 }),
    days: fc.integer({ min: 1, max: 40 }),
  });
  const arbitrary = fc.record({
    people: fc.array(person, { minLength: 1, maxLength: 5 }),
    overrides: fc.array(override, { maxLength: 6 }),
    hours: fc.integer({ min: -10 * 24, max: 400 * 24 }),
  });
  fc.assert(
    fc.property(arbitrary, ({ people, overrides, hours }) => {
      const start = at('2026-03-16T00:00:00Z');
      const rotation: RotationFields = {
        ...berlin,
        people,
        overrides: overrides.map(({ from, days, ...rest }) => ({
          ...rest,
          from: new Date(start + from * day).toISOString(),
          until: new Date(start + (from + days) * day).toISOString(),
        })),
      };
      const instant = start + hours * hour;
      const now = onCallAt(rotation, instant);
      const next = nextOnCall(rotation, instant);
      const until = next?.from ?? start + 600 * day;
      for (let each = instant; each < until; each += 12 * hour) {
        const person = onCallAt(rotation, each);
        assert.ok(person === now || person === null, new Date(each).toISOString());
      }
      if (next === null) return;
      assert.notEqual(next.person, now);
      assert.equal(onCallAt(rotation, next.from), next.person);
    }),
  );
});

test('shifts keep the local hand-over where clocks change, in both directions, and their ends outside a range', () => {
  const shifts = (from: string, to: string) =>
    shiftsBetween(berlin, at(from), at(to)).shifts.map((one) => [
      one.person,
      new Date(one.from).toISOString(),
      (one.until - one.from) / hour,
    ]);
  assert.deepEqual(shifts('2026-03-01T00:00:00Z', '2026-03-22T01:30:00Z'), []);
  assert.deepEqual(shifts('2026-03-01T00:00:00Z', '2026-04-06T00:00:00Z'), [
    ['ann', '2026-03-22T01:30:00.000Z', 7 * 24],
    // 02:30 does not exist on 29 March: an hour later, to the usual time of the next week.
    ['bob', '2026-03-29T01:30:00.000Z', 7 * 24 - 1],
    ['eve', '2026-04-05T00:30:00.000Z', 7 * 24],
  ]);
  assert.deepEqual(shifts('2026-10-26T00:00:00Z', '2026-10-26T01:00:00Z'), [
    ['bob', '2026-10-25T00:30:00.000Z', 7 * 24 + 1],
  ]);
});

test('of overrides that overlap the last one counts; the turn below is divided, an override is not', () => {
  const overrides = [
    { from: '2026-04-01T00:00:00Z', until: '2026-04-07T00:00:00Z', person: 'eve' },
    { from: '2026-04-02T00:00:00Z', until: '2026-04-03T00:00:00Z', person: 'dan' },
    { from: '2026-02-01T00:00:00Z', until: '2026-02-02T00:00:00Z', person: 'dan' },
  ];
  const { shifts, turns } = shiftsBetween(
    { ...berlin, overrides },
    at('2026-03-31T00:00:00Z'),
    at('2026-04-09T00:00:00Z'),
  );
  assert.deepEqual(
    shifts.map(({ person, from, until, isOverride }) => [
      `${person}${isOverride ? ' instead' : ''}`,
      ...[from, until].map((one) => new Date(one).toISOString().slice(5, 16)),
    ]),
    [
      ['bob', '03-29T01:30', '04-01T00:00'],
      ['eve instead', '04-01T00:00', '04-02T00:00'],
      ['dan instead', '04-02T00:00', '04-03T00:00'],
      ['eve instead', '04-03T00:00', '04-07T00:00'],
      ['eve', '04-07T00:00', '04-12T00:30'],
    ],
  );
  assert.deepEqual(
    turns.map(({ person }) => person),
    ['bob', 'eve'],
  );
});

test('property: at any instant of a range, its shifts say who is on call', () => {
  const person = fc.constantFrom('ann', 'bob', 'eve');
  const override = fc.record({
    person,
    from: fc.integer({ min: -400, max: 400 }),
    hours: fc.integer({ min: 1, max: 2_000 }),
  });
  const arbitrary = fc.record({
    people: fc.array(person, { minLength: 1, maxLength: 4 }),
    overrides: fc.array(override, { maxLength: 6 }),
    begin: fc.integer({ min: -30 * 24, max: 300 * 24 }),
    lasts: fc.integer({ min: 1, max: 366 * 24 }),
    share: fc.double({ min: 0, max: 0.999, noNaN: true }),
  });
  fc.assert(
    fc.property(arbitrary, ({ people, overrides, begin, lasts, share }) => {
      const start = at('2026-03-16T00:00:00Z');
      const rotation: RotationFields = {
        ...berlin,
        people,
        overrides: overrides.map(({ from, hours, ...rest }) => ({
          ...rest,
          from: new Date(start + from * day).toISOString(),
          until: new Date(start + from * day + hours * hour).toISOString(),
        })),
      };
      const from = start + begin * hour;
      const to = from + lasts * hour;
      const { shifts } = shiftsBetween(rotation, from, to);
      const instant = Math.floor(from + share * (to - from));
      const found = shifts.filter((one) => one.from <= instant && instant < one.until);
      assert.deepEqual(
        found.map((one) => one.person),
        [onCallAt(rotation, instant)].filter((one) => one !== null),
      );
      assert.ok(shifts.every((one) => one.from < to && one.until > from));
    }),
  );
});

test('the steps of a policy follow each other, and begin again as often as it says', () => {
  const step = (delayMinutes: number) => ({
    ...{ delayMinutes, alertChannelIds: [1], people: [], onCall: false },
  });
  const policy = { name: 'p', steps: [step(0), step(10)], repeats: 1, rotation: null };
  const due = (done: number) => {
    const next = nextStep(policy, done, 0);
    return next && [next.number, next.dueAt / 60_000];
  };
  assert.deepEqual([0, 1, 2, 3, 4].map(due), [[1, 0], [2, 10], [1, 1], [2, 10], null]);
});
