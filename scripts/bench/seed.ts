/**
 * Fills a database that a control plane has made with results of URL checks that run every minute, written
 * straight into the tables. The results wait for the sums of analytics when `waiting` says so.
 * Arguments: file, account id, checks, results of the first check, results of each other one, `waiting`.
 * Prints the ids of the checks.
 */
import { randomUUID } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import { encodePayload } from '../../control-plane/db/columns.ts';
import { shardOf } from '../../control-plane/db/shard.ts';

const [file = '', accountId = '', checks, ofFirst, ofOthers, waits] = process.argv.slice(2);
const minuteMs = 60_000;
const now = Math.floor(Date.now() / minuteMs) * minuteMs;

const db = new SqliteDatabase(file);
// Nobody else writes to it, and one that breaks is made anew.
db.pragma('synchronous = OFF');
db.pragma('foreign_keys = OFF');
db.pragma('cache_size = -400000');

const request = { url: 'https://shop.example/health', method: 'GET', assertions: [] };
const body = JSON.stringify({
  muted: false,
  tags: ['shop', 'production'],
  useGlobalAlertSettings: true,
  doubleCheck: true,
  shouldFail: false,
  locations: ['eu-central-1'],
  privateLocations: [],
  degradedResponseTime: 3000,
  maxResponseTime: 5000,
  environmentVariables: [],
  request,
});
const insertCheck = db.prepare(
  `insert into checks (id, account_id, type, name, activated, frequency, frequency_offset,
     run_parallel, body_json, revision, created_at, updated_at)
   values (?, ?, 'URL', ?, 1, 1, 5, 0, ?, 1, ?, null)`,
);
const insertStatus = db.prepare(
  `insert into check_statuses (check_id, account_id, has_failures, has_errors, is_degraded,
     longest_run_ms, shortest_run_ms, last_run_location, last_check_run_id, ssl_days_remaining,
     last_started_at, created_at, updated_at)
   values (?, ?, 0, 0, 0, 40, 10, 'eu-central-1', 1, 60, ?, ?, ?)`,
);
const insertRun = db.prepare(
  `insert into check_runs (account_id, check_id, run_id, location, scheduled_for, state, result_id,
     created_at)
   values (?, ?, ?, 'eu-central-1', ?, 'FINAL', ?, ?)`,
);
const insertResult = db.prepare(
  `insert into check_results (id, account_id, check_id, check_run_id, check_type, name, result_type,
     attempt, has_failures, has_errors, is_degraded, over_max_response_time, under_load,
     run_location, scheduled_for, started_at, stopped_at, created_at, response_time_ms, epoch)
   values (?, ?, ?, ?, 'URL', 'a', 'FINAL', 1, ?, 0, 0, 0, 0, 'eu-central-1', ?, ?, ?, ?, ?, 1)`,
);
const insertPayload = db.prepare(
  'insert into result_payloads (result_seq, encoding, payload, checksum) values (?, ?, ?, ?)',
);
const insertWaiting = db.prepare(
  `insert into roll_up_inbox (shard, first_seq, result_count, results_json, created_at)
   values (?, ?, ?, ?, ?)`,
);

/** Ids in order of time: random ones would make filling take hours, and nothing here looks them up. */
let made = 0;
const nextId = (): string =>
  `00000000-0000-4000-8000-${(made += 1).toString(16).padStart(12, '0')}`;

/** Cheap, and the same at each run. */
let state = 1;
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};

/** Their phases differ; to encode as many as there are results would take hours. */
const payloads = Array.from({ length: 1_000 }, (_, index) => {
  const total = 60 + 200 * random() ** 3;
  const [dns, tcp, firstByte] = [0.1, 0.1, 0.6].map((share) => total * share * random());
  return encodePayload({
    assertions: [],
    request: { ...request, data: '', headers: { host: 'shop.example' }, params: {} },
    response: {
      status: index % 500 === 0 ? 503 : 200,
      statusText: 'OK',
      body: '<!doctype html><title>ok</title>'.repeat(8),
      headers: { 'content-type': 'text/html', server: 'nginx' },
      timings: { socket: 0.1, lookup: 0.2, connect: 0.5, response: 11.2, end: 12.1 },
      timingPhases: { wait: 0.1, dns, tcp, firstByte, download: 0.9, total },
    },
    requestError: null,
    jobLog: { setup: [], request: [], teardown: [] },
    jobAssets: null,
    pcapDataUrl: null,
  });
});

const ids = Array.from({ length: Number(checks) }, () => randomUUID());
/** By shard: numbers of results that wait. */
const waiting = new Map<number, number[]>();

function insertMinute(minute: number): void {
  const at = now - minute * minuteMs;
  for (const id of minute < Number(ofOthers) ? ids : ids.slice(0, 1)) {
    const resultId = nextId();
    const took = Math.round(60 + 200 * random() ** 3 + (random() < 0.01 ? 2_000 * random() : 0));
    const payload = payloads[made % payloads.length];
    const run = insertRun.run(accountId, id, nextId(), at, resultId, at);
    const hasFailed = random() < 0.002 ? 1 : 0;
    const result = insertResult.run(
      ...[resultId, accountId, id, run.lastInsertRowid, hasFailed, at, at, at + took, at, took],
    );
    insertPayload.run(
      ...[result.lastInsertRowid, payload?.encoding, payload?.payload, payload?.checksum],
    );
    const shard = shardOf(id);
    const ofShard = waiting.get(shard) ?? [];
    ofShard.push(Number(result.lastInsertRowid));
    waiting.set(shard, ofShard);
  }
}

db.transaction(() => {
  for (const [index, id] of ids.entries()) {
    insertCheck.run(id, accountId, `check ${index}`, body, now - index);
    insertStatus.run(id, accountId, now, now, now);
  }
})();
for (let left = Number(ofFirst); left > 0; left -= 60) {
  db.transaction(() => {
    for (let minute = left; minute > Math.max(0, left - 60); minute -= 1) insertMinute(minute - 1);
    for (const [shard, finals] of waits === 'waiting' ? waiting : []) {
      const results = JSON.stringify({ finals });
      insertWaiting.run(shard, finals[0], finals.length, results, now - left * minuteMs);
    }
    waiting.clear();
  })();
}
db.pragma('wal_checkpoint(TRUNCATE)');
db.close();
console.log(JSON.stringify(ids));
