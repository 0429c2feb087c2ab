/**
 * Fills a database that a control plane has made with results of URL checks that run every minute, written
 * straight into the tables. Arguments: file, account id, checks, results of the first check, results of each other
 * one. Prints the ids of the checks.
 */
import { randomUUID } from 'node:crypto';
import SqliteDatabase, { type Statement } from 'better-sqlite3';
import { encodePayload } from '../../control-plane/db/columns.ts';
import { seededRandom } from '../../proof/random.ts';

const [file = '', account_id = '', checks, ofFirst, ofOthers] = process.argv.slice(2);
const minuteMs = 60_000;
const now = Math.floor(Date.now() / minuteMs) * minuteMs;
const run_location = 'eu-central-1';

const db = new SqliteDatabase(file);
// Nobody else writes to it, and one that breaks is made anew.
db.pragma('synchronous = OFF');
db.pragma('foreign_keys = OFF');
db.pragma('cache_size = -400000');

const statements = new Map<string, Statement>();
/** Inserts a row, always with the same columns; gives its number. */
function insert(table: string, row: Record<string, unknown>): number {
  let statement = statements.get(table);
  if (statement === undefined) {
    const names = Object.keys(row);
    const values = names.map((name) => `@${name}`);
    statement = db.prepare(`insert into ${table} (${names.join()}) values (${values.join()})`);
    statements.set(table, statement);
  }
  return Number(statement.run(row).lastInsertRowid);
}

const request = { url: 'https://shop.example/health', method: 'GET', assertions: [] };
const body_json = JSON.stringify({
  ...{ muted: false, tags: ['shop', 'production'], useGlobalAlertSettings: true },
  ...{ doubleCheck: true, shouldFail: false, locations: [run_location], privateLocations: [] },
  ...{ degradedResponseTime: 3000, maxResponseTime: 5000, environmentVariables: [], request },
});

/** Ids in order of time: random ones would make filling take hours, and nothing here looks them up. */
let made = 0;
const nextId = (): string =>
  `00000000-0000-4000-8000-${(made += 1).toString(16).padStart(12, '0')}`;

const random = seededRandom(1);

/** Their phases differ; to encode as many as there are results would take hours. */
const payloads = Array.from({ length: 1_000 }, (_, index) => {
  const total = 60 + 200 * random() ** 3;
  const [dns, tcp, firstByte] = [0.1, 0.1, 0.6].map((share) => total * share * random());
  return encodePayload({
    assertions: [],
    request: { ...request, data: '', headers: { host: 'shop.example' }, params: {} },
    response: {
      ...{ status: index % 500 === 0 ? 503 : 200, statusText: 'OK' },
      body: '<!doctype html><title>ok</title>'.repeat(8),
      headers: { 'content-type': 'text/html', server: 'nginx' },
      timings: { socket: 0.1, lookup: 0.2, connect: 0.5, response: 11.2, end: 12.1 },
      timingPhases: { wait: 0.1, dns, tcp, firstByte, download: 0.9, total },
    },
    ...{ requestError: null, jobAssets: null, pcapDataUrl: null },
    jobLog: { setup: [], request: [], teardown: [] },
  });
});

const ids = Array.from({ length: Number(checks) }, () => randomUUID());
function insertMinute(minute: number): void {
  const at = now - minute * minuteMs;
  const times = { scheduled_for: at, created_at: at };
  for (const check_id of minute < Number(ofOthers) ? ids : ids.slice(0, 1)) {
    const id = nextId();
    const took = Math.round(60 + 200 * random() ** 3 + (random() < 0.01 ? 2_000 * random() : 0));
    const { encoding, payload, checksum } = payloads[made % payloads.length] ?? encodePayload({});
    const check_run_id = insert('check_runs', {
      ...{ account_id, check_id, run_id: nextId(), location: run_location, state: 'FINAL' },
      ...{ result_id: id, ...times },
    });
    const result_seq = insert('check_results', {
      ...{ id, account_id, check_id, check_run_id, check_type: 'URL', name: 'a' },
      ...{ result_type: 'FINAL', attempt: 1, has_failures: random() < 0.002 ? 1 : 0 },
      ...{ has_errors: 0, is_degraded: 0, over_max_response_time: 0, under_load: 0, run_location },
      ...{ ...times, started_at: at, stopped_at: at + took, response_time_ms: took, epoch: 1 },
    });
    insert('result_payloads', { result_seq, encoding, payload, checksum });
  }
}

db.transaction(() => {
  for (const [index, id] of ids.entries()) {
    insert('checks', {
      ...{ id, account_id, type: 'URL', name: `check ${index}`, activated: 1, frequency: 1 },
      ...{ frequency_offset: 5, run_parallel: 0, body_json, revision: 1 },
      ...{ created_at: now - index, updated_at: null },
    });
    insert('check_statuses', {
      ...{ check_id: id, account_id, has_failures: 0, has_errors: 0, is_degraded: 0 },
      ...{ longest_run_ms: 40, shortest_run_ms: 10, last_run_location: run_location },
      ...{ last_check_run_id: 1, ssl_days_remaining: 60 },
      ...{ last_started_at: now, created_at: now, updated_at: now },
    });
  }
})();
for (let left = Number(ofFirst); left > 0; left -= 60) {
  db.transaction(() => {
    for (let minute = left; minute > Math.max(0, left - 60); minute -= 1) insertMinute(minute - 1);
  })();
}
db.pragma('wal_checkpoint(TRUNCATE)');
db.close();
console.log(JSON.stringify(ids));
