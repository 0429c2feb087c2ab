/**
 * A fleet in one location: simulated agents that speak the real protocol over HTTP, so many checks,
 * and one or more replicas without affinity. Shows when each check has one holder after the last
 * agent joined, and what a check-in without news costs the control plane.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { Agent, request } from 'undici';
import type { CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import type { Database } from '../../control-plane/db/tables.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import { checkInOf } from '../../test/support/fake-agent.ts';
import { freePort, Program, surroundings } from '../../proof/program.ts';
import { callApi } from '../../proof/api.ts';
import { controlPlaneProgram } from '../../test/support/programs.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import { startPostgres, type PostgresServer } from '../cluster/postgres.ts';
import { treeCpuMs } from './process-cost.ts';

export const location = 'eu-west-1';
const pollMs = 20_000;
/** One holder per check for so long: later answers change nothing. */
const quietMs = 10_000;
const dispatcher = new Agent({ connections: null, pipelining: 1, connect: { timeout: 60_000 } });
export interface World extends AsyncDisposable {
  /** Of each replica. */
  urls: string[];
  pids: number[];
  apiKey: string;
  locationKey: string;
  db: Kysely<Database>;
  /** Null on SQLite. */
  server: PostgresServer | null;
}

export interface WorldOptions {
  isOnPostgres: boolean;
  replicas?: number;
  settings?: Readonly<Record<string, string>>;
}

/** Starts control planes on an empty, durable database, with a location. */
export async function startWorld({
  isOnPostgres,
  replicas = 1,
  settings: given = {},
}: WorldOptions): Promise<World> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const settings: Record<string, string> = {
    REQUESTS_PER_MINUTE: '0',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ...given,
  };
  const server = isOnPostgres ? stack.use(await startPostgres({ isDurable: true })) : null;
  if (server !== null) {
    await server.query('create database fleet');
    settings['DATABASE_URL'] = server.url('fleet');
    settings['ARTIFACTS_DIR'] = join(folder.path, 'artifacts');
    settings['ARTIFACTS_SHARED'] = 'true';
    settings['PUBLIC_URL'] = 'http://127.0.0.1';
  } else settings['DATABASE_FILE'] = join(folder.path, 'control-plane.db');
  // The program makes the database: it may be that of another version.
  const keyOf = (...words: string[]): string => {
    const command = [controlPlaneProgram, 'keys', ...words, '--json'];
    const env = { ...surroundings(), ...settings };
    const made = execFileSync(process.execPath, command, { env, encoding: 'utf8' });
    return (JSON.parse(made) as { rawKey: string }).rawKey;
  };
  const apiKey = keyOf('create', '--name', 'bench');
  const locationKey = keyOf('create-location', '--location', location);
  const db = isOnPostgres
    ? openPostgres({
        url: settings['DATABASE_URL'] ?? '',
        connections: 2,
        isPrepared: true,
        applicationName: 'bench',
      })
    : openDatabase(settings['DATABASE_FILE'] ?? '');
  stack.defer(() => db.destroy());
  const urls: string[] = [];
  const pids: number[] = [];
  for (let replica = 0; replica < replicas; replica += 1) {
    const port = await freePort();
    const program = new Program([controlPlaneProgram, 'serve'], {
      ...settings,
      PORT: String(port),
    });
    stack.use(program);
    await program.log('serving');
    urls.push(`http://127.0.0.1:${port}`);
    pids.push(program.child.pid ?? 0);
  }
  return {
    ...{ urls, pids, apiKey, locationKey, db, server },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Makes URL checks in the location, eight at a time; gives their ids. */
export async function makeChecks(
  { urls, apiKey }: Pick<World, 'urls' | 'apiKey'>,
  count: number,
  fields: Readonly<Record<string, unknown>> = { frequency: 10 },
): Promise<string[]> {
  const [baseUrl = ''] = urls;
  const ids: string[] = [];
  let left = count;
  const make = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { id } = await callApi<{ id: string }>({ baseUrl, apiKey }, 'POST', '/v1/checks/url', {
        name: `check ${left}`,
        locations: [location],
        request: { url: 'http://127.0.0.1/' },
        ...fields,
      });
      ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: 8 }, make));
  return ids;
}

/** Checks that ran before: first runs are no part of this. */
async function makeSettledChecks(world: World, count: number): Promise<void> {
  await makeChecks(world, count);
  const { db } = world;
  await sql`update check_statuses set last_started_at = ${Date.now() + 60_000}`.execute(db);
}

type Reached = Pick<World, 'urls' | 'locationKey'>;

