import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import test, { type TestContext } from 'node:test';
import { audit, complaints } from '../../scripts/cluster/audit.ts';
import { hasPooler, startPooler, type Pooler } from '../support/pooler.ts';
import { debianPrograms, type PostgresServer } from '../../scripts/cluster/postgres.ts';
import { startCluster, type Cluster } from '../../scripts/cluster/start.ts';
import { makeChecks, openTarget } from '../../scripts/cluster/world.ts';
import { FaultProxy } from '../../proof/fault-proxy.ts';
import { libFaketime, moveClock, type MovedClock } from '../../proof/moved-clock.ts';
import { inLongTier, isLong, seededRandom, testSeed } from '../support/random.ts';
import { SmallDisk } from '../../proof/small-disk.ts';
import { longestWaitMs } from '../../proof/system.ts';
import { temporaryFolder } from '../support/system.ts';

const second = 1_000;
/** All kinds of faults take turns, in the long tier for longer: `TEST_CLUSTER_ROUNDS`. */
const roundsOfLongTier = Number(process.env['TEST_CLUSTER_ROUNDS'] ?? 12);
const diskMegabytes = 600;
const locations = ['office', 'warehouse'];
/** Each process costs as long as it waits: of two the other one takes over as well. */
const replicas = isLong ? 3 : 2;
const checksOfLocation = isLong ? 200 : 6;
const agentsOfLocation = isLong ? 2 : 1;

interface Heartbeat {
  id: string;
  heartbeat: { pingUrl: string };
}

/** Asks the API all the time, and keeps every answer that no client should see. */
function askAllTheTime(cluster: Cluster, signal: AbortSignal) {
  const wrong: string[] = [];
  let answers = 0;
  const ask = async (): Promise<void> => {
    while (!signal.aborted) {
      for (const path of ['/v1/check-statuses', '/v1/checks?limit=10', '/v1/check-alerts']) {
        const response = await fetch(cluster.system.baseUrl + path, {
          headers: { authorization: `Bearer ${cluster.system.apiKey}` },
        }).catch((error: unknown) => String(error));
        if (typeof response === 'string') continue;
        const text = await response.text();
        answers += 1;
        if (response.status > 499 && response.status !== 503) {
          wrong.push(`${path}: ${response.status} ${text}`);
        }
        if (response.status === 503 && response.headers.get('retry-after') === null) {
          wrong.push(`${path}: 503 without Retry-After`);
        }
      }
      await pause(isLong ? 200 : 1_000);
    }
  };
  return { wrong, answers: () => answers, done: ask() };
}

interface Variant {
  settings?: Readonly<Record<string, string>>;
  /** Ends with a database that is lost for good, and its standby promoted. */
  hasStandby?: boolean;
  /** The folder of the server's programs; from npm without it. */
  programs?: string;
  /** Replicas reach the database through a pooler in transaction mode. */
  isPooled?: boolean;
  rounds?: number;
}

/** The long tier fills a disk of its own for the database, where it may mount one. */
function openDisk(context: TestContext): SmallDisk | null {
  if (!isLong) return null;
  if (process.getuid?.() === 0) return new SmallDisk(diskMegabytes);
  context.diagnostic('the disk of the database is not filled: only root may mount a small one');
  return null;
}

/** The long tier moves the clocks of replicas and agents. */
function openClocks(context: TestContext, folder: string): (name: string) => MovedClock | null {
  const clocks = new Map<string, MovedClock>();
  if (isLong && libFaketime() === undefined) {
    context.diagnostic('clocks are not moved: libfaketime is not installed (Debian: faketime)');
  }
  return (name) => {
    if (!isLong || libFaketime() === undefined) return null;
    const clock = clocks.get(name) ?? moveClock(join(folder, `clock-of-${name}`));
    clocks.set(name, clock);
    return clock;
  };
}

