/**
 * `npm run bench -- api`: requests a second of the API on one core, keep-alive, with authentication,
 * under 10,000 checks and a million results; the status read while all these results wait for the sums of analytics,
 * beside the same read without them; and once they are summed answers about all checks and of a month, compressed,
 * one after the other. CPU is that of the process tree, the sums included.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { shardOf } from '../../control-plane/db/shard.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import {
  httpSeconds,
  measureHttp,
  middleOf,
  shownHttp,
  type Bench,
  type HttpCost,
} from './load.ts';
import { inTurns, median, ms, show, treeCpuMs } from './measure.ts';

const checks = Number(process.env['BENCH_CHECKS'] ?? 10_000);
const results = Number(process.env['BENCH_RESULTS'] ?? 1_000_000);
/** The first check has those of a month. */
const ofFirst = 43_200;
/** What agents submit at once. */
const resultsStoredAtOnce = 500;

interface Load {
  label: string;
  method?: 'GET' | 'POST';
  body?: string;
  paths: readonly string[];
}

const measure = (pid: number, url: string, { method = 'GET', body, paths }: Load, key: string) =>
  measureHttp(pid, {
    url,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
    },
    requests: paths.map((path) => ({ path, method, ...(body === undefined ? {} : { body }) })),
  });

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
  { label: 'page of the list', path: '/v1/check-overview/list?runs=0' },
  { label: 'page of a search', path: '/v1/check-overview/list?runs=0&search=1 url' },
  { label: 'overview without runs', path: '/v1/check-overview?runs=0' },
  { label: 'overview of 100, 24 runs', path: '/v1/check-overview?' },
  { label: 'statuses', path: '/v1/check-statuses' },
  { label: 'report of the last day', path: '/v1/reporting' },
  {
    label: 'a month of one check',
    path: '/v1/analytics/url-monitors/{id}?quickRange=last30Days&metrics=availability,responseTime_p95',
  },
];
const answersPerRound = 5;

/** Answers about all checks, one after the other and compressed: CPU of the process, compressing included. */
async function benchWholeLists(
  rounds: number,
  { pid, url, key, ids }: { pid: number; url: string; key: string; ids: readonly string[] },
): Promise<void> {
  const [first = ''] = ids;
  const some = ids.slice(0, 100).map((id) => `checkId=${id}`);
  for (const { label, path } of wholeLists) {
    const whole = path.endsWith('?') ? path + some.join('&') : path.replace('{id}', first);
    const read = async (): Promise<number> => {
      const answer = await fetch(url + whole, {
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

/** The status read while nothing waits, and while all results wait; then waits until they are summed. */
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
  while ((waiting.get() ?? 0) > 0) await pause(1_000);
  db.close();
  show('status read, all wait', {
    ...shownHttp(behind),
    'quiet p99': ms(middleOf(quiet, 'p99Ms'), 0),
    'quiet CPU': ms(middleOf(quiet, 'cpuMs'), 3),
    ratio: (middleOf(behind, 'cpuMs') / middleOf(quiet, 'cpuMs')).toFixed(2),
    'summed meanwhile': `${median(summed).toFixed(0)} results/s`,
  });
}

export async function benchApi({ rounds }: Bench): Promise<void> {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  const { databaseFile: file, apiKey: key, baseUrl: url, accountId } = system;
  const each = Math.ceil((results - ofFirst) / checks);
  const words = ['scripts/bench/seed.ts', file, accountId, ...[checks, ofFirst, each].map(String)];
  const made = execFileSync(process.execPath, words, { encoding: 'utf8', maxBuffer: 1e8 });
  const ids = (JSON.parse(made) as string[]).slice(0, 1_000);
  const pid = system.controlPlane.child.pid ?? 0;
  const status = { label: 'status read', paths: ids.map((id) => `/v1/check-statuses/${id}`) };
  const body = JSON.stringify({
    ...{ name: 'bench', activated: true, locations: ['eu-central-1'], tags: ['bench'] },
    request: { url: 'https://shop.example/health' },
  });
  const loads: Load[] = [
    status,
    { label: 'results list of 10', paths: ids.map((id) => `/v1/check-results/${id}`) },
    { label: 'create check, durable', method: 'POST', body, paths: ['/v1/checks/url'] },
  ];
  for (const load of loads) {
    const { ours } = await inTurns({ ours: () => measure(pid, url, load, key) }, rounds);
    show(load.label, shownHttp(ours));
  }
  await benchBacklog(rounds, file, () => measure(pid, url, status, key));
  await benchWholeLists(rounds, { pid, url, key, ids });
}
