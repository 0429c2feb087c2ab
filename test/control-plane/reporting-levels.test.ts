import assert from 'node:assert/strict';
import test from 'node:test';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';
import {
  hour,
  insertResults,
  iso,
  minute,
  now,
  setUp,
  unix,
  type Bench,
} from '../support/results.ts';

const day = 24 * hour;

async function rollUpAll(bench: Bench): Promise<void> {
  while (await new RollUp(bench.cp.controlPlane.services).run());
}

/** So many results, one a minute, of which the first few failed. */
async function minutesFrom(bench: Bench, id: string, from: number, count: number, failed = 0) {
  const results = (first: number, end: number) =>
    Array.from({ length: end - first }, (_, index) => ({
      at: from + (first + index) * minute,
      responseTime: 100,
    }));
  const { db } = bench.cp.controlPlane.services;
  await insertResults(bench, id, 'URL', results(0, failed));
  await db
    .updateTable('check_results')
    .set({ has_failures: 1 })
    .where('check_id', '=', id)
    .execute();
  await insertResults(bench, id, 'URL', results(failed, count));
}

test('days of a zone have their own numbers, also when clocks change', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  // Clocks go back in New York at 06:00 UTC of 1 November.
  const midnight = Date.parse('2026-11-01T04:00:00Z');
  await insertResults(bench, id, 'URL', [
    { at: midnight - 1, responseTime: 1 },
    { at: midnight, responseTime: 2 },
    { at: midnight + 25 * hour - 1, responseTime: 4 },
    { at: midnight + 25 * hour, responseTime: 8 },
  ]);
  const ask = async () => {
    const query = `granularity=day&timezone=America/New_York&from=${unix(midnight - day)}&to=${unix(midnight + 49 * hour)}`;
    const [row] = await bench.get(`reporting?${query}`);
    return row;
  };
  const expected = [
    [iso(midnight - day), iso(midnight), 1],
    [iso(midnight), iso(midnight + 25 * hour), 3],
    [iso(midnight + 25 * hour), iso(midnight + 49 * hour), 8],
  ];
  const shown = (row: { aggregates: { from: string; to: string; avg: number }[] }) =>
    row.aggregates.map(({ from, to, avg }) => [from, to, avg]);
  const before = await ask();
  assert.deepEqual(shown(before), expected);
  assert.deepEqual(before.aggregate, { successRatio: 100, avg: 3.75, p95: 7.4, p99: 7.88 });
  await rollUpAll(bench);
  assert.deepEqual(shown(await ask()), expected);
});

test('an error budget: what the target allows of the time, and what failures have used of it', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  await bench.cp.controlPlane.services.db
    .updateTable('checks')
    .set({ created_at: now - 30 * day })
    .execute();
  await minutesFrom(bench, id, now - 1000 * minute, 1000, 5);
  const window = `from=${unix(now - 1000 * minute)}&to=${unix(now)}`;
  const slo = {
    target: 99,
    isMet: true,
    downtimeMinutes: 5,
    errorBudget: { allowedMinutes: 10, usedMinutes: 5, remainingMinutes: 5, usedPercent: 50 },
  };
  for (const _round of ['single results', 'sums']) {
    const [row] = await bench.get(`reporting?target=99&${window}`);
    assert.equal(row.aggregate.successRatio, 99.5);
    assert.deepEqual(row.aggregate.slo, slo);
    assert.equal(row.aggregates, undefined);
    await rollUpAll(bench);
  }
});

test('what ran during maintenance does not count, and its time is not promised', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { tags: ['shop'] });
  const other = await bench.check('url', { name: 'other' });
  const { db } = bench.cp.controlPlane.services;
  await db
    .updateTable('checks')
    .set({ created_at: now - 30 * day })
    .execute();
  const start = now - 200 * minute;
  for (const check of [id, other]) await minutesFrom(bench, check, start, 100);
  await db
    .updateTable('check_results')
    .set({ has_failures: 1 })
    .where('started_at', '<', start + 30 * minute)
    .execute();
  const { status } = await bench.cp.api('POST', '/v1/maintenance-windows', {
    name: 'release',
    startsAt: iso(start - minute),
    endsAt: iso(start + 30 * minute),
    repeatUnit: null,
    tags: ['shop'],
  });
  assert.equal(status, 201);
  for (const _round of ['single results', 'sums']) {
    const rows = await bench.get(
      `reporting?target=99&from=${unix(start)}&to=${unix(start + 100 * minute)}`,
    );
    const of = (name: string) => rows.find((row: { name: string }) => row.name === name).aggregate;
    assert.equal(of('url').successRatio, 100);
    assert.equal(of('url').slo.errorBudget.allowedMinutes, 0.7);
    assert.equal(of('other').successRatio, 70);
    assert.equal(of('other').slo.errorBudget.allowedMinutes, 1);
    await rollUpAll(bench);
  }
});

test('a check that is newer than the window is held to the time in which it existed', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  const { db } = bench.cp.controlPlane.services;
  await db
    .updateTable('checks')
    .set({ created_at: now - 100 * minute })
    .execute();
  await minutesFrom(bench, id, now - 100 * minute, 100, 1);
  const [row] = await bench.get('reporting?target=90&quickRange=last30Days&granularity=month');
  assert.equal(row.aggregate.slo.errorBudget.allowedMinutes, 10);
  assert.deepEqual(
    row.aggregates.map(({ from, slo }: { from: string; slo: unknown }) => [from, slo === null]),
    [
      ['2026-10-22T12:00:00.000Z', true],
      ['2026-11-01T00:00:00.000Z', false],
    ],
  );
});

test('what is wrong with a report is refused by the name of its field', async () => {
  await using bench = await setUp();
  const rows: [query: string, key: string][] = [
    ['granularity=hour', 'granularity'],
    ['granularity=day&timezone=Mars/Olympus', 'timezone'],
    [`granularity=day&from=${unix(now - 130 * day)}`, 'granularity'],
    [`granularity=month&from=${unix(now - 401 * day)}`, 'from'],
    ['target=101', 'target'],
    ['target=0', 'target'],
    ['target=high', 'target'],
    ['format=pdf', 'format'],
  ];
  for (const [query, key] of rows) {
    assert.deepEqual(await bench.refused(`reporting?${query}`), [key], query);
  }
});

test('ranges of the calendar begin at midnight of the zone', async () => {
  await using bench = await setUp();
  await bench.check('url');
  const [row] = await bench.get(
    'reporting?quickRange=lastMonth&granularity=month&timezone=Asia/Kolkata',
  );
  assert.deepEqual(
    row.aggregates.map(({ from, to }: { from: string; to: string }) => [from, to]),
    [['2026-09-30T18:30:00.000Z', '2026-10-31T18:30:00.000Z']],
  );
});
