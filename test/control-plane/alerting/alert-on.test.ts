import assert from 'node:assert/strict';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { openDatabase } from '../../../control-plane/db/open.ts';
import { alertOn } from '../../../control-plane/alerting/alert-on.ts';
import { pruneAlerts } from '../../../control-plane/alerting/prune-alerts.ts';
import type { RunVerdict } from '../../../control-plane/results/run-verdict.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { hour, minute, now } from '../../support/results.ts';
import { temporaryFolder } from '../../support/system.ts';
import { verdictOf } from '../../support/run-verdict.ts';
import { TestClock } from '../../support/test-clock.ts';

const day = 24 * hour;

async function createCheck(cp: TestControlPlane, fields: Record<string, unknown> = {}) {
  await cp.api('POST', '/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: 'ops@a.example' },
  });
  const { body } = await cp.api('POST', '/v1/checks/url', {
    name: 'shop',
    locations: ['eu-west-1'],
    frequency: 2,
    request: { url: 'https://a.example' },
    ...fields,
  });
  return body.id as string;
}

const verdict = (
  cp: TestControlPlane,
  checkId: string,
  startedAt: number,
  hasFailures: boolean,
): RunVerdict => verdictOf(cp, checkId, startedAt, { hasFailures, error: 'connect ECONNREFUSED' });

const stored = (verdict: RunVerdict) => ({ verdicts: [verdict], endings: [] });

test('what was decided outlives the process: it is there, once, when the database is opened again', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  {
    await using cp = await startTestControlPlane({ clock: new TestClock(now), file });
    const { services } = cp.controlPlane;
    const check = await createCheck(cp);
    const run = (hasFailures: boolean) =>
      services.db
        .transaction()
        .execute((db) => alertOn(services, db, stored(verdict(cp, check, now, hasFailures))));
    // Nobody is woken to deliver it: the process ends in between.
    assert.notEqual(await run(true), null);
    await assert.rejects(
      services.db.transaction().execute(async (db) => {
        await alertOn(services, db, stored(verdict(cp, check, now + minute, false)));
        throw new Error('the process dies before the commit');
      }),
    );
  }
  const db = openDatabase(file);
  const outbox = await db.selectFrom('outbox').select('content_json').execute();
  assert.deepEqual(
    outbox.map((row) => (JSON.parse(row.content_json) as { alertType: string }).alertType),
    ['ALERT_FAILURE'],
  );
  const [state] = await db.selectFrom('alert_states').select('state_json').execute();
  assert.equal(
    (JSON.parse(state?.state_json ?? '{}') as { condition: string }).condition,
    'failing',
  );
  assert.equal((await db.selectFrom('alert_decisions').selectAll().execute()).length, 1);
  assert.equal((await db.selectFrom('alert_notifications').selectAll().execute()).length, 1);
  await db.destroy();
});

test('a week: two outages, a flap, a night of reminders, and nothing else', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const check = await createCheck(cp, {
    useGlobalAlertSettings: false,
    alertSettings: {
      runBasedEscalation: { failedRunThreshold: 2 },
      reminders: { amount: 3, interval: 30 },
    },
  });
  // Outages as minutes of the week: [first failed run, first passing run).
  const outages = [
    [600, 606],
    [3_000, 3_002],
    [7_000, 7_500],
  ] as const;
  for (let at = 0; at < 7 * 24 * 60; at += 2) {
    clock.setWall(now + at * minute);
    const hasFailures = outages.some(([from, to]) => at >= from && at < to);
    const run = verdict(cp, check, clock.now() - 1_000, hasFailures);
    await services.db.transaction().execute((db) => alertOn(services, db, stored(run)));
    await evaluateDueAlerts(services);
  }
  const alerts = await services.db
    .selectFrom('check_alerts')
    .select(['alert_type', 'created_at'])
    .orderBy('seq')
    .execute();
  assert.deepEqual(
    alerts.map((row) => [row.alert_type, (row.created_at - now) / minute]),
    [
      ['ALERT_FAILURE_REMAIN', 602],
      ['ALERT_RECOVERY', 606],
      ['ALERT_FAILURE_REMAIN', 7_002],
      ['ALERT_FAILURE_REMAIN', 7_032],
      ['ALERT_FAILURE_REMAIN', 7_062],
      ['ALERT_FAILURE_REMAIN', 7_092],
      ['ALERT_RECOVERY', 7_500],
    ],
  );
  assert.deepEqual(await services.db.selectFrom('alert_states').selectAll().execute(), []);
});

test('a time-based alert comes by itself when nothing more is heard of the check', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const check = await createCheck(cp, {
    useGlobalAlertSettings: false,
    alertSettings: {
      escalationType: 'TIME_BASED',
      timeBasedEscalation: { minutesFailingThreshold: 10 },
    },
  });
  const run = verdict(cp, check, now, true);
  await services.db.transaction().execute((db) => alertOn(services, db, stored(run)));
  clock.setWall(now + 10 * minute - 1_000);
  assert.equal(await evaluateDueAlerts(services), false);
  const count = async () =>
    (await services.db.selectFrom('check_alerts').selectAll().execute()).length;
  assert.equal(await count(), 0);
  clock.setWall(now + 10 * minute);
  await evaluateDueAlerts(services);
  assert.equal(await count(), 1);
  const { body } = await cp.api('GET', `/v1/check-alerts/${check}/decisions`);
  assert.deepEqual(
    [body[0].cause, body[0].explanation],
    ['ESCALATION', 'Failing for 10 of 10 minutes.'],
  );
});

test('what is older than results are kept is deleted', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const check = await createCheck(cp);
  const fail = (at: number, hasFailures: boolean) =>
    services.db
      .transaction()
      .execute((db) => alertOn(services, db, stored(verdict(cp, check, at, hasFailures))));
  await fail(now, true);
  clock.setWall(now + 20 * day);
  await fail(now + 20 * day, false);
  clock.setWall(now + 31 * day);
  const [alert] = await services.db.selectFrom('check_alerts').selectAll().execute();
  assert.ok(alert);
  const { seq: _, ...row } = alert;
  const more = Array.from({ length: 1_000 }, () => ({ ...row, id: randomUUID() }));
  await services.db.insertInto('check_alerts').values(more).execute();
  assert.equal(await pruneAlerts(services, 30 * day), true, 'a thousand at once');
  assert.equal(await pruneAlerts(services, 30 * day), false);
  const left = async (table: 'check_alerts' | 'alert_decisions' | 'alert_notifications') =>
    (await services.db.selectFrom(table).selectAll().execute()).length;
  assert.deepEqual(
    [await left('check_alerts'), await left('alert_decisions'), await left('alert_notifications')],
    [1, 1, 1],
  );
});
