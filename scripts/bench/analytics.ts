/**
 * `npm run bench -- analytics`: rolling results up, and reading 30 days of one check and of a hundred,
 * beside computing the same from every result in the same process. ANALYTICS_RESULTS says of how many.
 */
import { execFileSync } from 'node:child_process';
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
import { median, quantile } from './process-cost.ts';
import { show } from './show.ts';

const results = Number(process.env['ANALYTICS_RESULTS'] ?? 1_000_000);
/** The first check has 30 days of them, the others share the rest. */
const perMonth = 43_200;
const checks = Math.max(100, Math.ceil(results / perMonth));
const perCheck = Math.min(perMonth, Math.max(1, Math.floor((results - perMonth) / (checks - 1))));
const dayMs = 86_400_000;
const monthMs = 30 * dayMs;
const accountId = createHash('sha256').update('bench').digest('hex').slice(0, 32);

type Db = ReturnType<typeof openDatabase>;

const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** What each batch took, until nothing is left. */
async function batchesOf(rollUp: RollUp): Promise<number[]> {
  const times: number[] = [];
  let isMore = true;
  while (isMore) {
    times.push(
      await timed(async () => {
        isMore = (await rollUp.run()) !== false;
      }),
    );
  }
  return times;
}

async function rollUpAll(db: Db): Promise<void> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const times = await batchesOf(new RollUp({ db, clock: systemClock }));
  const tookMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  show('rolling up', {
    results: String(results),
    rate: `${((1000 * results) / tookMs).toFixed(0)} results/s`,
    'CPU per 1,000': ms((user + system) / results),
    'batch p50': ms(median(times)),
    p99: ms(quantile(times, 0.99)),
    max: ms(Math.max(...times)),
  });
  // Days that were over when they were rolled up are due a minute later.
  const later = { ...systemClock, now: () => Date.now() + 120_000 };
  const dayTimes = await batchesOf(new RollUp({ db, clock: later }));
  show('summing up days', {
    batches: String(dayTimes.length),
    p50: ms(median(dayTimes)),
    max: ms(Math.max(...dayTimes)),
  });
}

const figures: string[] = ['availability', 'responseTime'];

function summed(db: Db, checkId: string, from: number, to: number) {
  return readTallies(db, {
    accountId,
    checkId,
    checkType: 'URL',
    spans: wholeWindow({ from, to }),
    bases: figures,
    statuses: [],
    maxResults: 50_000,
  }).then(({ tallies }) => {
    const tally = tallies.get(0)?.get(null);
    return [
      tally?.finals,
      tally?.availability,
      ...(['avg', 'p50', 'p95', 'p99'] as const).map((name) => tally?.number('responseTime', name)),
    ];
  });
}

async function scanned(db: Db, checkId: string, from: number, to: number): Promise<unknown> {
  const { samples } = await readSamples(db, {
    accountId,
    checkId,
    window: { from, to },
    bases: figures,
    statuses: [],
    maxResults: 10_000_000,
  });
  const times = samples
    .flatMap(({ values }) => values.responseTime ?? [])
    .sort((left, right) => left - right);
  return [times.length, ...[0.5, 0.95, 0.99].map((share) => quantile(times, share))];
}

async function compare(
  label: string,
  rounds: number,
  ours: () => Promise<unknown>,
  scan: () => Promise<unknown>,
): Promise<void> {
  await ours();
  const cpu = process.cpuUsage();
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await timed(ours));
  const { user, system } = process.cpuUsage(cpu);
  show(label, {
    median: ms(median(times)),
    max: ms(Math.max(...times)),
    CPU: ms((user + system) / 1000 / rounds),
    'from every result': ms(await timed(scan)),
  });
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
  const ids = JSON.parse(
    execFileSync(
      process.execPath,
      [
        'scripts/bench/seed.ts',
        file,
        accountId,
        ...[checks, perMonth, perCheck].map(String),
        'waiting',
      ],
      { encoding: 'utf8', maxBuffer: 1e8 },
    ),
  ) as string[];
  const db = openDatabase(file);
  try {
    await rollUpAll(db);
    const now = Date.now();
    const [first = ''] = ids;
    const hundred = ids.slice(0, 100);
    const each = async (read: (id: string) => Promise<unknown>) => {
      for (const id of hundred) await read(id);
    };
    await compare(
      'one check, last 30 days',
      20,
      () => summed(db, first, now - monthMs, now),
      () => scanned(db, first, now - monthMs, now),
    );
    await compare(
      '100 checks, last 30 days',
      10,
      () => each((id) => summed(db, id, now - monthMs, now)),
      () => each((id) => scanned(db, id, now - monthMs, now)),
    );
    const midnight = dayOf(now);
    await compare(
      '100 checks, 7 whole days',
      10,
      () => each((id) => summed(db, id, midnight - 7 * dayMs, midnight)),
      () => each((id) => scanned(db, id, midnight - 7 * dayMs, midnight)),
    );
  } finally {
    await db.destroy();
  }
}
