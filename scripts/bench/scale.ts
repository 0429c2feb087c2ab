/**
 * `npm run bench -- scale [--json]`: what several replicas on PostgreSQL cost and promise, as one table,
 * and a second one of what that comes to for 10^3 to 10^6 checks. Ratios are of one run. Takes about half
 * an hour. `SCALE_PARTS=ingest,latency` runs some parts.
 */
import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { temporaryFolder } from '../../test/support/system.ts';
import { audit, complaints } from '../cluster/audit.ts';
import { startBalancer } from '../../proof/balancer.ts';
import { startCluster } from '../cluster/start.ts';
import * as cluster from '../cluster/world.ts';
import {
  makeChecks,
  openCheckIns,
  settle,
  SimulatedAgent,
  startWorld,
  type World,
} from './fleet.ts';
import {
  measureIngest,
  openIngest,
  resultsPerRound,
  type IngestCost,
  type IngestTarget,
} from './ingest-engines.ts';
import { median, quantile } from './process-cost.ts';
import { WriteFloor } from './write-floor.ts';

/** Of the worlds of `fleet.ts`. */
const database = 'fleet';
const second = 1_000;
const office = 'office';
const faultsMs = Number(process.env['SCALE_FAULT_SECONDS'] ?? 60) * second;

interface Row {
  measure: string;
  found: string;
  bound: string;
  isMet: boolean;
}

/** What a result costs, as the second table needs it. */
interface Units {
  controlPlane: number;
  server: number;
  log: number;
  stored: number;
}

interface Bench {
  rounds: number;
  rows: Row[];
  units: Units | null;
  say: (what: string) => void;
}

/** Says a row at once, because what follows takes long. */
function add(bench: Bench, row: Row): void {
  bench.rows.push(row);
  bench.say(`${row.measure}: ${row.found} (${row.bound})`);
}

function atMost(bench: Bench, measure: string, value: number, bound: number, unit = ''): void {
  const found = value.toFixed(bound < 10 ? 2 : 0) + unit;
  add(bench, { measure, found, bound: `≤ ${bound}${unit}`, isMet: value <= bound });
}

function atLeast(bench: Bench, measure: string, value: number, bound: number): void {
  const found = value.toFixed(bound < 10 ? 2 : 0);
  add(bench, { measure, found, bound: `≥ ${bound}`, isMet: value >= bound });
}

function exactly(bench: Bench, measure: string, value: number, bound: number): void {
  add(bench, { measure, found: String(value), bound: String(bound), isMet: value === bound });
}

/** Tests count them where the statements are made. */
async function benchStatements(bench: Bench): Promise<void> {
  const files = ['results/ingest-races', 'checks/statements'].map(
    (name) => `test/control-plane/${name}.test.ts`,
  );
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--test', '--test-reporter=tap', '--test-name-pattern=statements', ...files],
    { env: { ...process.env, TEST_DATABASE: 'postgres' } },
  ).catch((error: unknown) => error as { stdout: string });
  const bounds = { 'batch of 500': 20, 'check made': 9, 'list of 100 checks': 10 };
  for (const [what, bound] of Object.entries(bounds)) {
    const found = new RegExp(`statements per ${what}: ([\\d.]+)`).exec(stdout)?.[1];
    if (found === undefined) throw new Error(`no test counted statements per ${what}:\n${stdout}`);
    atMost(bench, `statements per ${what}`, Number(found), bound);
  }
}

function middle(costs: readonly IngestCost[], of: (cost: IngestCost) => number): number {
  return median(costs.map(of));
}

/** Medians of the ratios of each round. */
function ratio(
  ours: readonly IngestCost[],
  theirs: readonly IngestCost[],
  of: (cost: IngestCost) => number,
): number {
  return median(ours.map((cost, round) => of(cost) / of(theirs[round] ?? cost)));
}

const wholeCpu = (cost: IngestCost): number => cost.controlPlane + cost.server;

async function storedBytes(world: World): Promise<number> {
  const { rows } = await sql<{ bytes: string }>`
    select pg_database_size(current_database()) as bytes`.execute(world.db);
  return Number(rows[0]?.bytes);
}

