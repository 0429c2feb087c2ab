// PostgreSQL only: it starts replicas.
import assert from 'node:assert/strict';
import test from 'node:test';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { createLocationKey } from '../../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../../support/keyed-agent.ts';
import { createTestDatabase } from '../../support/postgres.ts';

const minuteMs = 60_000;
const rounds = 20;
const checksAtOnce = 15;

test('two replicas that get the same results, in opposite orders, store each once, and sum up each once', async () => {
  await using database = await createTestDatabase();
  const shared = {
    databaseUrl: database.url,
    requestsPerMinute: 0,
    settings: { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') },
  };
  await using one = await startTestControlPlane(shared);
  await using two = await startTestControlPlane(shared);
  const { services } = one.controlPlane;
  const checks: SlotCheck[] = [];
  for (let index = 0; index < checksAtOnce; index += 1) {
    const { body } = await one.api('POST', '/v1/checks/url', {
      ...{ name: `check ${index}`, locations: ['eu-west-1'], frequency: 1 },
      request: { url: 'https://a.example' },
    });
    checks.push(body as SlotCheck);
  }
  // They have had slots, which nobody has swept.
  await services.db
    .updateTable('schedule_periods')
    .set(({ eb }) => ({ starts_at: eb('starts_at', '-', 60 * minuteMs) }))
    .execute();
  const { rawKey } = await createLocationKey(services, one.accountId, 'eu-west-1', null);
  const agents = [one, two].map((cp) => new KeyedAgent(cp, 'eu-west-1', rawKey));
  for (const agent of agents) await agent.checkIn();
  const [first, second] = agents;
  assert.ok(first !== undefined && second !== undefined);
  const batches = Array.from({ length: rounds }, (_, round) =>
    checks.map((check) => {
      const [next = 0] = slotsOf(check, Date.now() + 2 * minuteMs);
      return first.result(check.id, next - (round + 2) * minuteMs, {
        hasFailures: round % 3 === 0,
      });
    }),
  );
  const answers = await Promise.all(
    batches.flatMap((items) => [first.handIn(...items), second.handIn(...items.toReversed())]),
  );
  const outcomes = answers.flat().map(({ outcome, reason }) => `${outcome} ${reason ?? ''}`);
  const counts = Object.fromEntries(
    [...Map.groupBy(outcomes, (outcome) => outcome)].map(([name, all]) => [name, all.length]),
  );
  const results = rounds * checksAtOnce;
  assert.deepEqual(counts, { 'accepted ': results, 'duplicate ': results });
  const rollUps = [one, two].map((cp) => new RollUp(cp.controlPlane.services));
  const waiting = () => services.db.selectFrom('roll_up_inbox').select('id').execute();
  // Timers roll up as well: what they have taken is gone once they have committed.
  while ((await waiting()).length > 0) await Promise.all(rollUps.map((rollUp) => rollUp.run()));
  const { finals } = await services.db
    .selectFrom('roll_ups')
    .select((select) => select.fn.sum<number>('finals').as('finals'))
    .where('hours', '=', 1)
    .executeTakeFirstOrThrow();
  assert.equal(Number(finals), results);
  const stored = await services.db.selectFrom('check_results').select('id').execute();
  assert.equal(stored.length, results);
});
