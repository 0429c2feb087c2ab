import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  occurrencesBefore,
  occurrencesBetween,
  occurrencesFrom,
  overlapsItself,
  type Occurrence,
  type RepeatingWindow,
} from '../../../../control-plane/maintenance/decide/maintenance.ts';
import { wallClockOf } from '../../../../control-plane/core/decide/wall-clock.ts';
import { isLong, seededRandom } from '../../../support/random.ts';
import { clockOf, instantShown, stretchesOf } from '../../../support/zone-timeline.ts';

const minute = 60_000;
const day = 86_400_000;
const from = Date.parse('2026-01-01T00:00:00Z');
const to = Date.parse('2029-01-01T00:00:00Z');
const zones = Intl.supportedValuesOf('timeZone').filter((_zone, at) => isLong || at % 8 === 0);

function window(
  startsAt: string,
  endsAt: string,
  fields: Partial<RepeatingWindow> = {},
): RepeatingWindow {
  return {
    startsAt: Date.parse(startsAt),
    endsAt: Date.parse(endsAt),
    repeatUnit: 'DAY',
    repeatInterval: null,
    repeatEndsAt: null,
    timezone: null,
    ...fields,
  };
}

function next(of: RepeatingWindow, instant: string | number, count = 5): Occurrence[] {
  const found: Occurrence[] = [];
  for (const occurrence of occurrencesFrom(of, Number(new Date(instant)))) {
    if (found.length === count) break;
    found.push(occurrence);
  }
  return found;
}

const texts = (occurrences: Occurrence[]): string[] =>
  occurrences.map(({ startsAt, endsAt }) =>
    [startsAt, endsAt].map((instant) => new Date(instant).toISOString().slice(0, 16)).join(' '),
  );

test('the 31st is the last day of months that are shorter, and the 31st again afterwards', () => {
  const monthly = window('2027-12-31T22:00Z', '2028-01-01T01:00Z', { repeatUnit: 'MONTH' });
  assert.deepEqual(texts(next(monthly, from)), [
    '2027-12-31T22:00 2028-01-01T01:00',
    '2028-01-31T22:00 2028-02-01T01:00',
    '2028-02-29T22:00 2028-03-01T01:00',
    '2028-03-31T22:00 2028-04-01T01:00',
    '2028-04-30T22:00 2028-05-01T01:00',
  ]);
  const everyOther = {
    ...monthly,
    repeatInterval: 2,
    repeatEndsAt: Date.parse('2028-04-30T22:00Z'),
  };
  assert.deepEqual(
    texts(next(everyOther, from)).map((text) => text.slice(0, 10)),
    ['2027-12-31', '2028-02-29', '2028-04-30'],
  );
});

test('nothing begins after the end of the repetition, something may begin at it', () => {
  const daily = window('2026-11-21T10:00Z', '2026-11-21T11:00Z');
  const until = (text: string) => next({ ...daily, repeatEndsAt: Date.parse(text) }, from).length;
  assert.equal(until('2026-11-23T10:00Z'), 3);
  assert.equal(until('2026-11-23T09:59Z'), 2);
  assert.equal(next({ ...daily, repeatUnit: null }, from).length, 1);
});

test('the night clocks go forward: a skipped time is an hour later, an end keeps its local time', () => {
  const inBerlin = (start: string, end: string) =>
    texts(
      next(
        window(`2026-03-28T${start}+01:00`, `2026-03-28T${end}+01:00`, {
          timezone: 'Europe/Berlin',
        }),
        '2026-03-28T12:00Z',
        1,
      ),
    )[0];
  assert.equal(inBerlin('02:30', '05:00'), '2026-03-29T01:30 2026-03-29T03:00', 'start skipped');
  assert.equal(inBerlin('01:00', '04:00'), '2026-03-29T00:00 2026-03-29T02:00', 'two hours long');
  assert.equal(inBerlin('01:00', '02:30'), '2026-03-29T00:00 2026-03-29T01:30', 'end skipped');
  assert.equal(inBerlin('02:30', '03:00'), '2026-03-29T01:30 2026-03-29T02:00', 'nothing left');
});

