/**
 * Fills a database that a control plane has made with results of URL monitors at one-minute frequency,
 * written straight into the tables: the first monitor has 30 days of them, the others share the rest.
 * Arguments: file, account id, results. Prints the ids of the monitors.
 */
import { randomUUID } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import { shardOf } from '../../control-plane/db/shard.ts';

const [file = '', accountId = '', resultsText = ''] = process.argv.slice(2);
const minuteMs = 60_000;
const perMonth = 43_200;
const results = Number(resultsText);
const checks = Math.max(100, Math.ceil(results / perMonth));
const perCheck = Math.min(
  perMonth,
  Math.max(1, Math.floor((results - perMonth) / Math.max(1, checks - 1))),
);
const now = Math.floor(Date.now() / minuteMs) * minuteMs;

const db = new SqliteDatabase(file);
// Nobody else has it open, and one that breaks is made anew.
db.pragma('journal_mode = OFF');
db.pragma('synchronous = OFF');
db.pragma('locking_mode = EXCLUSIVE');
db.pragma('foreign_keys = OFF');
db.pragma('cache_size = -400000');

const body = JSON.stringify({
  muted: false,
  tags: ['shop', 'production'],
  locations: ['eu-central-1'],
  privateLocations: [],
  request: { url: 'https://shop.example/health', method: 'GET', assertions: [] },
});
const insertCheck = db.prepare(
  `insert into checks (id, account_id, type, name, activated, frequency, frequency_offset,
     run_parallel, body_json, revision, created_at, updated_at)
   values (?, ?, 'URL', ?, 1, 1, 5, 0, ?, 1, ?, null)`,
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
  `insert into result_payloads (result_seq, encoding, payload) values (?, 'json', ?)`,
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

function payload(status: number, time: number): Buffer {
  const phase = (share: number): string => (time * share * (0.5 + random())).toFixed(2);
  return Buffer.from(
    `{"assertions":[{"source":"STATUS_CODE","comparison":"EQUALS","target":200,"actual":${status}}],` +
      `"request":{"method":"GET","url":"https://shop.example/health","data":"","headers":{"host":"shop.example"},"params":{}},` +
      `"response":{"status":${status},"statusText":"OK","headers":{"content-type":"text/html","server":"nginx"},` +
      `"timingPhases":{"wait":${phase(0.01)},"dns":${phase(0.1)},"tcp":${phase(0.1)},"firstByte":${phase(0.6)},"download":${phase(0.1)},"total":${time}}},` +
      `"requestError":null,"jobLog":{"setup":[],"request":[],"teardown":[]},"jobAssets":null,"pcapDataUrl":null}`,
  );
}

const insertWaiting = db.prepare(
  `insert into roll_up_inbox (shard, first_seq, result_count, results_json, created_at)
   values (?, ?, ?, ?, ?)`,
);

const ids = Array.from({ length: checks }, () => randomUUID());
/** By shard: numbers of the results of an hour. */
const waiting = new Map<number, number[]>();
db.transaction(() => {
  for (const [index, id] of ids.entries()) {
    insertCheck.run(id, accountId, `check ${index}`, body, now - index);
  }
})();

function insertMinute(minute: number): void {
  const at = now - minute * minuteMs;
  for (const id of minute > perCheck ? ids.slice(0, 1) : ids) {
    const resultId = nextId();
    const time = Math.round(60 + 200 * random() ** 3 + (random() < 0.01 ? 2_000 * random() : 0));
    const hasFailed = random() < 0.002;
    const run = insertRun.run(accountId, id, nextId(), at, resultId, at);
    const result = insertResult.run(
      ...[resultId, accountId, id, run.lastInsertRowid, hasFailed ? 1 : 0, at, at, at + time],
      ...[at, time],
    );
    insertPayload.run(result.lastInsertRowid, payload(hasFailed ? 503 : 200, time));
    const shard = shardOf(id);
    const ofShard = waiting.get(shard) ?? [];
    ofShard.push(Number(result.lastInsertRowid));
    waiting.set(shard, ofShard);
  }
}

for (let hour = perMonth / 60; hour > 0; hour -= 1) {
  db.transaction(() => {
    for (let minute = 60; minute > 0; minute -= 1) insertMinute((hour - 1) * 60 + minute);
    for (const [shard, finals] of waiting) {
      const results = JSON.stringify({ finals });
      insertWaiting.run(shard, finals[0], finals.length, results, now - hour * 60 * minuteMs);
    }
    waiting.clear();
  })();
}
db.close();
console.log(JSON.stringify(ids));