async function payloadBytes(world: World): Promise<number> {
  const { rows: places } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = current_schema() and column_name = 'payload'
      and table_name in ('check_results', 'result_payloads')`.execute(world.db);
  const { rows } = await sql<{ bytes: string }>`
    select avg(octet_length(payload)) as bytes from ${sql.table(places[0]?.name ?? '')}
  `.execute(world.db);
  return Number(rows[0]?.bytes);
}

async function benchIngest(bench: Bench): Promise<void> {
  await using worldOfSqlite = await startWorld({ isOnPostgres: false });
  await using world = await startWorld({ isOnPostgres: true });
  const { server } = world;
  if (server === null) return;
  const sqlite = await openIngest(worldOfSqlite, 200);
  const postgres = await openIngest(world, 200);
  const sizeBefore = await storedBytes(world);
  await using stack = new AsyncDisposableStack();
  let floor: WriteFloor | null = null;
  let results = 0;
  for (const batchSize of [500, 100]) {
    const [ofSqlite, ofPostgres, floors]: [IngestCost[], IngestCost[], number[]] = [[], [], []];
    for (let round = 0; round < bench.rounds; round += 1) {
      bench.say(`ingest in batches of ${batchSize}, round ${round + 1} of ${bench.rounds}`);
      ofSqlite.push(await measureIngest(sqlite, batchSize));
      ofPostgres.push(await measureIngest(postgres, batchSize));
      results += resultsPerRound;
      floor ??= stack.use(await WriteFloor.open(server, database));
      floors.push(await floor.measure());
    }
    const of = `batches of ${batchSize}`;
    atMost(
      bench,
      `CPU of the control plane per result, PostgreSQL / SQLite, ${of}`,
      ratio(ofPostgres, ofSqlite, (cost) => cost.controlPlane),
      1.5,
    );
    atMost(
      bench,
      `CPU of PostgreSQL per result / floor of ${median(floors).toFixed(0)} µs, ${of}`,
      median(ofPostgres.map((cost, round) => cost.server / (floors[round] ?? Number.NaN))),
      1.5,
    );
    const payload = await payloadBytes(world);
    atMost(
      bench,
      `WAL per result − payload of ${payload.toFixed(0)} bytes, ${of}`,
      middle(ofPostgres, (cost) => cost.log) - payload,
      1_300,
      ' bytes',
    );
    atLeast(
      bench,
      `results/s durable on PostgreSQL, ${of}`,
      middle(ofPostgres, (cost) => cost.perSecond),
      5_000,
    );
    bench.units ??= {
      controlPlane: middle(ofPostgres, (cost) => cost.controlPlane),
      server: middle(ofPostgres, (cost) => cost.server),
      log: middle(ofPostgres, (cost) => cost.log),
      stored: ((await storedBytes(world)) - sizeBefore) / results,
    };
  }
}

/** Rows of checks that are switched off, so that nothing is due for them. */
async function addRows({ server }: World, count: number): Promise<void> {
  const copied = (table: string, changed: string): string =>
    `(jsonb_populate_record(null::${table}, to_jsonb(one) || jsonb_build_object(${changed}))).*`;
  await server?.query(
    `with stored as (
       insert into checks select ${copied('checks', "'id', gen_random_uuid(), 'activated', 0")}
       from (select * from checks limit 1) as one, generate_series(1, ${count}) returning id
     )
     insert into check_statuses select ${copied('check_statuses', "'check_id', stored.id")}
     from (select * from check_statuses limit 1) as one, stored`,
    database,
  );
  await server?.query('vacuum analyze', database);
}

async function benchRows(bench: Bench): Promise<void> {
  await using small = await startWorld({ isOnPostgres: true });
  await using large = await startWorld({ isOnPostgres: true });
  const ofSmall = await openIngest(small, 1_000);
  const ofLarge = await openIngest(large, 1_000);
  await addRows(large, 99_000);
  const [few, many]: [IngestCost[], IngestCost[]] = [[], []];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.say(`ingest with 10^3 and 10^5 checks, round ${round + 1} of ${bench.rounds}`);
    few.push(await measureIngest(ofSmall, 500));
    many.push(await measureIngest(ofLarge, 500));
  }
  atMost(
    bench,
    'CPU per result, 10^5 / 10^3 rows of checks, control plane and PostgreSQL',
    ratio(many, few, wholeCpu),
    1.2,
  );
}

async function benchReplicas(bench: Bench): Promise<void> {
  await using world = await startWorld({ isOnPostgres: true, replicas: 3 });
  await using balancer = await startBalancer();
  const ports = world.urls.map((url) => Number(new URL(url).port));
  const target: IngestTarget = { ...(await openIngest(world, 1_000)), url: balancer.url };
  const [one, three]: [IngestCost[], IngestCost[]] = [[], []];
  for (let round = 0; round < bench.rounds; round += 1) {
    bench.say(`ingest by 1 and by 3 replicas, round ${round + 1} of ${bench.rounds}`);
    // The other two are there in both cases, as their timers are.
    balancer.leadTo(ports.slice(0, 1));
    one.push(await measureIngest(target, 500));
    balancer.leadTo(ports);
    three.push(await measureIngest(target, 500));
  }
  atMost(
    bench,
    'CPU per result, 3 replicas / 1, control planes and PostgreSQL',
    ratio(three, one, wholeCpu),
    1.15,
  );
}

async function benchCheckIns(bench: Bench): Promise<void> {
  for (const isOnPostgres of [false, true]) {
    await using stack = new AsyncDisposableStack();
    const engine = isOnPostgres ? 'PostgreSQL' : 'SQLite';
    bench.say(`check-ins without news on ${engine}`);
    const few = await openCheckIns(stack, { agentCount: 8, checks: 100, isOnPostgres });
    const many = await openCheckIns(stack, { agentCount: 8, checks: 1_600, isOnPostgres });
    const ratios: number[] = [];
    for (let round = 0; round < bench.rounds + 2; round += 1) {
      const ofFew = await few();
      ratios.push((await many()) / ofFew);
    }
    atMost(
      bench,
      `CPU of a check-in without news, 1,600 / 100 checks in the location, ${engine}`,
      median(ratios),
      1.2,
    );
  }
}

/** From the request at one replica until the agent that waits at the other one has the check. */
async function latencies(settings: Record<string, string>, samples: number): Promise<number[]> {
  await using world = await startWorld({ isOnPostgres: true, replicas: 2, settings });
  const [a = '', b = ''] = world.urls;
  const agent = new SimulatedAgent({ urls: [b], locationKey: world.locationKey });
  const stopping = new AbortController();
  const running = agent.run(stopping.signal);
  while (agent.answers < 2) {
    await makeChecks({ urls: [a], apiKey: world.apiKey }, 1);
    await pause(second);
  }
  const found: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    // What is read every second is met at any moment of it.
    await pause(Math.random() * second);
    const madeAt = performance.now();
    const [id = ''] = await makeChecks({ urls: [a], apiKey: world.apiKey }, 1);
    while (!agent.holds.has(id)) await pause(1);
    found.push(performance.now() - madeAt);
  }
  stopping.abort();
  await world[Symbol.asyncDispose]();
  await running;
  return found;
}

async function benchLatency(bench: Bench): Promise<void> {
  const samples = 100;
  for (const [how, bound] of [
    ['on', 250],
    ['off', 1_300],
  ] as const) {
    bench.say(`made at A, heard at B, DATABASE_NOTIFY=${how}`);
    const found = await latencies({ DATABASE_NOTIFY: how }, samples);
    const what = `made at A, heard by the agent at B, DATABASE_NOTIFY=${how}, ${samples} times`;
    const p50 = quantile(found, 0.5).toFixed(0);
    atMost(bench, `${what}, p99 (p50 ${p50} ms)`, quantile(found, 0.99), bound, ' ms');
  }
}

async function benchFaults(bench: Bench): Promise<void> {
  using folder = temporaryFolder();
  await using target = await cluster.openTarget(10 * second);
  bench.say('notifications of two replicas');
  await using world = await startCluster({ folder: folder.path, replicas: 2 });
  const api = { baseUrl: world.url, apiKey: world.apiKey };
  const [key = ''] = await cluster.makeLocations(api, [office]);
  for (const name of ['one', 'other']) world.startAgent(name, key);
  await cluster.makeChecks(api, {
    ...{ target: target.url, locations: [office], ofLocation: 40 },
    ...{ everySeconds: 10, flappingOneOf: 2 },
  });
  await pause(60 * second);
  const times = [...target.deliveries.values()];
  const requests = times.reduce((sum, count) => sum + count, 0) / times.length;
  exactly(bench, `requests per notification, two replicas, ${times.length} of them`, requests, 1);

  bench.say('faults');
  const until = Date.now() + faultsMs;
  for (let kill = 0; Date.now() < until; kill += 1) {
    await world.kill(kill % 2);
    await world.startReplica(kill % 2);
    await pause(3 * second);
  }
  const results = async (): Promise<number> => {
    const [row] = await world.query<{ count: string }>('select count(*) from check_results');
    return Number(row?.count);
  };
  const waits: number[] = [];
  for (let round = 0; round < bench.rounds; round += 1) {
    await world.postgres.stop('immediate');
    await pause(2 * second);
    await world.postgres.start();
    const servedAt = performance.now();
    const before = await results();
    while ((await results()) === before) await pause(20);
    waits.push((performance.now() - servedAt) / second);
    await pause(5 * second);
  }
  const stopped = 'immediate stop and start of PostgreSQL';
  atMost(bench, `results accepted after an ${stopped}, longest`, Math.max(...waits), 5, ' s');
  const end = Date.now();
  let found = await audit(world.query, end);
  while (complaints(found).length > 0 && Date.now() < end + 120 * second) {
    await pause(second);
    found = await audit(world.query, end);
  }
  const after = `after ${faultsMs / second} s of kills and ${bench.rounds} crashes of PostgreSQL`;
  exactly(bench, `results in the sums / results, ${after}`, found.summed / found.results, 1);
  exactly(bench, `slots lost, of ${found.slots}`, found.open.length, 0);
  exactly(bench, `results, alerts and failures that are doubled`, found.doubled.length, 0);
}

async function benchFleet(bench: Bench): Promise<void> {
  for (const isOnPostgres of [false, true]) {
    const engine = isOnPostgres ? 'PostgreSQL' : 'SQLite';
    bench.say(`1,000 agents with 10,000 checks on ${engine}`);
    const fleet = { agentCount: 1_000, checks: 10_000, joinSeconds: 10 };
    const settledMs = await settle({ ...fleet, isOnPostgres });
    atMost(
      bench,
      `one holder for each of 10,000 checks after the last of 1,000 agents joined, ${engine}`,
      (settledMs ?? Infinity) / second,
      10,
      ' s',
    );
  }
}

const parts: Record<string, (bench: Bench) => Promise<void>> = {
  statements: benchStatements,
  ingest: benchIngest,
  rows: benchRows,
  replicas: benchReplicas,
  'check-ins': benchCheckIns,
  latency: benchLatency,
  faults: benchFaults,
  fleet: benchFleet,
};

/** What an installation takes: each column is computed from units of this run. */
function capacityOf({ controlPlane, server, log, stored }: Units) {
  /** Reads cost about as much as ingest with its sums. */
  const withReads = 2;
  /** Of one core, which is what the thread of a replica has. */
  const mostBusy = 0.7;
  return [1e3, 1e4, 1e5, 1e6].map((checks) => {
    const perSecond = checks / 60;
    const cores = (perSecond * controlPlane * withReads) / 1e6;
    return {
      'checks at 1/min': checks.toLocaleString('en'),
      'results/s, computed': perSecond.toFixed(0),
      'WAL MB/s, computed': ((perSecond * log) / 1e6).toFixed(2),
      'stored GB/day, computed': ((perSecond * stored * 86_400) / 1e9).toFixed(1),
      'PostgreSQL cores, computed': ((perSecond * server * withReads) / 1e6).toFixed(2),
      'control plane cores, computed': cores.toFixed(2),
      'replicas, computed': 1 + Math.ceil(cores / mostBusy),
      'cores of each of 8 replicas, computed': (cores / 8).toFixed(2),
    };
  });
}

export async function benchScale(rounds: number, isJson: boolean): Promise<void> {
  const wanted = process.env['SCALE_PARTS']?.split(',') ?? Object.keys(parts);
  const bench: Bench = {
    ...{ rounds, rows: [], units: null },
    say(what) {
      console.error(`${new Date().toISOString().slice(11, 19)} ${what}`);
    },
  };
  for (const name of wanted) {
    const part = parts[name];
    if (part === undefined) {
      throw new Error(`SCALE_PARTS takes ${Object.keys(parts).join()}, not ${name}`);
    }
    await part(bench);
  }
  const { rows, units } = bench;
  const capacity = units === null ? null : capacityOf(units);
  if (isJson) {
    console.log(JSON.stringify({ rows, units, capacity }, null, 1));
    return;
  }
  console.table(
    rows.map(({ measure, found, bound, isMet }) => ({
      ...{ measure, found, bound },
      met: isMet ? 'yes' : 'NO',
    })),
  );
  if (units === null) return;
  console.log(
    [
      'Measured per result on PostgreSQL, batches of 500, sums included:',
      `CPU of the control plane ${units.controlPlane.toFixed(0)} µs,`,
      `CPU of PostgreSQL ${units.server.toFixed(0)} µs,`,
      `WAL ${units.log.toFixed(0)} bytes, stored ${units.stored.toFixed(0)} bytes.`,
      'Reads are taken as much again as ingest.',
    ].join(' '),
  );
  console.table(capacity);
}
