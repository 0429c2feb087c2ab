import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { Kysely } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { recordCertificate } from '../../../control-plane/certificates/record-certificate.ts';
import type { Services } from '../../../control-plane/core/services.ts';
import { engineOf } from '../../../control-plane/db/engine.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { ResultIntake } from '../../../control-plane/results/ingest-results.ts';
import { sweepSlots } from '../../../control-plane/results/sweep-slots.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import {
  everyInterleaving,
  StatementCount,
  untilEndedOrWaiting,
} from '../../support/interleaving.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../../support/keyed-agent.ts';
import { minute, now } from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

const location = 'eu-west-1';

class Race {
  readonly cp: TestControlPlane;
  readonly clock: TestClock;
  readonly agent: KeyedAgent;

  constructor(cp: TestControlPlane, clock: TestClock, agent: KeyedAgent) {
    this.cp = cp;
    this.clock = clock;
    this.agent = agent;
  }

  get services(): Services {
    return this.cp.controlPlane.services;
  }

  /** Hands in a batch as a replica does that has this connection, and this clock. */
  async ingest(
    items: readonly ResultSubmission[],
    db: Kysely<Database> = this.services.db,
    clock: Clock = this.clock,
  ) {
    const intake = new ResultIntake(
      { ...this.services, db, clock },
      { keptMs: 30 * 24 * 60 * minute, takeCertificate: recordCertificate },
    );
    const outcomes = await intake.ingest({
      ...{ accountId: this.cp.accountId, location, agentId: randomUUID() },
      items,
    });
    return outcomes.map(({ outcome }) => outcome);
  }

  /** A check with its slots of the last minutes. */
  async check(fields: Record<string, unknown> = {}): Promise<{ id: string; slots: number[] }> {
    const { status, body } = await this.cp.api('POST', '/v1/checks/url', {
      ...{ name: 'shop', locations: [location], frequency: 1 },
      ...{ request: { url: 'https://a.example' }, ...fields },
    });
    assert.equal(status, 201, JSON.stringify(body));
    const check = body as SlotCheck;
    this.clock.advance(4 * minute);
    return { id: check.id, slots: slotsOf(check, this.clock.now()) };
  }

  async alertsOf(checkId: string): Promise<string[]> {
    const rows = await this.services.db
      .selectFrom('check_alerts')
      .select('alert_type')
      .where('check_id', '=', checkId)
      .orderBy('seq')
      .execute();
    return rows.map((row) => row.alert_type);
  }

  async attemptsOf(checkId: string): Promise<number> {
    const rows = await this.services.db
      .selectFrom('check_results')
      .select('id')
      .where('check_id', '=', checkId)
      .execute();
    return rows.length;
  }
}

async function setUp(): Promise<Race & AsyncDisposable> {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const channel = { type: 'EMAIL', config: { address: 'ops@a.example' } };
  assert.equal((await cp.api('POST', '/v1/alert-channels', channel)).status, 201);
  const race = new Race(cp, clock, await KeyedAgent.open(cp, location));
  return Object.assign(race, { [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose]() });
}

test('the same batch at two replicas at once is stored once, and both are answered', async () => {
  await using race = await setUp();
  const rounds = await everyInterleaving(
    race.services.db,
    async () => {
      const { id, slots } = await race.check();
      return { id, items: slots.slice(0, 3).map((slot) => race.agent.result(id, slot)) };
    },
    {
      first: (db, { items }) => race.ingest(items, db),
      second: ({ items }) => race.ingest(items),
      check: async ({ id, items }, { first, second }, at) => {
        const outcomes = items.map((_, index) => [first[index], second[index]].sort().join());
        assert.deepEqual(
          outcomes,
          items.map(() => 'accepted,duplicate'),
          at,
        );
        assert.equal(await race.attemptsOf(id), items.length, at);
      },
    },
  );
  assert.ok(rounds > 5, String(rounds));
});

test('the same checks in opposite orders at two replicas are stored by both', async () => {
  await using race = await setUp();
  await everyInterleaving(race.services.db, async () => [await race.check(), await race.check()], {
    first: (db, checks) =>
      race.ingest(
        checks.map(({ id, slots: [slot = 0] }) => race.agent.result(id, slot)),
        db,
      ),
    second: (checks) =>
      race.ingest(
        checks.toReversed().map(({ id, slots: [, slot = 0] }) => race.agent.result(id, slot)),
      ),
    check: async (checks, { first, second }, at) => {
      assert.deepEqual([...first, ...second], Array(4).fill('accepted'), at);
      for (const { id } of checks) assert.equal(await race.attemptsOf(id), 2, at);
    },
  });
});

test('two failures of a check at two replicas are one alert', async () => {
  await using race = await setUp();
  await everyInterleaving(race.services.db, () => race.check(), {
    first: (db, { id, slots: [slot = 0] }) =>
      race.ingest([race.agent.result(id, slot, { hasFailures: true })], db),
    second: ({ id, slots: [, slot = 0] }) =>
      race.ingest([race.agent.result(id, slot, { hasFailures: true })]),
    check: async ({ id }, { first, second }, at) => {
      assert.deepEqual([...first, ...second], ['accepted', 'accepted'], at);
      assert.deepEqual(await race.alertsOf(id), ['ALERT_FAILURE'], at);
    },
  });
});

