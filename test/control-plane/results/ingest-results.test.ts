import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { recordCertificate } from '../../../control-plane/certificates/record-certificate.ts';
import { engineOf } from '../../../control-plane/db/engine.ts';
import { ResultIntake } from '../../../control-plane/results/ingest-results.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../../support/keyed-agent.ts';
import { minute, now } from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

/** A check that has a slot, and an agent of its location. */
async function openShop(cp: TestControlPlane, clock: TestClock) {
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'shop', locations: ['eu-west-1'], frequency: 1 },
    request: { url: 'https://a.example' },
  });
  const check = body as SlotCheck;
  clock.advance(5 * minute);
  const [slot = 0] = slotsOf(check, clock.now());
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  return { check, slot, agent };
}

test('however many batches wait for a commit, all of them are stored', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { check, slot, agent } = await openShop(cp, clock);
  const intake = new ResultIntake(cp.controlPlane.services, {
    keptMs: 30 * 24 * 60 * minute,
    takeCertificate: recordCertificate,
  });
  const missed = () => ({
    ...{ kind: 'missed', id: randomUUID(), runId: randomUUID(), checkId: randomUUID() },
    ...{ slotLocation: 'eu-west-1', scheduledFor: now, reason: 'not-run' },
  });
  const owner = { accountId: cp.accountId, location: 'eu-west-1' };
  const filled = Array.from({ length: 70 }, () => Array.from({ length: 500 }, missed));
  const batches: unknown[][] = [...filled, [agent.result(check.id, slot)]];
  const outcomes = await Promise.all(
    batches.map((items) => intake.ingest({ ...owner, agentId: randomUUID(), items })),
  );
  assert.deepEqual(
    outcomes.map((each) => each.length),
    batches.map((each) => each.length),
  );
  assert.equal(outcomes.at(-1)?.[0]?.outcome, 'accepted', JSON.stringify(outcomes.at(-1)));
});

test('results that are handed in one by one in the same turn of the loop, or the next one, share a commit', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { check, agent } = await openShop(cp, clock);
  const [first = 0, second = 0, third = 0] = slotsOf(check, clock.now());
  const { services } = cp.controlPlane;
  const intake = new ResultIntake(services, {
    keptMs: 30 * 24 * 60 * minute,
    takeCertificate: recordCertificate,
  });
  const ingest = (at: number) =>
    intake.ingest({
      ...{ accountId: cp.accountId, location: 'eu-west-1', agentId: agent.id },
      items: [agent.result(check.id, at)],
    });
  const taken = [ingest(first), ingest(second)];
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      taken.push(ingest(third));
      resolve();
    });
  });
  const outcomes = (await Promise.all(taken)).flat();
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ['accepted', 'accepted', 'accepted'],
  );
  if (engineOf(services.db) === 'postgres') return;
  const { values } = await services.metrics.ingestBatch.get();
  const of = (name: string) => values.find(({ metricName }) => metricName?.endsWith(name))?.value;
  assert.deepEqual([of('_count'), of('_sum')], [1, 3]);
});

test('a result whose id is in capitals is refused: PostgreSQL would give it back in another way', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { check, slot, agent } = await openShop(cp, clock);
  const result = agent.result(check.id, slot);
  for (const field of ['id', 'runId'] as const) {
    const [outcome] = await agent.handIn({ ...result, [field]: result[field].toUpperCase() });
    assert.equal(outcome?.outcome, 'refused');
    assert.match(outcome.reason ?? '', new RegExp(`^${field}: .*lowercase`, 'i'));
  }
  assert.equal((await agent.handIn(result))[0]?.outcome, 'accepted');
});
