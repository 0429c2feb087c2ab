/**
 * `npm run bench -- api`: requests a second of the API on one core, keep-alive, with authentication,
 * under 10,000 checks and a million results; beside it bare Express that gives the same bytes. Then
 * answers about all checks, compressed, one after the other; and the status read while all these results
 * wait for the sums of analytics, beside the same read without them. CPU is that of the process tree, the
 * sums included.
 */
import { execFileSync } from 'node:child_process';
import SqliteDatabase from 'better-sqlite3';
import { shardOf } from '../../control-plane/db/shard.ts';
import { Program } from '../../proof/program.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import {
  httpSeconds,
  measureHttp,
  middleOf,
  shownHttp,
  type Bench,
  type HttpCost,
} from './load.ts';
import { inTurns, median, medianRatio, ms, show, treeCpuMs } from './measure.ts';

const checks = Number(process.env['BENCH_CHECKS'] ?? 10_000);
const results = Number(process.env['BENCH_RESULTS'] ?? 1_000_000);
/** Only loads whose label contains this. */
const wanted = process.env['BENCH_LOADS'] ?? '';
/** What agents submit at once. */
const resultsStoredAtOnce = 500;

interface Load {
  label: string;
  method?: 'GET' | 'POST';
  body?: string;
  paths: readonly string[];
}

const measure = (pid: number, url: string, { method = 'GET', body, paths }: Load, key?: string) =>
  measureHttp(pid, {
    url,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    requests: paths.map((path) => ({ path, method, ...(body === undefined ? {} : { body }) })),
  });

/** Fills a database, see `seed.ts`; gives the ids of the checks. */
export function seedResults(file: string, ...words: (string | number)[]): string[] {
  const args = ['scripts/bench/seed.ts', file, ...words.map(String)];
  const made = execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e8 });
  return JSON.parse(made) as string[];
}

const cpuOf = (costs: readonly HttpCost[]): number[] => costs.map(({ cpuMs }) => cpuMs);

/** Lets all results wait for the sums of analytics, as if they had just been stored. */
function letResultsWait(db: SqliteDatabase.Database): void {
  const rows = db.prepare('select seq, check_id from check_results order by seq').raw().all();
  const insert = db.prepare(
    `insert into roll_up_inbox (shard, first_seq, result_count, results_json, created_at)
     values (?, ?, ?, ?, 0)`,
  );
  db.transaction(() => {
    db.exec('delete from roll_up_inbox');
    for (let from = 0; from < rows.length; from += resultsStoredAtOnce) {
      const stored = rows.slice(from, from + resultsStoredAtOnce) as [number, string][];
      for (const [shard, ofShard] of Map.groupBy(stored, ([, checkId]) => shardOf(checkId))) {
        const finals = ofShard.map(([seq]) => seq);
        insert.run(shard, finals[0], finals.length, JSON.stringify({ finals }));
      }
    }
  })();
}

const wholeLists = [
  { label: 'overview with 24 runs', path: '/v1/check-overview' },
  { label: 'overview without runs', path: '/v1/check-overview?runs=0' },
  { label: 'overview of 100, 24 runs', path: '/v1/check-overview?', isOfHundred: true },
  { label: 'statuses', path: '/v1/check-statuses' },
  { label: 'report of the last day', path: '/v1/reporting' },
];
const answersPerRound = 5;