export class SimulatedAgent {
  readonly id = randomUUID();
  readonly #world: Reached;
  readonly holds = new Set<string>();
  snapshot: string | null = null;
  answers = 0;
  #turn = 0;

  constructor(world: Reached) {
    this.#world = world;
  }

  /** One check-in, at another replica each time. */
  async checkIn(waitMs: number): Promise<void> {
    const { urls, locationKey } = this.#world;
    const url = urls[(this.#turn += 1) % urls.length] ?? '';
    const body = checkInOf(
      {
        ...{ agentId: this.id, protocol: 2, snapshot: this.snapshot },
        waitMs: this.snapshot === null ? 0 : waitMs,
        clock: { sentAt: Date.now(), offsetMs: 0 },
      },
      ['URL'],
    );
    const { statusCode, body: stream } = await request(`${url}/v1/agent/check-in`, {
      method: 'POST',
      dispatcher,
      headers: {
        authorization: `Bearer ${locationKey}`,
        'content-type': 'application/json',
        'agent-protocol': '2',
      },
      body: JSON.stringify(body),
    });
    const text = await stream.text();
    if (statusCode !== 200) throw new Error(`${statusCode} ${text.slice(0, 200)}`);
    const answer = JSON.parse(text) as CheckInAnswer;
    if (answer.full) this.holds.clear();
    for (const { id } of answer.upserts) this.holds.add(id);
    for (const id of answer.removals) this.holds.delete(id);
    this.snapshot = answer.snapshot;
    this.answers += 1;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.checkIn(pollMs);
      } catch {
        this.snapshot = null;
        await pause(1_000);
      }
    }
  }
}

/** Each agent has answered, and each check has exactly one holder. */
function isSettled(agents: readonly SimulatedAgent[], checks: number): boolean {
  const held = agents.flatMap(({ holds }) => [...holds]);
  const isHeard = agents.every(({ answers }) => answers > 0);
  return isHeard && held.length === checks && new Set(held).size === checks;
}

export interface Fleet {
  agentCount: number;
  checks: number;
  joinSeconds: number;
  isOnPostgres: boolean;
}

/** From the last join until a fleet has settled; null for one that does not within three minutes. */
export async function settle({
  agentCount,
  checks,
  joinSeconds,
  isOnPostgres,
}: Fleet): Promise<number | null> {
  await using world = await startWorld({ isOnPostgres });
  await makeSettledChecks(world, checks);
  const stopping = new AbortController();
  const agents: SimulatedAgent[] = [];
  const begunAt = performance.now();
  for (let index = 0; index < agentCount; index += 1) {
    const agent = new SimulatedAgent(world);
    agents.push(agent);
    void agent.run(stopping.signal);
    const dueMs = ((index + 1) * joinSeconds * 1000) / agentCount;
    const waitMs = dueMs - (performance.now() - begunAt);
    if (waitMs > 0) await pause(waitMs);
  }
  const joinedAt = performance.now();
  let settledAt: number | null = null;
  for (;;) {
    const now = performance.now();
    if (!isSettled(agents, checks)) settledAt = null;
    else settledAt ??= now;
    if (now - joinedAt > 180_000 || (settledAt !== null && now - settledAt > quietMs)) break;
    await pause(100);
  }
  stopping.abort();
  return settledAt === null ? null : settledAt - joinedAt;
}

/** Agents that know a number of checks, and the world that they check in to. */
export async function openCheckIns(
  stack: AsyncDisposableStack,
  { agentCount, checks, isOnPostgres }: Pick<Fleet, 'agentCount' | 'checks' | 'isOnPostgres'>,
): Promise<() => Promise<number>> {
  const world = stack.use(await startWorld({ isOnPostgres }));
  await makeSettledChecks(world, checks);
  const agents = Array.from({ length: agentCount }, () => new SimulatedAgent(world));
  // The first ones bring checks and their first jobs.
  for (let round = 0; round < 3 + checks / 50; round += 1) {
    for (const agent of agents) await agent.checkIn(0);
  }
  return () => cpuOfCheckIn(world, agents);
}

/** CPU in ms of a check-in that finds nothing new, one after the other on eight connections. */
async function cpuOfCheckIn(world: World, agents: readonly SimulatedAgent[]): Promise<number> {
  const [pid = 0] = world.pids;
  let left = 2_000;
  const cpuBefore = treeCpuMs(pid);
  await Promise.all(
    agents.slice(0, 8).map(async (agent) => {
      while (left > 0) {
        left -= 1;
        await agent.checkIn(0);
      }
    }),
  );
  return (treeCpuMs(pid) - cpuBefore) / 2_000;
}
