/**
 * A fleet in one location: simulated agents that speak the real protocol over HTTP, so many checks,
 * and one or more replicas without affinity. Shows when each check has one holder after the last
 * agent joined, what that cost the control plane, the database and this process, and what a check-in
 * without news costs the control plane.
 *
 *   scripts/bench/fleet.ts settle <agents> <checks> <seconds of joining> [postgres] [replicas]
 *   scripts/bench/fleet.ts check-in <agents> <checks> [postgres]
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { Agent, request } from 'undici';
import type { CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { systemClock } from '@monitor/shared/clock.ts';
import { createApiKey, createLocationKey } from '../../control-plane/accounts/keys/store.ts';
import { findOrCreateAccount } from '../../control-plane/accounts/store.ts';
import type { Database } from '../../control-plane/db/tables.ts';
import { migrateToLatest } from '../../control-plane/db/migrate.ts';
import { openDatabase } from '../../control-plane/db/open.ts';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import { checkInOf } from '../../test/support/fake-agent.ts';
import { Program } from '../../test/support/program.ts';
import { callApi } from '../demo/api.ts';
import { freePort } from '../../test/support/program.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import { startPostgres } from '../cluster/postgres.ts';
import { treeCpuMs } from './process-cost.ts';

const location = 'eu-west-1';
const pollMs = 20_000;
/** One holder per check for so long: later answers change nothing. */
const quietMs = 10_000;
const dispatcher = new Agent({ connections: null, pipelining: 1, connect: { timeout: 60_000 } });
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface World extends AsyncDisposable {
  urls: string[];
  pids: number[];
  /** Of PostgreSQL. */
  databasePid: number | null;
  apiKey: string;
  locationKey: string;
  db: Kysely<Database>;
}

async function startWorld(isOnPostgres: boolean, replicas: number): Promise<World> {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const settings: Record<string, string> = {
    REQUESTS_PER_MINUTE: '0',
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  let databasePid: number | null = null;
  if (isOnPostgres) {
    const server = stack.use(await startPostgres({ isDurable: true }));
    await server.query('create database fleet');
    databasePid = server.pid();
    settings['DATABASE_URL'] = server.url('fleet');
    settings['ARTIFACTS_DIR'] = join(folder.path, 'artifacts');
    settings['ARTIFACTS_SHARED'] = 'true';
    settings['PUBLIC_URL'] = 'http://127.0.0.1';
  } else settings['DATABASE_FILE'] = join(folder.path, 'control-plane.db');
  const db = isOnPostgres
    ? openPostgres({
        url: settings['DATABASE_URL'] ?? '',
        connections: 2,
        isPrepared: true,
        applicationName: 'bench',
      })
    : openDatabase(settings['DATABASE_FILE'] ?? '');
  await migrateToLatest(db);
  const deps = { db, clock: systemClock, newId: () => randomUUID() };
  const accountId = await findOrCreateAccount(deps);
  const { rawKey: apiKey } = await createApiKey(deps, accountId, { name: 'bench' });
  const { rawKey: locationKey } = await createLocationKey(deps, accountId, location, null);
  stack.defer(() => db.destroy());
  const urls: string[] = [];
  const pids: number[] = [];
  for (let replica = 0; replica < replicas; replica += 1) {
    const port = await freePort();
    const program = new Program(['control-plane/control-plane.js', 'serve'], {
      ...settings,
      PORT: String(port),
    });
    stack.use(program);
    await program.log('serving');
    urls.push(`http://127.0.0.1:${port}`);
    pids.push(program.child.pid ?? 0);
  }
  return {
    ...{ urls, pids, databasePid, apiKey, locationKey, db },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Checks that ran before: first runs are no part of this. */
async function makeChecks({ urls, apiKey, db }: World, count: number): Promise<void> {
  const [baseUrl = ''] = urls;
  let left = count;
  const make = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await callApi({ baseUrl, apiKey }, 'POST', '/v1/checks/url', {
        name: `check ${left}`,
        frequency: 10,
        locations: [location],
        request: { url: 'http://127.0.0.1/' },
      });
    }
  };
  await Promise.all(Array.from({ length: 8 }, make));
  await sql`update check_statuses set last_started_at = ${Date.now() + 60_000}`.execute(db);
}

class SimulatedAgent {
  readonly id = randomUUID();
  readonly #world: World;
  readonly holds = new Map<string, number>();
  snapshot: string | null = null;
  answers = 0;
  upserts = 0;
  failures = 0;
  #turn = 0;

  constructor(world: World) {
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

async function settle(
  agentCount: number,
  checks: number,
  joinSeconds: number,
  isOnPostgres: boolean,
  replicas: number,
): Promise<void> {
  await using world = await startWorld(isOnPostgres, replicas);
  await makeChecks(world, checks);
  const stopping = new AbortController();
  const agents: SimulatedAgent[] = [];
  const sum = (of: (agent: SimulatedAgent) => number): number =>
    agents.reduce((total, agent) => total + of(agent), 0);
  const measure = () => {
    const { user, system } = process.cpuUsage();
    return {
      at: performance.now(),
      cpu: world.pids.reduce((total, pid) => total + treeCpuMs(pid), 0),
      database: world.databasePid === null ? 0 : treeCpuMs(world.databasePid),
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
  const report = {
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
  console.log(JSON.stringify(report, null, 1));
  stopping.abort();
}

/** CPU of a check-in that finds nothing new, one after the other on eight connections. */
async function checkIns(agentCount: number, checks: number, isOnPostgres: boolean): Promise<void> {
  await using world = await startWorld(isOnPostgres, 1);
  await makeChecks(world, checks);
  const agents = Array.from({ length: agentCount }, () => new SimulatedAgent(world));
  // The first ones bring checks and their first jobs.
  for (let round = 0; round < 3 + checks / 50; round += 1) {
    for (const agent of agents) await agent.checkIn(0);
  }
  const [pid = 0] = world.pids;
  const rounds: number[] = [];
  for (let round = 0; round < 5; round += 1) {
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
    rounds.push((treeCpuMs(pid) - cpuBefore) / 2_000);
  }
  rounds.sort((one, other) => one - other);
  console.log(
    JSON.stringify({ agents: agentCount, checks, 'CPU per check-in, ms': rounds[2]?.toFixed(3) }),
  );
}

const [mode, agentsText = '', checksText = '', ...rest] = process.argv.slice(2);
const isOnPostgres = rest.includes('postgres');
const numbers = rest.filter((text) => /^\d+$/.test(text)).map(Number);
if (mode === 'settle') {
  const [joinSeconds = 10, replicas = 1] = numbers;
  await settle(Number(agentsText), Number(checksText), joinSeconds, isOnPostgres, replicas);
} else await checkIns(Number(agentsText), Number(checksText), isOnPostgres);
process.exit(0);
