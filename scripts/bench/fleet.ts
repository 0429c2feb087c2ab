/**
 * A fleet in one location: simulated agents that speak the real protocol over HTTP, so many checks,
 * and one or more replicas without affinity. Shows when each check has one holder after the last
 * agent joined, what that cost the control plane, the database and this process, and what a check-in
 * without news costs the control plane.
 *
 *   scripts/bench/fleet.ts settle <agents> <checks> <seconds of joining> [postgres] [replicas]
 *   scripts/bench/fleet.ts check-in <agents> <checks> [postgres]
 */
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
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
import { median, treeCpuMs } from './process-cost.ts';

export const location = 'eu-west-1';
const pollMs = 20_000;
/** One holder per check for so long: later answers change nothing. */
const quietMs = 10_000;
const dispatcher = new Agent({ connections: null, pipelining: 1, connect: { timeout: 60_000 } });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

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
  readonly holds = new Map<string, number>();
  snapshot: string | null = null;
  answers = 0;
  upserts = 0;
  failures = 0;
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
    for (const { id, revision } of answer.upserts) this.holds.set(id, revision);
    for (const id of answer.removals) this.holds.delete(id);
    this.snapshot = answer.snapshot;
    this.answers += 1;
    this.upserts += answer.upserts.length;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.checkIn(pollMs);
      } catch {
        this.failures += 1;
        this.snapshot = null;
        await pause(1_000);
      }
    }
  }
}

/** Checks with exactly one holder, and with several. */
function holdersOf(agents: readonly SimulatedAgent[]) {
  const holders = new Map<string, number>();
  for (const { holds } of agents) {
    for (const id of holds.keys()) holders.set(id, (holders.get(id) ?? 0) + 1);
  }
  const several = [...holders.values()].filter((count) => count > 1).length;
  return { one: holders.size - several, several };
}

export interface Fleet {
  agentCount: number;
  checks: number;
  joinSeconds: number;
  isOnPostgres: boolean;
  replicas: number;
}

/** How a fleet settles; null for one that does not within three minutes. */
export async function settle({
  agentCount,
  checks,
  joinSeconds,
  isOnPostgres,
  replicas,
}: Fleet): Promise<{ settledMs: number | null; shown: Record<string, unknown> }> {
  await using world = await startWorld({ isOnPostgres, replicas });
  await makeSettledChecks(world, checks);
  const stopping = new AbortController();
  const agents: SimulatedAgent[] = [];
  const sum = (of: (agent: SimulatedAgent) => number): number =>
    agents.reduce((total, agent) => total + of(agent), 0);
  const measure = () => {
    const { user, system } = process.cpuUsage();
    return {
      at: performance.now(),
      cpu: world.pids.reduce((total, pid) => total + treeCpuMs(pid), 0),
      database: world.server === null ? 0 : treeCpuMs(world.server.pid()),
      client: (user + system) / 1000,
      answers: sum((agent) => agent.answers),
      upserts: sum((agent) => agent.upserts),
    };
  };
  type Measured = ReturnType<typeof measure>;
  const seconds = (from: Measured, to: Measured, what: keyof Measured): string =>
    ((to[what] - from[what]) / 1000).toFixed(1);
  const isSettled = (): boolean => {
    if (agents.some(({ answers }) => answers === 0)) return false;
    const { one, several } = holdersOf(agents);
    return one === checks && several === 0;
  };

  const begun = measure();
  let shownAt = begun.at;
  let sampledAt = begun.at;
  let unheldMs = 0;
  const show = (): void => {
    const now = performance.now();
    if (now - sampledAt < 100) return;
    const { one, several } = holdersOf(agents);
    const held = one + several;
    if (held > 0) unheldMs += (checks - held) * (now - sampledAt);
    sampledAt = now;
    if (now - shownAt < 1_000) return;
    shownAt = now;
    const heard = agents.filter(({ answers }) => answers > 0).length;
    process.stderr.write(
      `${((now - begun.at) / 1000).toFixed(0)} s: ${agents.length} agents, ${heard} answered; ` +
        `${one} checks with one holder, ${several} with several\n`,
    );
  };
  for (let index = 0; index < agentCount; index += 1) {
    const agent = new SimulatedAgent(world);
    agents.push(agent);
    void agent.run(stopping.signal);
    const dueMs = ((index + 1) * joinSeconds * 1000) / agentCount;
    const waitMs = dueMs - (performance.now() - begun.at);
    if (waitMs > 0) await pause(waitMs);
    show();
  }
  const joined = measure();
  let settled: Measured | null = null;
  for (;;) {
    if (!isSettled()) settled = null;
    else settled ??= measure();
    const now = performance.now();
    if (now - joined.at > 180_000 || (settled !== null && now - settled.at > quietMs)) break;
    show();
    await pause(100);
  }
  const end = settled ?? measure();
  const before = measure();
  await pause(2 * pollMs);
  const after = measure();
  const later = holdersOf(agents);
  const shown = {
    agents: agentCount,
    checks,
    replicas,
    engine: isOnPostgres ? 'postgres' : 'sqlite',
    'joining, s': seconds(begun, joined, 'at'),
    'settled after the last join, s':
      settled === null ? 'never' : ((settled.at - joined.at) / 1000).toFixed(2),
    'CPU while joining, s': seconds(begun, joined, 'cpu'),
    'CPU from the last join until settled, s': seconds(joined, end, 'cpu'),
    'CPU of the database until settled, s': seconds(begun, end, 'database'),
    'CPU of this process until settled, s': seconds(begun, end, 'client'),
    'without a holder since the first answer, s per check': (unheldMs / checks / 1000).toFixed(3),
    'answers until settled': end.answers,
    'checks in them': end.upserts,
    'one holder 40 s later': `${later.one} of ${checks}, several: ${later.several}`,
    'CPU per check-in with 20 s polls, all else included, ms': (
      (after.cpu - before.cpu) /
      (after.answers - before.answers)
    ).toFixed(2),
    failures: sum((agent) => agent.failures),
  };
  stopping.abort();
  return { settledMs: settled === null ? null : settled.at - joined.at, shown };
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

async function main(): Promise<void> {
  const [mode, agentsText = '', checksText = '', ...rest] = process.argv.slice(2);
  const isOnPostgres = rest.includes('postgres');
  const numbers = rest.filter((text) => /^\d+$/.test(text)).map(Number);
  const [agentCount, checks] = [Number(agentsText), Number(checksText)];
  if (mode === 'settle') {
    const [joinSeconds = 10, replicas = 1] = numbers;
    const fleet = { agentCount, checks, joinSeconds, isOnPostgres, replicas };
    console.log(JSON.stringify((await settle(fleet)).shown, null, 1));
    return;
  }
  await using stack = new AsyncDisposableStack();
  const measure = await openCheckIns(stack, { agentCount, checks, isOnPostgres });
  const rounds: number[] = [];
  for (let round = 0; round < 5; round += 1) rounds.push(await measure());
  console.log(
    JSON.stringify({
      agents: agentCount,
      checks,
      'CPU per check-in, ms': median(rounds).toFixed(3),
    }),
  );
}

if (import.meta.main) {
  await main();
  process.exit(0);
}
