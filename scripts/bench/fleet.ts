/**
 * `npm run bench -- fleet`: what a check-in without news costs, on both engines, in the real protocol.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { Agent, request } from 'undici';
import {
  checkIn,
  protocolHeader,
  protocolVersion,
  type CheckInAnswer,
} from '@monitor/shared/contract/agent-protocol.ts';
import { checkInOf } from '../../test/support/fake-agent.ts';
import { freePort } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { startPostgres, type PostgresServer } from '../cluster/postgres.ts';
import { repeat, type Bench } from './load.ts';
import { inTurns, median, medianRatio, ms, show, treeCpuMs } from './measure.ts';

export const location = 'fleet';
const dispatcher = new Agent({ connections: null, pipelining: 1, connect: { timeout: 60_000 } });

export interface World extends AsyncDisposable {
  system: System;
  /** Of each replica. */
  urls: string[];
  pids: number[];
  locationKey: string;
  /** Null on SQLite. */
  server: PostgresServer | null;
  /** Runs a statement on the database. */
  run(statement: string): Promise<unknown>;
}

/** Replicas on an empty, durable database, with a location. */
export async function startWorld(engine: 'SQLite' | 'PostgreSQL', replicas = 1): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const server = engine === 'SQLite' ? null : stack.use(await startPostgres({ isDurable: true }));
  await server?.query('create database fleet');
  const system = stack.use(
    await System.start(folder.path, {
      ...{ CHECK_RESPONSES: 'false', ENCRYPTION_KEY: randomBytes(32).toString('base64') },
      ...(server !== null && {
        ...{ DATABASE_URL: server.url('fleet'), DATABASE_FILE: '', PUBLIC_URL: 'http://127.0.0.1' },
        ...{ ARTIFACTS_DIR: join(folder.path, 'artifacts'), ARTIFACTS_SHARED: 'true' },
      }),
    }),
  );
  const programs = [system.controlPlane];
  const urls = [system.baseUrl];
  while (programs.length < replicas) {
    const port = await freePort();
    programs.push(await system.startReplica(port));
    urls.push(`http://127.0.0.1:${port}`);
  }
  const opened = stack.move();
  return {
    ...{ system, urls, server, locationKey: await system.makeLocation(location) },
    pids: programs.map(({ child }) => child.pid ?? 0),
    async run(statement) {
      if (server !== null) return server.query(statement, 'fleet');
      using db = Object.assign(new SqliteDatabase(system.databaseFile, { timeout: 60_000 }), {
        [Symbol.dispose]: () => void db.close(),
      });
      return db.exec(statement);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Makes URL checks in the location; gives their ids. */
export async function makeChecks(
  { system }: World,
  count: number,
  fields: Readonly<Record<string, unknown>> = { frequency: 10 },
): Promise<string[]> {
  const ids: string[] = [];
  await repeat(count, async (index) => {
    const made = { name: `check ${index}`, privateLocations: [location], ...fields };
    ids.push((await system.createUrlCheck('http://127.0.0.1/', made)).id);
  });
  return ids;
}

/** Checks in again and again as one agent, which has nothing new to hear after the first answers. */
function agentOf({ urls, locationKey }: World): () => Promise<void> {
  const agentId = randomUUID();
  let snapshot: string | null = null;
  return async () => {
    const facts = {
      ...{ agentId, protocol: protocolVersion, snapshot },
      clock: { sentAt: Date.now(), offsetMs: 0 },
    };
    const { statusCode, body } = await request((urls[0] ?? '') + checkIn.path, {
      ...{ method: checkIn.method, dispatcher, body: JSON.stringify(checkInOf(facts, ['URL'])) },
      headers: {
        authorization: `Bearer ${locationKey}`,
        'content-type': 'application/json',
        [protocolHeader]: String(protocolVersion),
      },
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${statusCode} ${text.slice(0, 200)}`);
    ({ snapshot } = JSON.parse(text) as CheckInAnswer);
  };
}

/** CPU in ms of a check-in that finds nothing new, on eight connections. */
async function cpuOfCheckIn(world: World, checks: number): Promise<number> {
  await makeChecks(world, checks);
  // They ran before: first runs are no part of this.
  await world.run(`update check_statuses set last_started_at = ${Date.now() + 60_000}`);
  const agents = Array.from({ length: 8 }, () => agentOf(world));
  // The first ones bring checks and their first jobs.
  for (let round = 0; round < 3 + checks / 50; round += 1) {
    for (const checkInAgain of agents) await checkInAgain();
  }
  const [pid = 0] = world.pids;
  const before = treeCpuMs(pid);
  await Promise.all(
    agents.map(async (checkInAgain) => {
      for (let made = 0; made < 500; made += 1) await checkInAgain();
    }),
  );
  return (treeCpuMs(pid) - before) / 4_000;
}

export async function benchFleet({ rounds }: Bench): Promise<void> {
  for (const engine of ['SQLite', 'PostgreSQL'] as const) {
    const measure = (checks: number) => async () => {
      await using world = await startWorld(engine);
      // Awaited here: the world ends with this function.
      return await cpuOfCheckIn(world, checks);
    };
    const { few, many } = await inTurns({ few: measure(100), many: measure(1_600) }, rounds);
    show(`${engine}, check-in without news`, {
      'CPU with 100 checks in the location': ms(median(few)),
      'with 1,600': ms(median(many)),
      ratio: medianRatio(many, few).toFixed(2),
    });
  }
}