/** Answers about all checks, one after the other and compressed: CPU of the process, compressing included. */
async function benchWholeLists(
  rounds: number,
  { pid, url, key, ids }: { pid: number; url: string; key: string; ids: readonly string[] },
): Promise<void> {
  for (const { label, path, isOfHundred } of wholeLists) {
    if (!label.includes(wanted)) continue;
    const some = ids.slice(0, 100).map((id) => `checkId=${id}`);
    const read = async (): Promise<number> => {
      const answer = await fetch(url + path + (isOfHundred === true ? some.join('&') : ''), {
        headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' },
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      await answer.arrayBuffer();
      return Number(answer.headers.get('content-length'));
    };
    const bytes = await read();
    const cpuMs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = treeCpuMs(pid);
      for (let answer = 0; answer < answersPerRound; answer += 1) await read();
      cpuMs.push((treeCpuMs(pid) - before) / answersPerRound);
    }
    show(label, { CPU: ms(median(cpuMs), 0), size: `${(bytes / 1_000).toFixed(0)} kB` });
  }
}

const backlogLabel = 'status read, all wait';

/** The status read while nothing waits, and while all results wait. */
async function benchBacklog(
  rounds: number,
  file: string,
  read: () => Promise<HttpCost>,
): Promise<void> {
  const quiet: HttpCost[] = [];
  const behind: HttpCost[] = [];
  const summed: number[] = [];
  const db = new SqliteDatabase(file, { timeout: 60_000 });
  const waiting = db
    .prepare('select coalesce(sum(result_count), 0) from roll_up_inbox')
    .pluck() as SqliteDatabase.Statement<[], number>;
  for (let round = 0; round < rounds; round += 1) quiet.push(await read());
  for (let round = 0; round < rounds; round += 1) {
    letResultsWait(db);
    const before = waiting.get() ?? 0;
    behind.push(await read());
    const left = waiting.get() ?? 0;
    if (left === 0) throw new Error('nothing waited any more: ask for more results');
    summed.push((before - left) / httpSeconds);
  }
  db.close();
  show(backlogLabel, {
    ...shownHttp(behind),
    'quiet p99': ms(middleOf(quiet, 'p99Ms'), 0),
    'quiet CPU': ms(middleOf(quiet, 'cpuMs'), 3),
    ratio: (middleOf(behind, 'cpuMs') / middleOf(quiet, 'cpuMs')).toFixed(2),
    'summed meanwhile': `${median(summed).toFixed(0)} results/s`,
  });
}

/** Runs each operation and its floor in turn. */
export async function benchApi({ rounds }: Bench): Promise<void> {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  const { databaseFile: file, apiKey: key, baseUrl: url, accountId } = system;
  const each = Math.ceil(results / checks);
  const ids = seedResults(file, accountId, checks, each, each).slice(0, 1_000);
  const pid = system.controlPlane.child.pid ?? 0;
  const status = { label: 'status read', paths: ids.map((id) => `/v1/check-statuses/${id}`) };
  const made = {
    ...{ name: 'bench', activated: true, locations: ['eu-central-1'], tags: ['bench'] },
    request: { url: 'https://shop.example/health' },
  };
  const loads: Load[] = [
    status,
    { label: 'results list of 10', paths: ids.map((id) => `/v1/check-results/${id}`) },
    {
      ...{ label: 'create check, durable', method: 'POST', paths: ['/v1/checks/url'] },
      body: JSON.stringify(made),
    },
  ];
  for (const load of loads) {
    if (!load.label.includes(wanted)) continue;
    const { method = 'GET', body, paths } = load;
    const sample = await fetch(url + (paths[0] ?? ''), {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    await using floor = new Program(['scripts/bench/plain-express.ts', await sample.text()], {});
    const { port } = JSON.parse(await floor.line('{')) as { port: number };
    const { plain, ours } = await inTurns(
      {
        plain: () => measure(floor.child.pid ?? 0, `http://127.0.0.1:${port}`, load),
        ours: () => measure(pid, url, load, key),
      },
      rounds,
    );
    show(load.label, {
      ...shownHttp(ours),
      'plain Express': `${middleOf(plain, 'perSecond').toFixed(0)} req/s`,
      'plain Express, CPU': ms(middleOf(plain, 'cpuMs'), 3),
      ratio: medianRatio(cpuOf(ours), cpuOf(plain)).toFixed(2),
    });
  }
  await benchWholeLists(rounds, { pid, url, key, ids });
  if (backlogLabel.includes(wanted)) {
    await benchBacklog(rounds, file, () => measure(pid, url, status, key));
  }
}
