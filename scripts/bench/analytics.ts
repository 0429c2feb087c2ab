/**
 * `npm run bench -- analytics`: rolling results up, and reading 30 days of one check and of a hundred, beside
 * computing the same from every result in the same process. ANALYTICS_RESULTS says of how many.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@monitor/shared/clock.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { migrateToLatest } from '../../control-plane/db/migrate.ts';
import { dayOf } from '../../control-plane/analytics/decide/roll-ups/cell.ts';
import { wholeWindow } from '../../control-plane/analytics/decide/roll-ups/spans.ts';
import { readSamples } from '../../control-plane/analytics/read-samples.ts';
import { readTallies } from '../../control-plane/analytics/read-tallies.ts';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import { seedResults } from './api.ts';
import { median, ms, ownCpuMs, quantile, show } from './measure.ts';

const results = Number(process.env['ANALYTICS_RESULTS'] ?? 1_000_000);
/** The first check has 30 days of them, the others share the rest. */
const perMonth = 43_200;
const checks = Math.max(100, Math.ceil(results / perMonth));
const perCheck = Math.min(perMonth, Math.max(1, Math.floor((results - perMonth) / (checks - 1))));
const dayMs = 86_400_000;
const accountId = createHash('sha256').update('bench').digest('hex').slice(0, 32);

type Db = ReturnType<typeof openDatabase>;

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** What each batch took, until nothing is left. */
async function batchesOf(rollUp: RollUp): Promise<number[]> {
  const times: number[] = [];
  const run = async () => void (isMore = (await rollUp.run()) !== false);
  let isMore = true;
  while (isMore) times.push(await timed(run));
  return times;
}

async function rollUpAll(db: Db): Promise<void> {
  const cpu = ownCpuMs();
  const times = await batchesOf(new RollUp({ db, clock: systemClock }));
  const tookMs = times.reduce((sum, time) => sum + time, 0);
  show('rolling up', {
    results: String(results),
    rate: `${((1000 * results) / tookMs).toFixed(0)} results/s`,
    'CPU per 1,000': ms((ownCpuMs() - cpu) / (results / 1_000), 1),
    'batch p50': ms(median(times), 1),
    p99: ms(quantile(times, 0.99), 1),
    max: ms(Math.max(...times), 1),
  });
  // Days that were over when they were rolled up are due a minute later.
  const later = { ...systemClock, now: () => Date.now() + 120_000 };
  const dayTimes = await batchesOf(new RollUp({ db, clock: later }));
  show('summing up days', {
    batches: String(dayTimes.length),
    p50: ms(median(dayTimes), 1),
    max: ms(Math.max(...dayTimes), 1),
  });
}

const read = { accountId, bases: ['availability', 'responseTime'] as string[], statuses: [] };

async function summed(db: Db, checkId: string, from: number, to: number): Promise<unknown> {
  const { tallies } = await readTallies(db, {
    ...{ ...read, checkId, checkType: 'URL', spans: wholeWindow({ from, to }), maxResults: 50_000 },
  });
  const tally = tallies.get(0)?.get(null);
  const numbers = ['avg', 'p50', 'p95', 'p99'] as const;
  return numbers.map((name) => tally?.number('responseTime', name));
}

async function scanned(db: Db, checkId: string, from: number, to: number): Promise<unknown> {
  const window = { from, to };
  const { samples } = await readSamples(db, { ...read, checkId, window, maxResults: 10_000_000 });
  const times = samples.flatMap(({ values }) => values.responseTime ?? []);
  return [0.5, 0.95, 0.99].map((share) => quantile(times, share));
}

/** Fills a database, rolls it up, and asks. */
export async function benchAnalytics(): Promise<void> {
  using folder = temporaryFolder();
  const file = join(folder.path, 'analytics.db');
  const made = openDatabase(file);
  await migrateToLatest(made);
  await made
    .insertInto('accounts')
    .values({ id: accountId, name: 'bench', created_at: 1 })
    .execute();
  await made.destroy();
  const ids = seedResults(file, accountId, checks, perMonth, perCheck, 'waiting');
  const db = openDatabase(file);
  try {
    await rollUpAll(db);
    const now = Date.now();
    const midnight = dayOf(now);
    for (const [label, count, rounds, from, to] of [
      ['one check, last 30 days', 1, 20, now - 30 * dayMs, now],
      ['100 checks, last 30 days', 100, 10, now - 30 * dayMs, now],
      ['100 checks, 7 whole days', 100, 10, midnight - 7 * dayMs, midnight],
    ] as const) {
      const each = async (way: typeof summed) => {
        for (const id of ids.slice(0, count)) await way(db, id, from, to);
      };
      await each(summed);
      const cpu = ownCpuMs();
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) times.push(await timed(() => each(summed)));
      show(label, {
        median: ms(median(times), 1),
        max: ms(Math.max(...times), 1),
        CPU: ms((ownCpuMs() - cpu) / rounds, 1),
        'plain, from every result': ms(await timed(() => each(scanned)), 1),
      });
    }
  } finally {
    await db.destroy();
  }
}
