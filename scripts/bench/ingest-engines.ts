/**
 * Ingest on both engines, one after the other: results per second that are durable, and CPU of the control
 * plane and of PostgreSQL per result, the sums of analytics included. The server shares the cores.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { backdateSchedules, System, temporaryFolder } from '../../test/support/system.ts';
import { startPostgres, type PostgresServer } from '../cluster/postgres.ts';
import { median, treeCpuMs } from './process-cost.ts';

const dayMs = 86_400_000;
const checks = 200;
const resultsPerRound = 30_000;
const database = 'monitor';
/** Sums are added every two seconds. */
const sumsWithinMs = 6_000;

interface Cost {
  perSecond: number;
  /** Microseconds per result. */
  controlPlane: number;
  server: number;
  /** Bytes per result that the server wrote to its log, the payload among them. */
  log: number;
}

interface Engine {
  name: 'SQLite' | 'PostgreSQL';
  system: System;
  server: PostgresServer | null;
  key: string;
  checkIds: string;
}

async function open(folder: string, server: PostgresServer | null): Promise<Engine> {
  const settings =
    server === null
      ? {}
      : {
          DATABASE_FILE: '',
          DATABASE_URL: server.url(database),
          ENCRYPTION_KEY: randomBytes(32).toString('base64'),
          PUBLIC_URL: 'http://127.0.0.1',
          ARTIFACTS_DIR: join(folder, 'artifacts'),
          ARTIFACTS_SHARED: 'true',
        };
  const system = await System.start(folder, { CHECK_RESPONSES: 'false', ...settings });
  const key = await system.makeLocation('bench');
  const ids: string[] = [];
  for (let index = 0; index < checks; index += 1) {
    const check = { name: `check ${index}`, privateLocations: ['bench'] };
    ids.push((await system.createUrlCheck('http://127.0.0.1/', check)).id);
  }
  const byMs = 29 * dayMs;
  if (server === null) backdateSchedules(system.databaseFile, byMs);
  else {
    await server.query(`update schedule_periods set starts_at = starts_at - ${byMs}`, database);
  }
  const name = server === null ? 'SQLite' : 'PostgreSQL';
  return { name, system, server, key, checkIds: ids.join() };
}

/** Each round has slots of its own. */
let rounds = 0;

async function measure(engine: Engine, batchSize: number): Promise<Cost> {
  const { system, server, key, checkIds } = engine;
  const pid = system.controlPlane.child.pid ?? 0;
  const cpu = () => ({
    controlPlane: treeCpuMs(pid),
    server: server === null ? 0 : treeCpuMs(server.pid()),
  });
  const writtenSoFar = async (): Promise<number> => {
    if (server === null) return 0;
    const [row] = await server.query<{ bytes: string }>(
      "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes",
    );
    return Number(row?.bytes);
  };
  const batches = Math.floor(resultsPerRound / batchSize);
  const begin = String(Date.now() - 28 * dayMs + rounds * (dayMs / 8));
  rounds += 1;
  await server?.query('checkpoint');
  const logBefore = await writtenSoFar();
  const before = cpu();
  const args = [system.baseUrl, key, 'bench', checkIds, String(batches), '4', begin];
  const text = execFileSync(
    process.execPath,
    ['scripts/bench/ingest.ts', ...args, String(batchSize)],
    { encoding: 'utf8' },
  );
  await pause(sumsWithinMs);
  const after = cpu();
  const results = (batches + 1) * batchSize;
  const log = ((await writtenSoFar()) - logBefore) / results;
  const perResult = (part: 'controlPlane' | 'server') =>
    (1000 * (after[part] - before[part])) / results;
  const { perSecond } = JSON.parse(text) as { perSecond: number };
  return { perSecond, controlPlane: perResult('controlPlane'), server: perResult('server'), log };
}

export async function benchIngestEngines(
  times: number,
  show: (label: string, values: Record<string, string>) => void,
): Promise<void> {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  await using server = await startPostgres({ isDurable: true });
  await server.query(`create database ${database}`);
  const sqlite = await open(folder.path, null);
  await using _sqlite = sqlite.system;
  const postgres = await open(other.path, server);
  await using _postgres = postgres.system;
  for (const batchSize of [500, 100]) {
    const costs: Record<Engine['name'], Cost[]> = { SQLite: [], PostgreSQL: [] };
    for (let round = 0; round < times; round += 1) {
      for (const engine of [sqlite, postgres]) {
        costs[engine.name].push(await measure(engine, batchSize));
      }
    }
    const middle = (name: Engine['name'], part: keyof Cost) =>
      median(costs[name].map((cost) => cost[part]));
    for (const name of ['SQLite', 'PostgreSQL'] as const) {
      show(`${name}, batches of ${batchSize}`, {
        'results/s durable': middle(name, 'perSecond').toFixed(0),
        'CPU per result': `${middle(name, 'controlPlane').toFixed(0)} µs`,
        ...(name === 'SQLite'
          ? {}
          : {
              'of SQLite': (
                middle(name, 'controlPlane') / middle('SQLite', 'controlPlane')
              ).toFixed(2),
              'CPU of the server': `${middle(name, 'server').toFixed(0)} µs`,
              'written to its log': `${middle(name, 'log').toFixed(0)} bytes`,
            }),
      });
    }
  }
}
