import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { recordCertificate } from '../../../control-plane/certificates/record-certificate.ts';
import type { Services } from '../../../control-plane/core/services.ts';
import { deleteResultsOfDeletedChecks } from '../../../control-plane/results/delete-results.ts';
import { ResultIntake } from '../../../control-plane/results/ingest-results.ts';
import { everyInterleaving } from '../../support/interleaving.ts';
import { runsOnPostgres } from '../../support/postgres.ts';
import {
  fiveRuns,
  hour,
  insertResults,
  minute,
  now,
  setUp,
  unix,
  type Bench,
} from '../../support/results.ts';
import { rowsOf } from '../../support/tables.ts';

const ofResults = [
  'check_results',
  'result_payloads',
  'check_runs',
  'check_result_error_groups',
  'artifacts',
];

async function counts(services: Services): Promise<number[]> {
  return Promise.all(ofResults.map(async (table) => (await rowsOf(services.db, table)).length));
}

async function all(run: () => Promise<unknown>): Promise<void> {
  while (await run());
}

/** A check with five runs, a result that has a file and an error, and many others. */
async function checkWithResults(bench: Bench): Promise<string> {
  const id = await fiveRuns(bench);
  await bench.submit(id, 'URL', now - 10 * minute, {
    hasFailures: true,
    errorMessages: ['refused'],
    artifacts: [{ name: 'a.txt', type: 'file', contentType: 'text/plain', size: 1 }] as never,
  });
  const many = Array.from({ length: 1_500 }, (_, index) => ({
    at: now - index,
    responseTime: 1,
    payload: {},
  }));
  await insertResults(bench, id, 'URL', many);
  return id;
}

test('results of a deleted check are not shown from then on, and are deleted in batches', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await checkWithResults(bench);
  const [{ id: resultId } = { id: '' }] = await services.db
    .selectFrom('artifacts')
    .select('result_id as id')
    .execute();
  assert.equal((await bench.get(`check-results/${id}/${resultId}`)).id, resultId);
  const before = await counts(services);
  assert.ok(
    before.every((count) => count > 0),
    before.join(),
  );
  const other = await bench.check('tcp');
  await bench.submit(other, 'TCP', now - hour);

  assert.equal((await bench.cp.api('DELETE', `/v1/checks/${id}`)).status, 204);
  const window = `from=${unix(now - 3 * hour)}&to=${unix(now)}`;
  for (const path of [
    `v1/check-results/${id}?${window}`,
    `v2/check-results/${id}`,
    `v1/check-results/${id}/${resultId}`,
    `v1/check-results/${id}/${resultId}/assets`,
    `v1/check-runs/${id}?${window}`,
    `v1/check-alerts/${id}/decisions?checkResultId=${resultId}`,
    `v1/analytics/url-monitors/${id}?metrics=availability&${window}`,
  ]) {
    assert.equal((await bench.cp.api('GET', `/${path}`)).status, 404, path);
  }
  // They were waiting for the sums.
  await all(() => new RollUp(services).run());
  const sums = await services.db.selectFrom('roll_ups').select('check_id').distinct().execute();
  assert.deepEqual(sums, [{ check_id: other }]);

  const left = await counts(services);
  assert.equal(left[0], runsOnPostgres ? (before[0] ?? 0) + 1 : 1);
  await all(() => deleteResultsOfDeletedChecks(services));
  assert.deepEqual(await counts(services), [1, 0, 1, 0, 0]);
  if (runsOnPostgres) assert.deepEqual(await rowsOf(services.db, 'deleted_checks'), []);
});

test('the results of a deleted account are deleted, and those of a check that is back are not', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await fiveRuns(bench);
  const before = await counts(services);
  const note = { check_id: id, account_id: bench.cp.accountId, deleted_at: now };
  if (runsOnPostgres) await services.db.insertInto('deleted_checks').values(note).execute();
  await all(() => deleteResultsOfDeletedChecks(services));
  assert.deepEqual(await counts(services), before);
  await services.db.deleteFrom('accounts').where('id', '=', bench.cp.accountId).execute();
  await all(() => deleteResultsOfDeletedChecks(services));
  assert.deepEqual(await counts(services), [0, 0, 0, 0, 0]);
});

test('a check that is deleted while its results arrive leaves none', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  let slot = now - 2 * hour;
  await everyInterleaving(
    services.db,
    async () => {
      slot += minute;
      return { id: await bench.check('url'), slot };
    },
    {
      first: async (db, { id, slot: at }) => {
        const intake = new ResultIntake(
          { ...services, db },
          { keptMs: 30 * 24 * hour, takeCertificate: recordCertificate },
        );
        const items = [bench.result(id, 'URL', at)];
        const { accountId } = bench.cp;
        const batch = { accountId, location: 'eu-west-1', agentId: randomUUID(), items };
        return (await intake.ingest(batch)).map(({ outcome }) => outcome);
      },
      second: async ({ id }) => (await bench.cp.api('DELETE', `/v1/checks/${id}`)).status,
      check: async (_, { first, second }, at) => {
        assert.equal(second, 204, at);
        assert.match(first.join(), /^(accepted|refused)$/, at);
        await all(() => new RollUp(services).run());
        await all(() => deleteResultsOfDeletedChecks(services));
        assert.deepEqual(await counts(services), [0, 0, 0, 0, 0], at);
      },
    },
  );
});
