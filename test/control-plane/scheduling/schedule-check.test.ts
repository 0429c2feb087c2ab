import assert from 'node:assert/strict';
import test from 'node:test';
import type { Kysely } from 'kysely';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { runFirst } from '../../../control-plane/scheduling/schedule-check.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { everyInterleaving } from '../../support/interleaving.ts';

const location = 'eu-west-1';

test('two agents that arrive at two replicas begin the first run of a check once', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  const begin = (db: Kysely<Database>, checkId: string) =>
    runFirst(
      { ...services, db, commits: new CommitQueue(db) },
      { accountId: cp.accountId, location },
      [checkId],
    );
  const rounds = await everyInterleaving(
    services.db,
    async () => {
      const { body } = await cp.api('POST', '/v1/checks/url', {
        ...{ name: 'shop', locations: [location], request: { url: 'https://a.example' } },
      });
      return body.id as string;
    },
    {
      first: begin,
      second: (checkId) => begin(services.db, checkId),
      check: async (checkId, _outcomes, at) => {
        const jobs = await services.db
          .selectFrom('jobs')
          .select('id')
          .where('check_id', '=', checkId)
          .execute();
        assert.equal(jobs.length, 1, at);
      },
    },
  );
  assert.ok(rounds >= 4, `${rounds} rounds`);
});
