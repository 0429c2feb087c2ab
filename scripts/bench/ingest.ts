/**
 * `npm run bench -- ingest`: results per second that are durable, and CPU of the control planes and of PostgreSQL
 * per result, the sums of analytics included: on both engines, and by three replicas on one PostgreSQL behind a
 * balancer. The server shares the cores.
 */
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startBalancer } from '../../proof/balancer.ts';
import { location, makeChecks, startWorld, type World } from './fleet.ts';
import type { Bench } from './load.ts';
import { inTurns, median, medianRatio, show, treeCpuMs } from './measure.ts';

const dayMs = 86_400_000;
/** Sums are added every two seconds. */
const sumsWithinMs = 6_000;

interface Target extends Omit<World, 'urls'> {
  url: string;
  checkIds: readonly string[];
}

/** Makes checks that have had slots for a month. */
async function openTarget(world: World, url = world.urls[0] ?? ''): Promise<Target> {
  const checkIds = await makeChecks(world, 200, { frequency: 0, frequencyOffset: 10 });
  await world.run(`update schedule_periods set starts_at = starts_at - ${29 * dayMs}`);
  return { ...world, checkIds, url };
}

/** CPU in ms of the control planes and of PostgreSQL, and what that wrote to its log, so far. */
async function costOf({ pids, server }: Target) {
  const bytes = "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes";
  const [row] = (await server?.query<{ bytes: string }>(bytes)) ?? [];
  return {
    controlPlane: pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0),
    server: server === null ? 0 : treeCpuMs(server.pid()),
    log: Number(row?.bytes ?? 0),
  };
}

/** Each round has slots of its own. */
let rounds = 0;

/** Hands in results in batches of a size, and waits until they are in the sums. */
async function measure(target: Target, batchSize: number) {
  // One by one they take longer, and wait for each other.
  const [wanted, connections] = batchSize === 1 ? [6_000, 32] : [30_000, 4];
  const batches = Math.floor(wanted / batchSize);
  const begin = Date.now() - 28 * dayMs + rounds * (dayMs / 8);
  rounds += 1;
  await target.server?.query('checkpoint');
  const before = await costOf(target);
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...['scripts/bench/submit.ts', target.url, target.locationKey, location],
    ...[target.checkIds.join(), ...[batches, connections, begin, batchSize].map(String)],
  ]);
  await pause(sumsWithinMs);
  const after = await costOf(target);
  const results = (batches + 1) * batchSize;
  return {
    perSecond: Number(stdout),
    controlPlane: (1000 * (after.controlPlane - before.controlPlane)) / results,
    server: (1000 * (after.server - before.server)) / results,
    log: (after.log - before.log) / results,
  };
}

export async function benchIngest({ rounds: times }: Bench): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const open = async (...given: Parameters<typeof startWorld>) =>
    stack.use(await startWorld(...given));
  const three = await open('PostgreSQL', 3);
  const balancer = stack.use(await startBalancer());
  balancer.leadTo(three.urls.map((url) => Number(new URL(url).port)));
  const targets = {
    SQLite: await openTarget(await open('SQLite')),
    PostgreSQL: await openTarget(await open('PostgreSQL')),
    '3 replicas': await openTarget(three, balancer.url),
  };
  for (const batchSize of [500, 100, 1]) {
    const ways = Object.fromEntries(
      Object.entries(targets).map(([name, target]) => [name, () => measure(target, batchSize)]),
    ) as Record<keyof typeof targets, () => ReturnType<typeof measure>>;
    const costs = await inTurns(ways, times);
    const of = (name: keyof typeof targets) => costs[name].map(({ controlPlane }) => controlPlane);
    for (const name of Object.keys(targets) as (keyof typeof targets)[]) {
      const middle = (part: 'perSecond' | 'controlPlane' | 'server' | 'log') =>
        median(costs[name].map((cost) => cost[part])).toFixed(0);
      show(`${name}, batches of ${batchSize}`, {
        durable: `${middle('perSecond')} results/s`,
        'CPU per result': `${middle('controlPlane')} µs`,
        ...(name !== 'SQLite' && {
          'of SQLite': medianRatio(of(name), of('SQLite')).toFixed(2),
          'CPU of the server': `${middle('server')} µs`,
          'written to its log': `${middle('log')} bytes`,
        }),
      });
    }
  }
}