/** Makes faults for a while, and holds the cluster to its promises. */
async function endure(
  context: TestContext,
  {
    settings = {},
    hasStandby = false,
    programs,
    isPooled = false,
    rounds = isLong ? Math.min(3, roundsOfLongTier) : 1,
  }: Variant = {},
): Promise<void> {
  const seed = testSeed();
  context.diagnostic(`TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  using folder = temporaryFolder();
  await using world = await openTarget(20 * second);
  using disk = openDisk(context);
  const clockOf = openClocks(context, folder.path);
  await using links = new AsyncDisposableStack();
  const linkOf = new Map<number, FaultProxy>();
  let pooler: Promise<Pooler> | null = null;
  await using cluster = await startCluster({
    folder: folder.path,
    replicas,
    postgres: {
      ...(programs === undefined ? {} : { programs }),
      ...(disk === null ? {} : { parent: disk.path, settings: { max_wal_size: '128MB' } }),
    },
    async settingsOf(place, { port, url }) {
      if (isPooled) pooler ??= startPooler(url).then((started) => links.use(started));
      const behind = (await pooler)?.port ?? port;
      const link = linkOf.get(place) ?? links.use(await FaultProxy.start(behind, random));
      linkOf.set(place, link);
      const through = new URL(url);
      through.port = String(link.port);
      return {
        DATABASE_URL: through.href,
        // A pooler in transaction mode carries neither `LISTEN` nor, when it is old, prepared statements.
        ...(isPooled ? { DATABASE_LISTEN_URL: url, DATABASE_PREPARED: 'off' } : {}),
        ...{ CHECK_RESPONSES: 'true', ...clockOf(`replica-${place}`)?.settings, ...settings },
      };
    },
  });
  let server: PostgresServer = cluster.postgres;
  const query = <Row extends object>(text: string): Promise<Row[]> =>
    server.query<Row>(text, 'monitor');
  const { system } = cluster;
  const keys = await Promise.all(locations.map((name) => system.makeLocation(name)));
  const agents = Array.from({ length: locations.length * agentsOfLocation }, (_, index) => {
    const name = `agent-${index}`;
    const key = keys[index % locations.length] ?? '';
    const program = system.startAgent(name, key, clockOf(name)?.settings);
    return { name, program };
  });
  const served = `select count(*) as count from agents where gone_at is null`;
  while (Number((await query<{ count: string }>(served))[0]?.count) < agents.length) {
    await pause(250);
  }
  const checks = await makeChecks(system, {
    target: world.url,
    locations,
    ofLocation: checksOfLocation,
    everySeconds: 30,
  });
  /** Their pages are always up. */
  const steady = new Set(checks.flatMap(({ id, isFlapping }) => (isFlapping ? [] : [id])));
  const heartbeats: Heartbeat[] = [];
  for (let index = 0; index < 10; index += 1) {
    heartbeats.push(
      await system.api<Heartbeat>('POST', '/v1/checks/heartbeat', {
        name: `job ${index}`,
        heartbeat: { period: 30, periodUnit: 'seconds', grace: 0, graceUnit: 'seconds' },
      }),
    );
  }
  for (const { heartbeat } of heartbeats) {
    const { pathname } = new URL(heartbeat.pingUrl);
    assert.ok((await fetch(system.baseUrl + pathname)).ok);
  }

  const stopping = new AbortController();
  const asking = askAllTheTime(cluster, stopping.signal);
  const pick = (): number => Math.floor(random() * replicas);
  let kills = 0;
  const killSome = async (): Promise<void> => {
    for (let count = 0; count < (isLong ? 4 : 2); count += 1) {
      const place = pick();
      await cluster.kill(place);
      kills += 1;
      await cluster.startReplica(place);
    }
  };
  const freezeOne = async (): Promise<void> => {
    const program = cluster.replicas[pick()]?.program;
    program?.signal('SIGSTOP');
    await pause((isLong ? 40 : 15) * second);
    program?.signal('SIGCONT');
  };
  const cutOneOff = async (): Promise<void> => {
    const link = linkOf.get(pick());
    await link?.fail({ kind: 'silence' });
    await pause(8 * second);
    await link?.heal();
  };
  const results = async (): Promise<number> => {
    const [row] = await query<{ count: string }>('select count(*) as count from check_results');
    return Number(row?.count);
  };
  /** Says how long after a database serves again results are stored. */
  const untilAccepted = async (what: string): Promise<void> => {
    const since = performance.now();
    const before = await results();
    while ((await results()) === before && performance.now() - since < longestWaitMs) {
      await pause(50);
    }
    const seconds = ((performance.now() - since) / second).toFixed(2);
    context.diagnostic(`results accepted ${seconds} s after ${what}`);
  };
  const crashDatabase = async (): Promise<void> => {
    await server.stop('immediate');
    await pause(2 * second);
    await server.start();
    await untilAccepted('the database was started again');
  };
  const promoteStandby = async (): Promise<void> => {
    const standby = links.use(await server.startStandby());
    await query(`alter system set synchronous_standby_names = '*'`);
    await query('select pg_reload_conf()');
    const followed = `select 1 from pg_stat_replication where sync_state = 'sync'`;
    while ((await query(followed)).length === 0) await pause(100);
    await pause(5 * second);
    await server.stop('immediate');
    await standby.query('select pg_promote()');
    server = standby;
    for (const link of linkOf.values()) link.leadTo(standby.port);
    await untilAccepted('the standby was promoted');
  };
  const endConnections = async (): Promise<void> => {
    for (let count = 0; count < 5; count += 1) {
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await pause(second);
    }
  };
  /** They stay so while other things fail, until they are moved again. */
  const moveClocks = async (): Promise<void> => {
    const names = Array.from({ length: replicas }, (_, place) => `replica-${place}`);
    for (const name of [...names, ...agents.map((agent) => agent.name)]) {
      clockOf(name)?.by(`${['+3', '-3', '+0'][pick()] ?? ''}`);
    }
    await pause(2 * second);
  };
  const fillDisk = async (): Promise<void> => {
    if (disk === null) return;
    await disk.fill();
    await assert.rejects(query('create table ballast as select generate_series(1, 1000000)'));
    await pause(10 * second);
    disk.free();
    // Without room for its log the server has ended.
    await server.start();
    await untilAccepted('the disk of the database had room again');
  };
  const faults = [
    ...(isLong ? [moveClocks] : []),
    ...[killSome, crashDatabase, freezeOne, endConnections, cutOneOff],
    ...(isLong ? [fillDisk] : []),
  ];
  for (let round = 0; round < rounds; round += 1) {
    for (const fault of faults) {
      await fault();
      await pause(3 * second);
    }
  }
  if (hasStandby) await promoteStandby();
  stopping.abort();
  await asking.done;

  const until = Date.now();
  const deadline = until + longestWaitMs;
  const failures = (): Promise<{ check_id: string }[]> =>
    query(`select check_id from heartbeat_events where state = 'FAILING'`);
  let found = await audit(query, until);
  let failed = await failures();
  // A ping that a replica may have lost is made up for by the next one, up to three periods.
  while (
    (complaints(found).length > 0 || found.waiting > 0 || failed.length < heartbeats.length) &&
    Date.now() < deadline
  ) {
    await pause(2 * second);
    found = await audit(query, until);
    failed = await failures();
  }
  context.diagnostic(
    JSON.stringify({ ...found, open: found.open.length, answers: asking.answers(), kills }),
  );
  assert.deepEqual(complaints(found), []);
  assert.deepEqual(asking.wrong, []);
  assert.equal(found.waiting, 0, 'notifications that nobody sent');
  // Agents were there all the time.
  const untrue = Object.keys(found.missed).filter((reason) => !/^agent-overloaded$/.test(reason));
  assert.deepEqual(untrue, [], JSON.stringify(found.missed));
  assert.ok(found.slots >= checks.length, `${found.slots} slots`);
  for (const [id, count] of world.deliveries) {
    assert.ok(count <= 1 + kills + rounds, `notification ${id} was sent ${count} times`);
  }
  assert.deepEqual(
    failed.map((event) => event.check_id).toSorted(),
    heartbeats.map(({ id }) => id).toSorted(),
    'each missing ping is found, once',
  );
  const alerts = await query<{ check_id: string }>(
    'select check_id, alert_type, response_time_ms, error, started_at from check_alerts',
  );
  const falseAlerts = alerts.filter((alert) => steady.has(alert.check_id));
  assert.deepEqual(falseAlerts, [], 'alerts about pages that were always up');
  for (const { name, program } of agents) assert.ok(!program.hasEnded, `${name} has ended`);
}

test(`${replicas} replicas whose processes, clocks, links and database fail lose nothing and double nothing`, (context) =>
  endure(context, { hasStandby: isLong, rounds: isLong ? roundsOfLongTier : 1 }));

test('nor do replicas that do not notify each other', inLongTier, (context) =>
  endure(context, { settings: { DATABASE_NOTIFY: 'off' } }),
);

/** What is missing matters only in the long tier. */
function inLongTierWith(what: string, isThere: boolean): { skip: string | boolean } {
  return isLong && !isThere ? { skip: `${what} is not installed` } : inLongTier;
}

const programsOfDebian = debianPrograms();
test(
  'nor do they on the PostgreSQL of Debian',
  inLongTierWith('postgresql', programsOfDebian !== undefined),
  (context) =>
    endure(context, {
      ...(programsOfDebian === undefined ? {} : { programs: programsOfDebian }),
      hasStandby: true,
    }),
);

test(
  'nor do they through pgbouncer in transaction mode',
  inLongTierWith('pgbouncer', hasPooler),
  (context) => endure(context, { isPooled: true }),
);

test('a cluster of which a replica fails at its start starts no other one afterwards', async () => {
  using folder = temporaryFolder();
  // Each program that runs is killed when this one exits.
  const running = () => process.listenerCount('exit');
  const before = running();
  const late = Promise.withResolvers<undefined>();
  const settingsOf = async (place: number): Promise<Record<string, string>> => {
    if (place === 0) throw new Error('it fails');
    await late.promise;
    return {};
  };
  await assert.rejects(startCluster({ folder: folder.path, replicas: 2, settingsOf }), /it fails/);
  late.resolve(undefined);
  await setImmediate();
  assert.equal(running(), before);
});