test('the night clocks go back: a doubled time is the first, an end keeps its local time', () => {
  const inBerlin = (start: string, end: string) =>
    texts(
      next(
        window(`2026-10-24T${start}+02:00`, `2026-10-24T${end}+02:00`, {
          timezone: 'Europe/Berlin',
        }),
        '2026-10-24T12:00Z',
        1,
      ),
    )[0];
  assert.equal(inBerlin('02:15', '02:45'), '2026-10-25T00:15 2026-10-25T00:45', 'both doubled');
  assert.equal(inBerlin('01:00', '04:00'), '2026-10-24T23:00 2026-10-25T03:00', 'four hours long');
});

test('the first occurrence is as it was given, the second of a doubled hour too', () => {
  const given = window('2026-10-25T01:30Z', '2026-10-25T01:45Z', { timezone: 'Europe/Berlin' });
  assert.deepEqual(texts(next(given, from, 2)), [
    '2026-10-25T01:30 2026-10-25T01:45',
    '2026-10-26T01:30 2026-10-26T01:45',
  ]);
});

test('what would begin before it is over is known, a month being as short as February', () => {
  const lasting = (endsAt: string, fields: Partial<RepeatingWindow>) =>
    overlapsItself(window('2026-03-01T00:00Z', endsAt, fields));
  assert.equal(lasting('2026-03-02T00:00Z', {}), false);
  assert.equal(lasting('2026-03-02T00:01Z', {}), true);
  assert.equal(lasting('2026-03-02T00:01Z', { repeatInterval: 2 }), false);
  assert.equal(lasting('2026-03-29T00:00Z', { repeatUnit: 'MONTH' }), false);
  assert.equal(lasting('2026-03-29T00:01Z', { repeatUnit: 'MONTH' }), true);
  assert.equal(lasting('2036-03-01T00:00Z', { repeatUnit: null }), false);
});

test('far from its start a window is where counting from the start finds it, and as fast', () => {
  const arbitrary = fc.record({
    startsAt: fc.integer({ min: -5_000, max: 25_000 }).map((days) => days * day + 7 * minute),
    lengthMs: fc.integer({ min: 1, max: 80 * 60 }).map((minutes) => minutes * minute),
    repeatUnit: fc.constantFrom('DAY' as const, 'WEEK' as const, 'MONTH' as const),
    repeatInterval: fc.integer({ min: 1, max: 40 }),
    timezone: fc.constantFrom(null, 'Europe/Berlin', 'Pacific/Apia', 'America/St_Johns'),
    later: fc.integer({ min: 0, max: 9_000_000 }),
  });
  fc.assert(
    fc.property(arbitrary, ({ lengthMs, later, ...fields }) => {
      const one = { ...fields, endsAt: fields.startsAt + lengthMs, repeatEndsAt: null };
      const at = one.startsAt + later * minute;
      const counted: Occurrence[] = [];
      for (const each of occurrencesFrom(one, one.startsAt)) {
        if (each.startsAt > at) break;
        counted.push(each);
      }
      const over = counted.filter(({ endsAt }) => endsAt <= at);
      assert.deepEqual(occurrencesBefore(one, at, 3), over.reverse().slice(0, 3));
      assert.deepEqual(
        occurrencesBetween(one, at, at + 1),
        counted.filter(({ endsAt }) => endsAt > at),
      );
    }),
    { numRuns: 150, seed: 6 },
  );
  const startedAt = performance.now();
  const daily = window('0100-01-01T00:00Z', '0100-01-01T01:00Z', { timezone: 'Europe/Berlin' });
  for (let time = 0; time < 1_000; time += 1) next(daily, '9000-06-01T00:00Z');
  assert.ok(performance.now() - startedAt < 10_000);
});

