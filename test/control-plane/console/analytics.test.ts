/** What is not known of a range is drawn as not known: neither as down nor as up. */
import assert from 'node:assert/strict';
import test from 'node:test';

const { axisOf, toLines, toneOf, watchedMs } =
  await import('../../../control-plane/console/analytics.ts');

const minute = 60_000;
const day = 24 * 60 * minute;

function checkOf(ageMs: number) {
  const createdAt = new Date(Date.now() - ageMs).toISOString();
  return {
    ...{ createdAt, frequency: 1, frequencyOffset: 0, locations: ['a'] },
    recentRuns: { outcomes: '', responseTimes: [], newestAt: null, oldestAt: null },
  } as never;
}

test('the colour of an availability is that of the whole range, not of the minutes that were watched', () => {
  const table: [availability: number | null, watchedMs: number, tone: string][] = [
    // Three minutes of a day are a warning, whenever the check began.
    [70, 10 * minute, 'warn'],
    [(100 * (1_440 - 3)) / 1_440, day, 'warn'],
    [99.95, 10 * minute, ''],
    // An hour of a day is bad, also when nothing else is known.
    [0, 60 * minute, 'bad'],
    [50, day, 'bad'],
    [98.9, day, 'bad'],
    [100, day, ''],
    [null, day, ''],
  ];
  for (const [availability, watched, tone] of table) {
    assert.equal(toneOf(availability, watched / day), tone, `${availability} of ${watched}`);
  }
});

test('a chart is as long as the check was watched, in buckets that fit', () => {
  const young = axisOf(checkOf(10 * minute), 'last24Hours');
  assert.equal(young.interval, 1);
  const old = axisOf(checkOf(100 * day), 'last24Hours');
  assert.equal(old.interval, 15);
  assert.equal(watchedMs(checkOf(100 * day), 'last7Days'), 7 * day);
  const now = Date.now();
  const answer = {
    from: new Date(now - day).toISOString(),
    to: new Date(now).toISOString(),
  } as never;
  const startedAt = new Date(now - 4 * minute).toISOString();
  const line = [{ points: [{ startedAt, value: 7 }], metric: 'value' }];
  const [instants, values] = toLines(answer, young, line);
  assert.ok(instants.length <= 12 && instants.length >= 10, `${instants.length} instants`);
  assert.deepEqual(
    values?.filter((value: unknown) => value != null),
    [7],
  );
  // A gap in what was watched is a gap in the line.
  assert.equal(values?.at(-1), null);
  assert.ok(toLines(answer, old, line)[0].length > 90);
});

test('runs that are missing are a hole, and an interval in which none was due is none', () => {
  const now = Math.floor(Date.now() / (15 * minute)) * 15 * minute;
  const answer = {
    from: new Date(now - day).toISOString(),
    to: new Date(now).toISOString(),
  } as never;
  const table: [everyMinutes: number, locations: string[], missing: number, holes: number][] = [
    [1, ['a'], 0, 0],
    [1, ['a'], 30, 2],
    [20, ['a'], 0, 0],
    [30, ['a', 'b'], 0, 0],
    // They run in parallel.
    [30, ['a', 'b'], 150, 11],
    [60, ['a', 'b'], 0, 0],
    [60, ['a', 'b'], 300, 23],
  ];
  for (const [every, locations, missing, holes] of table) {
    const check = { ...(checkOf(100 * day) as object), frequency: every, locations } as never;
    const points = Array.from({ length: (24 * 60) / every }, (_, index) => index * every)
      .filter((at) => at < 600 || at >= 600 + missing)
      .map((at) => Math.floor(at / 15) * 15)
      .filter((at, index, all) => at !== all[index - 1])
      .map((at) => ({ startedAt: new Date(now - day + at * minute).toISOString(), value: 100 }));
    const [, values] = toLines(answer, axisOf(check, 'last24Hours'), [{ points, metric: 'value' }]);
    const found = values?.filter((value: unknown) => value === null).length;
    assert.equal(found, holes, `every ${every} min, ${missing} min missing`);
  }
});
