import assert from 'node:assert/strict';
import test from 'node:test';
import { sql } from 'kysely';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { checkWarnings } from '../../../control-plane/checks/check-warnings.ts';
import { presentCheck, presentChecks } from '../../../control-plane/checks/effective-check.ts';
import { createCheck } from '../../../control-plane/checks/save-check.ts';
import { listChecks } from '../../../control-plane/checks/store.ts';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import { engineOf } from '../../../control-plane/db/engine.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { StatementCount } from '../../support/interleaving.ts';
import { KeyedAgent } from '../../support/keyed-agent.ts';

test('making a check and listing a hundred cost few statements', async (context) => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  for (const name of ['a', 'b']) {
    const channel = { type: 'EMAIL', config: { address: `${name}@a.example` } };
    assert.equal((await cp.api('POST', '/v1/alert-channels', channel)).status, 201);
  }
  await KeyedAgent.open(cp, 'eu-west-1');
  const made = new StatementCount();
  const db = services.db.withPlugin(made);
  const counted = { ...services, db, commits: new CommitQueue(db) };
  const body = checkTypes.URL.create.parse({
    ...{ name: 'shop', frequency: 1, tags: ['a', 'b'], locations: ['eu-west-1', 'us-east-1'] },
    ...{ request: { url: 'https://a.example' } },
  });
  for (let index = 0; index < 100; index += 1) {
    const row = await createCheck(counted, cp.accountId, checkTypes.URL, body as never, true);
    await checkWarnings(counted, row);
    await presentCheck(counted, row, { role: 'ADMIN' });
  }
  // On SQLite a row of a list is a statement, which costs a process nothing, and so are savepoint and release.
  const isServer = engineOf(db) === 'postgres';
  assert.ok(made.count / 100 <= (isServer ? 8 : 15), `${made.count / 100} statements`);
  const listed = new StatementCount();
  const reading = { ...services, db: services.db.withPlugin(listed) };
  const { rows } = await listChecks(reading.db, cp.accountId, {}, { limit: 100, page: 1 });
  assert.equal((await presentChecks(reading, cp.accountId, rows, { role: 'ADMIN' })).length, 100);
  // The benchmark of scale reads these lines.
  context.diagnostic(`statements per check made: ${made.count / 100}`);
  context.diagnostic(`statements per list of 100 checks: ${listed.count}`);
  assert.ok(listed.count <= 10, `${listed.count} statements`);
});

test('how many checks a list has is counted without reading them', async () => {
  await using cp = await startTestControlPlane();
  const { db } = cp.controlPlane.services;
  if (engineOf(db) === 'postgres') return;
  const [{ detail } = { detail: '' }] = await db
    .selectFrom('checks')
    .select(({ fn }) => fn.countAll().as('total'))
    .where('account_id', '=', cp.accountId)
    .where('is_trial', '=', 0)
    .explain<{ detail: string }>(undefined, sql`query plan`);
  assert.match(detail, /COVERING INDEX checks_by_age/);
});