test('around every change of clocks of a year each minute is where Intl shows it first', () => {
  let changes = 0;
  for (const zone of zones) {
    const clock = wallClockOf(zone);
    const shownAt = clockOf(zone);
    const stretches = stretchesOf(zone, from, from + 366 * day);
    for (const [index, { from: change, offsetMs }] of stretches.entries()) {
      const before = stretches[index - 1];
      if (before === undefined) continue;
      changes += 1;
      const firstShown = new Map<number, number>();
      const reachMs = Math.abs(offsetMs - before.offsetMs) + 120 * minute;
      for (let instant = change - reachMs; instant < change + reachMs; instant += minute) {
        const shown = shownAt(instant);
        if (!firstShown.has(shown)) firstShown.set(shown, instant);
      }
      const skippedMs = Math.max(0, offsetMs - before.offsetMs);
      const border = change + before.offsetMs;
      for (let shown = border - 60 * minute; shown < border + 120 * minute; shown += minute) {
        const expected = firstShown.get(shown) ?? firstShown.get(shown + skippedMs);
        assert.equal(clock.instantOf(shown), expected, `${zone} ${new Date(shown).toISOString()}`);
      }
    }
  }
  assert.ok(changes > zones.length / 2, `${changes} changes`);
});

interface Recipe {
  unit: 'DAY' | 'WEEK' | 'MONTH';
  interval: number;
  year: number;
  month: number;
  date: number;
  minuteOfDay: number;
  minutes: number;
}

/** Days from the calendar alone: year by year, month by month. */
function* datesOf({ unit, interval, year, month, date }: Recipe): Generator<number> {
  if (unit !== 'MONTH') {
    const step = (unit === 'DAY' ? 1 : 7) * interval * day;
    for (let shown = Date.UTC(year, month, date); ; shown += step) yield shown;
  }
  for (let [y, m] = [year, month]; ; m += interval) {
    while (m > 11) [y, m] = [y + 1, m - 12];
    const isLeap = y % 4 === 0;
    const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    yield Date.UTC(y, m, Math.min(date, lengths[m] ?? 0));
  }
}

test('three years of windows are those that Intl alone gives, the next five too', (t) => {
  const random = seededRandom(2026);
  const below = (limit: number): number => Math.floor(random() * limit);
  let compared = 0;
  let skipped = 0;
  for (const zone of zones) {
    const stretches = stretchesOf(zone, from - 3 * day, to + 40 * day);
    for (const unit of ['DAY', 'WEEK', 'MONTH'] as const) {
      const recipe: Recipe = {
        unit,
        interval: 1 + below(3),
        year: 2026,
        // A first one in February, or at a time that is skipped, would not be what it was to be.
        month: 2 * below(2),
        date: unit === 'MONTH' ? 29 + below(3) : 1 + below(27),
        // Where clocks change, mostly.
        minuteOfDay: random() < 0.7 ? below(4 * 60) : below(24 * 60),
        minutes: 15 + below(random() < 0.5 ? 90 : 20 * 60),
      };
      const expected: Occurrence[] = [];
      let elapsedMs = 0;
      for (const date of datesOf(recipe)) {
        if (date >= to) break;
        const shown = date + recipe.minuteOfDay * minute;
        const startsAt = instantShown(stretches, shown);
        const endsAt = instantShown(stretches, shown + recipe.minutes * minute);
        if (expected.length === 0) elapsedMs = endsAt - startsAt;
        expected.push({ startsAt, endsAt: endsAt > startsAt ? endsAt : startsAt + elapsedMs });
      }
      const [first] = expected;
      assert.ok(first !== undefined);
      const shownAt = clockOf(zone);
      const lengthMs = shownAt(first.endsAt) - shownAt(first.startsAt);
      if (
        lengthMs !== recipe.minutes * minute ||
        shownAt(first.startsAt) % day !== recipe.minuteOfDay * minute
      ) {
        skipped += 1;
        continue;
      }
      const one: RepeatingWindow = {
        ...first,
        repeatUnit: unit,
        repeatInterval: recipe.interval,
        repeatEndsAt: null,
        timezone: zone,
      };
      const last = expected.at(-1)?.startsAt ?? 0;
      assert.deepEqual(
        occurrencesBetween(one, first.startsAt, last + 1),
        expected,
        `${zone} ${unit}`,
      );
      compared += expected.length;
      for (let times = 0; times < 5; times += 1) {
        const at = from + below(last - from);
        const coming = expected.filter(({ endsAt }) => endsAt > at).slice(0, 5);
        assert.deepEqual(next(one, at, coming.length), coming, `${zone} ${unit} from ${at}`);
      }
    }
  }
  t.diagnostic(`${zones.length} zones, ${compared} occurrences, ${skipped} recipes skipped`);
  assert.ok(zones.length > 50 && compared > 500 * zones.length && skipped < 10);
});
