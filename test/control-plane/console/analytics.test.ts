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
