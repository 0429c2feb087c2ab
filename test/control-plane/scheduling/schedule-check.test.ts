import assert from 'node:assert/strict';
import test from 'node:test';
import type { Kysely } from 'kysely';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { createCheck } from '../../../control-plane/checks/save-check.ts';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { runFirst } from '../../../control-plane/scheduling/schedule-check.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { everyInterleaving } from '../../support/interleaving.ts';
import { TestClock } from '../../support/test-clock.ts';

const location = 'eu-west-1';

test('a check is due from the instant that people read as its creation, however late it is stored', async () => {
  const clock = new TestClock(Date.now());
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { create } = checkTypes.URL;
  const body = create.parse({
    ...{ name: 'shop', locations: [location], request: { url: 'https://a.example' } },
  });
  const later = {
    ...services,
    commits: {
      run: <T>(work: (db: Kysely<Database>) => Promise<T>) => {
        clock.advance(7_000);
        return services.commits.run(work);
      },
      after: (steps) => {
        services.commits.after(steps);
      },
    } satisfies typeof services.commits,
  };
  const row = await createCheck(later, cp.accountId, checkTypes.URL, body as never, false);
  const [period] = await services.db
    .selectFrom('schedule_periods')
    .select('starts_at')
    .where('check_id', '=', row.id)
    .execute();
  assert.equal(period?.starts_at, row.created_at);
});

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
