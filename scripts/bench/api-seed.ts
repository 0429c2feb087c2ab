/**
 * Fills a database that a control plane has made: so many checks and results of one account, written
 * straight into the tables. Arguments: file, account id, checks, results. Prints a few check ids.
 */
import { randomUUID } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import { encodePayload } from '../../control-plane/db/columns.ts';

const [file = '', accountId = '', checksText = '', resultsText = ''] = process.argv.slice(2);
const checks = Number(checksText);
const results = Number(resultsText);
const now = Date.now();
const perCheckMs = 60_000;

const db = new SqliteDatabase(file);
db.pragma('synchronous = OFF');

const request = { url: 'https://shop.example/health', method: 'GET', assertions: [] };
const body = JSON.stringify({
  muted: false,
  tags: ['shop', 'production'],
  alertSettings: null,
  useGlobalAlertSettings: true,
  triggerIncident: null,
  description: null,
  doubleCheck: true,
  shouldFail: false,
  locations: ['eu-central-1'],
  privateLocations: [],
  runtimeId: null,
  retryStrategy: null,
  degradedResponseTime: 3000,
  maxResponseTime: 5000,
  environmentVariables: [],
  request,
});
const payload = encodePayload({
  assertions: [],
  request: {
    method: 'GET',
    url: request.url,
    data: '',
    headers: { host: 'shop.example' },
    params: {},
  },
  response: {
    status: 200,
    statusText: 'OK',
    body: '<!doctype html><title>ok</title>'.repeat(8),
    headers: { date: new Date(now).toUTCString(), 'content-type': 'text/html', server: 'nginx' },
    timings: { socket: 0.1, lookup: 0.2, connect: 0.5, response: 11.2, end: 12.1 },
    timingPhases: { wait: 0.1, dns: 0.1, tcp: 0.3, firstByte: 10.7, download: 0.9, total: 12.1 },
  },
  requestError: null,
  jobLog: { setup: [], request: [], teardown: [] },
  jobAssets: null,
  pcapDataUrl: null,
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
   values (?, ?, ?, ?, 'URL', ?, 'FINAL', 1, 0, 0, 0, 0, 0, 'eu-central-1', ?, ?, ?, ?, 12, 1)`,
);
const insertPayload = db.prepare(
  'insert into result_payloads (result_seq, encoding, payload, checksum) values (?, ?, ?, ?)',
);

const ids = Array.from({ length: checks }, () => randomUUID());
db.transaction(() => {
  for (const [index, id] of ids.entries()) {
    insertCheck.run(id, accountId, `check ${index}`, body, now - index);
    insertStatus.run(id, accountId, now, now, now);
  }
})();
const rounds = Math.ceil(results / checks);
for (let round = 0; round < rounds; round += 1) {
  const at = now - round * perCheckMs;
  db.transaction(() => {
    for (const [index, id] of ids.entries()) {
      const resultId = randomUUID();
      const run = insertRun.run(accountId, id, randomUUID(), at, resultId, at);
      const name = `check ${index}`;
      const result = insertResult.run(
        ...[resultId, accountId, id, run.lastInsertRowid, name, at, at, at + 12, at],
      );
      const { encoding, payload: bytes, checksum } = payload;
      insertPayload.run(result.lastInsertRowid, encoding, bytes, checksum);
    }
  })();
}
db.pragma('wal_checkpoint(TRUNCATE)');
db.close();
console.log(JSON.stringify(ids.slice(0, 1000)));
