import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { readCheckNumbers } from '../../../control-plane/analytics/prometheus/check-numbers.ts';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { readHistory } from '../../../control-plane/shadow/read-history.ts';
import { SourceApi } from '../../../control-plane/shadow/index.ts';
import {
  hour,
  insertResults,
  minute,
  now,
  setUp,
  unix,
  type Bench,
} from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

const day = 24 * hour;
/** The day of the move; the check is made in the middle of it. */
const midnight = now - 12 * hour;

type Fields = Record<string, unknown>;

const entry = (at: number, more: Fields = {}): Fields => ({
  ...{ id: randomUUID(), hasFailures: false, hasErrors: false, runLocation: 'eu-west-1' },
  ...{ startedAt: new Date(at).toISOString(), responseTime: 123.4, ...more },
});

/** One each half an hour. */
const halfHours = (from: number, to: number, more?: Fields) =>
  Array.from({ length: (to - from) / (30 * minute) }, (_, nth) =>
    entry(from + nth * 30 * minute, more),
  );

/** Another installation that answers with these results, whatever is asked for. */
const answering = (entries: readonly Fields[]): SourceApi =>
  new SourceApi(
    { baseUrl: 'https://api.other.example', key: 'cu_0123456789', accountId: null },
    {
      send: () =>
        Promise.resolve({
          ...{ status: 200, statusText: 'OK', headers: {}, isCut: false },
          body: JSON.stringify({ entries, nextId: null }),
        }),
      now: () => now,
      pause: () => assert.fail('it waits'),
      signal: new AbortController().signal,
    },
  );

/** Reads the day before the check was made, at most 24 hours at once. */
async function read(
  { cp }: Bench,
  checkId: string,
  entries: readonly Fields[],
  { type = 'URL', from = now - day, clock = new TestClock(now) } = {},
): Promise<void> {
  const known = await cp.controlPlane.services.db
    .selectFrom('imported_history')
    .selectAll()
    .where('check_id', '=', checkId)
    .executeTakeFirst();
  const history = known ?? {
    ...{ account_id: cp.accountId, check_id: checkId, host: 'api.other.example' },
    ...{ from_at: now, until_at: now, results: 0, problem: null },
  };
  await readHistory({ ...cp.controlPlane.services, clock }, answering(entries), {
    ...{ type, otherId: randomUUID(), gapMs: 60 * minute, history, wantedFrom: from },
  });
}

async function rollUp({ cp }: Bench, at: number): Promise<void> {
  const { db } = cp.controlPlane.services;
  while (await new RollUp({ db, clock: new TestClock(at) }).run());
}

const availabilityOfDay = async (bench: Bench, checkId: string, more = '') => {
  const window = `from=${unix(midnight)}&to=${unix(midnight + day)}`;
  const path = `analytics/url-monitors/${checkId}?${window}&metrics=availability${more}`;
  const { series } = await bench.get(path);
  return series[0].data.map((point: Fields) => point['availability']) as number[];
};

const own = (from: number, to: number) =>
  Array.from({ length: (to - from) / (30 * minute) }, (_, nth) => ({
    ...{ at: from + nth * 30 * minute, responseTime: 20, hasFailures: true },
  }));

for (const isFirst of [true, false]) {
  test(`the day of the move has what both measured, with history ${isFirst ? 'before' : 'after'} the first result of ours`, async () => {
    await using bench = await setUp();
    const checkId = await bench.check('url');
    const theirs = halfHours(midnight, now);
    const outage = own(now, midnight + day);
    const steps = [
      () => read(bench, checkId, theirs, { clock: new TestClock(now + hour) }),
      () => insertResults(bench, checkId, 'URL', outage.slice(0, 2)),
    ];
    for (const step of isFirst ? steps : steps.toReversed()) {
      await step();
      await rollUp(bench, now + hour);
    }
    await insertResults(bench, checkId, 'URL', outage.slice(2));
    // Within the day, before it is summed up, and after.
    for (const at of [
      midnight + day - 1,
      midnight + day + 10 * minute,
      midnight + day + 2 * hour,
    ]) {
      await rollUp(bench, at);
      assert.deepEqual(await availabilityOfDay(bench, checkId), [50], String(at));
      const byDay = await availabilityOfDay(bench, checkId, '&aggregationInterval=1440');
      assert.deepEqual(byDay, [50], String(at));
    }
  });
}

test('a day that is over has history at once, also where it was summed up before', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  await insertResults(bench, checkId, 'URL', own(now, midnight + day));
  await rollUp(bench, midnight + 2 * day);
  const late = new TestClock(midnight + 2 * day);
  await read(bench, checkId, halfHours(midnight, now), { clock: late });
  for (const at of [midnight + 2 * day, midnight + 2 * day + hour]) {
    assert.deepEqual(await availabilityOfDay(bench, checkId), [50]);
    await rollUp(bench, at);
  }
  assert.deepEqual(await availabilityOfDay(bench, checkId), [50]);
});

test('a scrape has our results alone', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  await read(bench, checkId, halfHours(now - 6 * hour, now, { hasFailures: true }));
  const { db } = bench.cp.controlPlane.services;
  const scraped = async () => {
    const types = new Map([[checkId, 'URL' as const]]);
    const numbers = await readCheckNumbers(db, bench.cp.accountId, types, now + minute, true);
    return [...numbers.values()].map(({ outcomes, measured }) => [
      [...outcomes],
      measured.get('responseTime')?.count,
    ]);
  };
  assert.deepEqual(await scraped(), []);
  await insertResults(bench, checkId, 'URL', [{ at: now + 1_000, responseTime: 20 }]);
  await rollUp(bench, now + minute);
  assert.deepEqual(await scraped(), [
    [[['eu-west-1', { passing: 1, degraded: 0, failing: 0 }]], 1],
  ]);
});

test('a result of ours from just before the hour is kept, and no part is added twice', async () => {
  for (const isFirst of [true, false]) {
    await using bench = await setUp();
    const checkId = await bench.check('url');
    const finals = async () => {
      const rows = await bench.cp.controlPlane.services.db
        .selectFrom('roll_ups')
        .selectAll()
        .where('hours', '=', 1)
        .execute();
      return rows.reduce((sum, each) => sum + each.finals, 0);
    };
    const steps = [
      () => insertResults(bench, checkId, 'URL', [{ at: now - 5_000, responseTime: 20 }]),
      () => read(bench, checkId, halfHours(now - 3 * hour, now)),
    ];
    for (const step of isFirst ? steps : steps.toReversed()) {
      await step();
      await rollUp(bench, now);
    }
    assert.equal(await finals(), 7);
    // As another replica that read the same.
    const { db } = bench.cp.controlPlane.services;
    const asBefore = { from_at: now, until_at: now, results: 0, problem: null };
    const theirs = halfHours(now - 3 * hour, now);
    await readHistory(bench.cp.controlPlane.services, answering(theirs), {
      ...{ type: 'URL', otherId: randomUUID(), gapMs: 60 * minute, wantedFrom: now - day },
      history: { account_id: bench.cp.accountId, check_id: checkId, host: 'x', ...asBefore },
    });
    assert.equal(await finals(), 7);
    const { results } = await db
      .selectFrom('imported_history')
      .selectAll()
      .executeTakeFirstOrThrow();
    assert.equal(results, 6);
  }
});
