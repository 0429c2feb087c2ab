import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import {
  type Distributions,
  unpackInto,
} from '../../../control-plane/analytics/decide/roll-ups/packing.ts';
import { readCheckNumbers } from '../../../control-plane/analytics/prometheus/check-numbers.ts';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { readHistory } from '../../../control-plane/shadow/read-history.ts';
import { SourceApi } from '../../../control-plane/shadow/index.ts';
import {
  hour,
  insertResults,
  iso,
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

const unread = (account_id: string, check_id: string) => ({
  ...{ account_id, check_id, host: 'api.other.example', from_at: now, until_at: now },
  ...{ results: 0, left_out: 0, oldest_at: null, problem: null, retry_at: null, part_hours: null },
});

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
  const history = known ?? unread(cp.accountId, checkId);
  const store = await readHistory({ clock }, answering(entries), {
    ...{ type, otherId: randomUUID(), gapMs: 60 * minute, history, wantedFrom: from },
  });
  await cp.controlPlane.services.commits.run(store);
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
  test(`the day of the move has imported and own results, with history ${isFirst ? 'before' : 'after'} the first own result`, async () => {
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

test('an own result from just before the hour is kept, and no part is added twice', async () => {
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
    const theirs = halfHours(now - 3 * hour, now);
    const store = await readHistory(bench.cp.controlPlane.services, answering(theirs), {
      ...{ type: 'URL', otherId: randomUUID(), gapMs: 60 * minute, wantedFrom: now - day },
      history: unread(bench.cp.accountId, checkId),
    });
    await bench.cp.controlPlane.services.commits.run(store);
    assert.equal(await finals(), 7);
    const { results } = await db
      .selectFrom('imported_history')
      .selectAll()
      .executeTakeFirstOrThrow();
    assert.equal(results, 6);
  }
});

const sumsOf = (bench: Bench) =>
  bench.cp.controlPlane.services.db.selectFrom('roll_ups').selectAll().execute();

const historyOf = (bench: Bench) =>
  bench.cp.controlPlane.services.db
    .selectFrom('imported_history')
    .selectAll()
    .executeTakeFirstOrThrow();

/** Analytics of the day before the check was made. */
async function numbersOf(bench: Bench, checkId: string, metrics: string): Promise<Fields> {
  const window = `from=${unix(now - day)}&to=${unix(now)}`;
  const path = `analytics/url-monitors/${checkId}?${window}&metrics=${metrics}`;
  const { startedAt: _at, ...numbers } = (await bench.get(path)).series[0].data[0] as Fields;
  return numbers;
}

test('an error of the other installation is no failure of the target, and its number is kept', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  await read(bench, checkId, [
    ...halfHours(now - 2 * hour, now),
    ...halfHours(now - 3 * hour, now - 2 * hour, { hasErrors: true }),
    entry(now - 4 * hour, { hasErrors: true, hasFailures: true }),
  ]);
  assert.deepEqual(await numbersOf(bench, checkId, 'availability'), { availability: 80 });
  const { results, left_out } = await historyOf(bench);
  assert.deepEqual([results, left_out], [5, 2]);
});

test('results without a usable time count without one, whether they passed or failed', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  await read(bench, checkId, [
    entry(now - hour, { responseTime: 100 }),
    ...[null, -1, 'soon', 9e15].map((responseTime) => entry(now - hour, { responseTime })),
    entry(now - hour, { responseTime: undefined, hasFailures: true }),
    entry(now - hour, { responseTime: 300, hasFailures: true }),
  ]);
  const metrics = 'availability,responseTime_avg,responseTime_min,responseTime_max';
  assert.deepEqual(await numbersOf(bench, checkId, metrics), {
    ...{ availability: 71.429, responseTime_avg: 200 },
    ...{ responseTime_min: 100, responseTime_max: 300 },
  });
});

test('an entry that the other side repeats counts once', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  const once = halfHours(now - 2 * hour, now);
  await read(bench, checkId, [...once, ...once, { ...once[0], hasFailures: true }]);
  const rows = await sumsOf(bench);
  assert.equal(
    rows.reduce((sum, { finals }) => sum + finals, 0),
    4,
  );
  assert.equal((await historyOf(bench)).results, 4);
});

test('numbers that nobody measures are in no sum, and those beside them are', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  const withPhases = (status: unknown, timingPhases: Fields) =>
    entry(now - hour, { apiCheckResult: { response: { status, timingPhases } } });
  await read(bench, checkId, [
    withPhases(200, { wait: 5, dns: 9e8, tcp: 7 }),
    withPhases(200, { wait: -50, dns: 3, tcp: null }),
    withPhases(9e15, { wait: 6, dns: 4, tcp: 8 }),
  ]);
  assert.deepEqual(await numbersOf(bench, checkId, 'wait_min,dns_max,tcp_sum'), {
    ...{ wait_min: 5, dns_max: 4, tcp_sum: 15 },
  });
  const parts = (await sumsOf(bench)).map(({ part }) => part);
  assert.deepEqual(parts.toSorted(), ['', '200']);
});

test('days until expiry stay negative once a certificate has expired', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  const expired = { sslCheckResult: { daysUntilExpiry: -3 }, hasFailures: true };
  await read(bench, checkId, [entry(now - hour, expired)], { type: 'SSL' });
  const [row] = await sumsOf(bench);
  const metrics: Distributions = new Map();
  unpackInto(row?.metrics ?? assert.fail(), metrics);
  assert.equal(metrics.get('daysUntilExpiry')?.min, -3);
});

test('results of another check are refused, and a result without a place has a name for it', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  await assert.rejects(
    read(bench, checkId, [entry(now - hour, { checkId: randomUUID() })]),
    ({ name, message }: Error) => name === 'SourceApiError' && /of another check/.test(message),
  );
  assert.deepEqual(await sumsOf(bench), []);
  await read(bench, checkId, [entry(now - hour, { runLocation: null })]);
  assert.deepEqual(
    (await sumsOf(bench)).map(({ location }) => location),
    ['unknown'],
  );
});

test('what was measured before begins with the oldest result, not with the days asked for', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  const said = async () => {
    const [{ importedFrom }] = await bench.get(`check-overview?checkId=${checkId}`);
    const window = `from=${unix(now - 10 * day)}&to=${unix(now)}`;
    const events: Fields[] = await bench.get(`check-events/${checkId}?${window}`);
    const imports = events.filter(({ kind }) => kind === 'IMPORT');
    return [importedFrom, ...imports.map(({ startedAt }) => startedAt)];
  };
  const from = now - 5 * day;
  await read(bench, checkId, halfHours(now - day, now, { hasErrors: true }), { from });
  assert.deepEqual(await said(), [null]);
  const oldest = now - 2 * day + 30 * minute;
  await read(bench, checkId, halfHours(oldest, now - day), { from });
  assert.deepEqual(await said(), [iso(oldest), iso(oldest)]);
  // They keep no more: nobody measured the other days.
  await read(bench, checkId, [], { from });
  assert.deepEqual(await said(), [iso(oldest), iso(oldest)]);
  assert.equal((await historyOf(bench)).from_at, now - 3 * day);
});
