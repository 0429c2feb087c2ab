/**
 * Ingest on both engines, one after the other: results per second that are durable, and CPU of the control
 * plane and of PostgreSQL per result, the sums of analytics included. The server shares the cores.
 */
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import type { PostgresServer } from '../cluster/postgres.ts';
import { location, makeChecks, startWorld, type World } from './fleet.ts';
import { median, treeCpuMs } from './process-cost.ts';
import { show } from './show.ts';

const dayMs = 86_400_000;
export const resultsPerRound = 30_000;
/** Sums are added every two seconds. */
const sumsWithinMs = 6_000;

export interface IngestCost {
  perSecond: number;
  /** Microseconds per result. */
  controlPlane: number;
  server: number;
  /** Bytes per result that the server wrote to its log, the payload among them. */
  log: number;
}

export interface IngestTarget {
  url: string;
  /** Of the control planes behind the URL. */
  pids: readonly number[];
  server: PostgresServer | null;
  locationKey: string;
  checkIds: readonly string[];
}

/** Makes checks that have had slots for a month. */
export async function openIngest(world: World, checks: number): Promise<IngestTarget> {
  const checkIds = await makeChecks(world, checks, { frequency: 0, frequencyOffset: 10 });
  await sql`update schedule_periods set starts_at = starts_at - ${29 * dayMs}`.execute(world.db);
  const { urls, pids, server, locationKey } = world;
  return { ...{ pids, server, locationKey, checkIds }, url: urls[0] ?? '' };
}

/** Bytes that a server wrote to its log so far. */
export async function loggedBytes(server: PostgresServer): Promise<number> {
  const [row] = await server.query<{ bytes: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes",
  );
  return Number(row?.bytes);
}

/** Each round has slots of its own. */
let rounds = 0;

/** Hands in results in batches of a size, and waits until they are in the sums. */
export async function measureIngest(target: IngestTarget, batchSize: number): Promise<IngestCost> {
  // One by one they take longer, and wait for each other.
  const [wanted, connections] = batchSize === 1 ? [6_000, '32'] : [resultsPerRound, '4'];
  const { url, pids, server, locationKey, checkIds } = target;
  const cpu = () => ({
    controlPlane: pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0),
    server: server === null ? 0 : treeCpuMs(server.pid()),
  });
  const batches = Math.floor(wanted / batchSize);
  const begin = String(Date.now() - 28 * dayMs + rounds * (dayMs / 8));
  rounds += 1;
  await server?.query('checkpoint');
  const logBefore = server === null ? 0 : await loggedBytes(server);
  const before = cpu();
  const { stdout } = await promisify(execFile)(process.execPath, [
    'scripts/bench/ingest.ts',
    ...[url, locationKey, location, checkIds.join(), String(batches), connections, begin],
    String(batchSize),
  ]);
  await pause(sumsWithinMs);
  const after = cpu();
  const results = (batches + 1) * batchSize;
  const perResult = (part: 'controlPlane' | 'server') =>
    (1000 * (after[part] - before[part])) / results;
  const { perSecond } = JSON.parse(stdout) as { perSecond: number };
  return {
    perSecond,
    controlPlane: perResult('controlPlane'),
    server: perResult('server'),
    log: server === null ? 0 : ((await loggedBytes(server)) - logBefore) / results,
  };
}

export async function benchIngest({ rounds: times }: { rounds: number }): Promise<void> {
  await using worldOfSqlite = await startWorld({ isOnPostgres: false });
  await using worldOfPostgres = await startWorld({ isOnPostgres: true });
  const engines = {
    SQLite: await openIngest(worldOfSqlite, 200),
    PostgreSQL: await openIngest(worldOfPostgres, 200),
  };
  for (const batchSize of [500, 100, 1]) {
    const costs: Record<keyof typeof engines, IngestCost[]> = { SQLite: [], PostgreSQL: [] };
    for (let round = 0; round < times; round += 1) {
      for (const name of ['SQLite', 'PostgreSQL'] as const) {
        costs[name].push(await measureIngest(engines[name], batchSize));
      }
    }
    const middle = (name: keyof typeof engines, part: keyof IngestCost) =>
      median(costs[name].map((cost) => cost[part]));
    const ratio = middle('PostgreSQL', 'controlPlane') / middle('SQLite', 'controlPlane');
    for (const name of ['SQLite', 'PostgreSQL'] as const) {
      show(`${name}, batches of ${batchSize}`, {
        durable: `${middle(name, 'perSecond').toFixed(0)} results/s`,
        'CPU per result': `${middle(name, 'controlPlane').toFixed(0)} µs`,
        ...(name === 'PostgreSQL' && {
          'of SQLite': ratio.toFixed(2),
          'CPU of the server': `${middle(name, 'server').toFixed(0)} µs`,
          'written to its log': `${middle(name, 'log').toFixed(0)} bytes`,
        }),
      });
    }
  }
}