test('a recovery beside the failure before it comes after it, or nothing is said', async () => {
  await using race = await setUp();
  const failureFirst: boolean[] = [];
  await everyInterleaving(race.services.db, () => race.check(), {
    first: (db, { id, slots: [slot = 0] }) =>
      race.ingest([race.agent.result(id, slot, { hasFailures: true })], db),
    second: ({ id, slots: [, slot = 0] }) => race.ingest([race.agent.result(id, slot)]),
    check: async ({ id }, _outcomes, at) => {
      const alerts = await race.alertsOf(id);
      failureFirst.push(alerts.length > 0);
      if (alerts.length > 0) assert.deepEqual(alerts, ['ALERT_FAILURE', 'ALERT_RECOVERY'], at);
      const { body: status } = await race.cp.api('GET', `/v1/check-statuses/${id}`);
      assert.equal(status.hasFailures, false, at);
    },
  });
  assert.ok(failureFirst.includes(true));
});

test('a result and the evaluation of due alerts side by side send a reminder once', async () => {
  await using race = await setUp();
  const settings = {
    escalationType: 'RUN_BASED',
    runBasedEscalation: { failedRunThreshold: 1 },
    reminders: { amount: 5, interval: 5 },
  };
  await everyInterleaving(
    race.services.db,
    async () => {
      const { id, slots } = await race.check({
        ...{ useGlobalAlertSettings: false, alertSettings: settings },
      });
      const [slot = 0, next = 0] = slots;
      const failing = race.agent.result(id, slot, { hasFailures: true });
      assert.deepEqual(await race.ingest([failing]), ['accepted']);
      // The timers of the control plane have another clock: they see nothing that is due.
      return { id, next, later: new TestClock(race.clock.now() + 6 * minute) };
    },
    {
      first: (db, { id, next, later }) =>
        race.ingest([race.agent.result(id, next, { hasFailures: true })], db, later),
      second: ({ later }) => evaluateDueAlerts({ ...race.services, clock: later }),
      check: async ({ id }, _outcomes, at) => {
        const alerts = await race.alertsOf(id);
        assert.deepEqual(alerts, ['ALERT_FAILURE', 'ALERT_FAILURE_REMAIN'], at);
        assert.equal((await race.cp.api('DELETE', `/v1/checks/${id}`)).status, 204);
      },
    },
  );
});

test('two that roll up at once add each result to the sums once', async () => {
  await using race = await setUp();
  const { services } = race;
  let stored = 0;
  await everyInterleaving(
    services.db,
    async () => {
      const { id, slots } = await race.check();
      const items = slots.slice(0, 2).map((slot) => race.agent.result(id, slot));
      stored += items.length;
      assert.deepEqual(await race.ingest(items), ['accepted', 'accepted']);
    },
    {
      first: (db) => new RollUp({ ...services, db }).run(),
      second: () => new RollUp(services).run(),
      check: async (_round, _outcomes, at) => {
        // What one of them left to the other, which had begun before it was there.
        while (await new RollUp(services).run());
        const { finals } = await services.db
          .selectFrom('roll_ups')
          .select((select) => select.fn.sum<number>('finals').as('finals'))
          .where('hours', '=', 1)
          .executeTakeFirstOrThrow();
        assert.equal(Number(finals), stored, at);
      },
    },
  );
});

test('a batch costs about as many statements as a result', async (context) => {
  await using race = await setUp();
  if (engineOf(race.services.db) === 'sqlite') return;
  const checks = [];
  for (let index = 0; index < 10; index += 1) checks.push(await race.check());
  // The slots so far are missed; those of the hour to come are not swept, because timers have another clock.
  while (await sweepSlots(race.services));
  const later = new TestClock(race.clock.now() + 60 * minute);
  const count = new StatementCount();
  const items = checks.flatMap(({ id, slots: [slot = 0] }) =>
    Array.from({ length: 50 }, (_, index) => race.agent.result(id, slot + index * minute)),
  );
  const outcomes = await race.ingest(items, race.services.db.withPlugin(count), later);
  assert.deepEqual([...new Set(outcomes)], ['accepted']);
  context.diagnostic(`statements per batch of 500: ${count.count}`);
  assert.ok(count.count <= 20, `${count.count} statements`);
});

test('a result that waited for its check does not replace a newer status', async () => {
  await using race = await setUp();
  const { id, slots } = await race.check();
  const { db } = race.services;
  const other = await db.startTransaction().execute();
  const status = (unit: Kysely<Database>) =>
    unit.updateTable('check_statuses').where('check_id', '=', id);
  await status(other).set({ updated_at: race.clock.now() }).execute();
  const [slot = 0] = slots;
  const waiting = race.ingest([race.agent.result(id, slot)]);
  assert.equal(await untilEndedOrWaiting(db, waiting), false);
  race.clock.advance(minute);
  const newest = race.clock.now() - 1_000;
  await status(other).set({ last_started_at: newest, updated_at: race.clock.now() }).execute();
  await other.commit().execute();
  assert.deepEqual(await waiting, ['accepted']);
  const row = await db
    .selectFrom('check_statuses')
    .select('last_started_at')
    .where('check_id', '=', id)
    .executeTakeFirst();
  assert.equal(row?.last_started_at, newest);
});
