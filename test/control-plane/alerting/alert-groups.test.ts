/** Alerts of one cause become one notification of a channel that groups; each keeps its own record. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { alertOn } from '../../../control-plane/alerting/alert-on.ts';
import { pruneAlerts } from '../../../control-plane/alerting/prune-alerts.ts';
import { sendAlertGroups } from '../../../control-plane/alerting/send-alert-groups.ts';
import type { RunVerdict } from '../../../control-plane/results/run-verdict.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../../support/http-receiver.ts';
import { mailServer } from '../../support/mail-server.ts';
import { despiteKills } from '../../support/interleaving.ts';
import { hour, minute, now } from '../../support/results.ts';
import { isLeftOutOnPostgres, notOnPostgres } from '../../support/postgres.ts';
import { isLong } from '../../support/random.ts';
import { makeChannel, makeCheck } from '../../support/sent-notifications.ts';
import { eventually } from '../../support/system.ts';
import { verdictOf } from '../../support/run-verdict.ts';
import { TestClock } from '../../support/test-clock.ts';

const from = { MAIL_FROM: 'Monitor <alerts@shop.example>', PUBLIC_URL: 'https://m.example' };
const grouping = { windowSeconds: 30, updateMinutes: 5, maxPerHour: 20 };

const verdict = (
  cp: TestControlPlane,
  checkId: string,
  startedAt: number,
  hasFailures: boolean,
): RunVerdict =>
  verdictOf(cp, checkId, startedAt, {
    hasFailures,
    error: 'the connection was refused: 10.0.0.1:443 (ECONNREFUSED)',
  });

/** For what the sender does on its own. */
function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  return eventually(isTrue, () => 'notifications are missing');
}

async function report(cp: TestControlPlane, verdicts: readonly RunVerdict[]): Promise<void> {
  const { services } = cp.controlPlane;
  await services.db.transaction().execute((db) => alertOn(services, db, { verdicts, endings: [] }));
}

/** Lets so much time pass, and sends what falls due second by second. */
async function wait(cp: TestControlPlane, clock: TestClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10_000) {
    clock.setWall(clock.now() + 10_000);
    while (await sendAlertGroups(cp.controlPlane.services));
  }
}

async function makeChecks(cp: TestControlPlane, channels: readonly number[], count: number) {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push(
      await makeCheck(cp, channels, {
        name: `shop ${index}`,
        request: { url: `https://a.example/${index}` },
      }),
    );
  }
  return ids;
}

async function recordsOf({ controlPlane }: TestControlPlane) {
  return controlPlane.services.db.selectFrom('alert_notifications').selectAll().execute();
}

/** The other tests run its statements there, and are killed at each. */
const countsNotifications = notOnPostgres('it counts notifications');

/** Of which two fifths recover first. */
const many = isLong ? 1_000 : 100;
const some = many * 0.4;

test(
  `${many} failing checks of one cause: three mails in ten minutes, and ${many} records`,
  countsNotifications,
  async () => {
    const clock = new TestClock(now);
    await using mail = await mailServer();
    await using slack = await httpReceiver();
    await using cp = await startTestControlPlane({
      clock,
      requestsPerMinute: 0,
      settings: { ...from, ...reachesTestServers, SMTP_URL: mail.url },
    });
    const mails = await makeChannel(cp, { grouping });
    const chat = await makeChannel(cp, { type: 'SLACK', config: { url: slack.url }, grouping });
    const [one = ''] = await makeChecks(cp, [mails, chat], 1);
    const { db } = cp.controlPlane.services;
    const rest = await makeChecks(cp, [mails, chat], many - 1);
    const checks = [one, ...rest];
    // Every check runs once a minute, each at its second.
    for (let second = 0; second < 60; second += 10) {
      const share = checks.slice((second / 60) * many, ((second + 10) / 60) * many);
      await report(
        cp,
        share.map((id) => verdict(cp, id, clock.now(), true)),
      );
      await wait(cp, clock, 10_000);
    }
    await wait(cp, clock, 6 * minute);
    await report(
      cp,
      checks.slice(0, some).map((id) => verdict(cp, id, clock.now(), false)),
    );
    await wait(cp, clock, 3 * minute);
    assert.equal(clock.now(), now + 10 * minute);
    await until(() => mail.received.length === 2 && slack.received.length === 2);
    const [first, second] = mail.received;
    assert.match(
      first?.headers.get('subject') ?? '',
      /^\[FAILING\] \d+ checks are failing: the host a\.example$/,
    );
    assert.match(
      second?.headers.get('subject') ?? '',
      new RegExp(`^\\[UPDATE\\] \\d+ more failing, ${many} of ${many} checks not recovered`),
    );
    assert.match(first?.text ?? '', /shop 0 \(the connection was refused.*and \d+ more/);
    assert.match(first?.text ?? '', /https:\/\/m\.example\/console\/#\/alerts\?group=/);
    assert.equal(first?.headers.get('references'), second?.headers.get('references'));
    const records = await recordsOf(cp);
    assert.equal(records.length, 2 * (many + some));
    const alerts = await db.selectFrom('check_alerts').select('id').execute();
    assert.equal(alerts.length, many + some);
    await wait(cp, clock, 3 * minute);
    await until(() => mail.received.length === 3);
    assert.match(
      mail.received[2]?.headers.get('subject') ?? '',
      new RegExp(`${some} recovered, ${many - some} of ${many} checks not recovered`),
    );
    await report(
      cp,
      checks.slice(some).map((id) => verdict(cp, id, clock.now(), false)),
    );
    await wait(cp, clock, 6 * minute);
    await until(async () => {
      // A server that a busy machine kept waiting is asked again later.
      await wait(cp, clock, 1_000);
      const records = await recordsOf(cp);
      return mail.received.length === 4 && records.every(({ status }) => status === 'SUCCESS');
    });
    assert.match(
      mail.received[3]?.headers.get('subject') ?? '',
      new RegExp(
        `^\\[RECOVERED\\] All ${many} checks have recovered \\(the host a\\.example\\): it lasted 15 min$`,
      ),
    );
    const { body: groups } = await cp.api('GET', `/v1/alert-groups?alertChannelId=${mails}`);
    assert.deepEqual(
      groups.map((group: Record<string, unknown>) => [
        group['alerts'],
        group['notifications'],
        group['cause'],
      ]),
      [[2 * many, 4, { kind: 'host', name: 'a.example', text: 'the host a.example' }]],
    );
    const { body: ofGroup } = await cp.api(
      'GET',
      `/v1/alert-groups/${groups[0].id}/alerts?limit=100`,
    );
    assert.equal(ofGroup.length, 100);
    const { body: decisions } = await cp.api('GET', `/v1/check-alerts/${one}/decisions`);
    const reasons = decisions
      .at(-1)
      .channels.map(({ explanation }: { explanation: string }) => explanation);
    assert.match(
      reasons[0],
      /It is subscribed to failures\. It was sent together with \d+ others, which share the host a\.example\./,
    );
  },
);

test('an alert without others of its cause is the message that it always was', async () => {
  const clock = new TestClock(now);
  await using mail = await mailServer();
  await using cp = await startTestControlPlane({
    clock,
    settings: { ...from, SMTP_URL: mail.url },
  });
  const channel = await makeChannel(cp, { grouping });
  const [check = ''] = await makeChecks(cp, [channel], 1);
  await report(cp, [verdict(cp, check, clock.now(), true)]);
  await wait(cp, clock, minute);
  await until(() => mail.received.length === 1);
  await report(cp, [verdict(cp, check, clock.now(), false)]);
  await wait(cp, clock, minute);
  // A channel that must wait leaves its turn to others.
  const [waiting] = await cp.controlPlane.services.db
    .selectFrom('grouped_alerts')
    .select('due_at')
    .where('message_id', 'is', null)
    .execute();
  assert.ok((waiting?.due_at ?? 0) > clock.now());
  await wait(cp, clock, 5 * minute);
  await until(() => mail.received.length === 2);
  const [alert, recovery] = mail.received.map(({ headers }) => headers);
  assert.match(alert?.get('subject') ?? '', /^\[FAILING\] shop 0: the connection was refused/);
  assert.equal(recovery?.get('subject'), '[RECOVERED] shop 0: it lasted 1 min');
  assert.equal(alert?.get('references'), recovery?.get('references'));
});

test('channels that do not group get each alert at once, beside those that do', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const plain = await makeChannel(cp);
  const grouped = await makeChannel(cp, { grouping });
  const checks = await makeChecks(cp, [plain, grouped], 3);
  await report(
    cp,
    checks.map((id) => verdict(cp, id, clock.now(), true)),
  );
  const { db } = cp.controlPlane.services;
  const sent = await db.selectFrom('outbox').select('alert_channel_id as id').execute();
  assert.deepEqual(sent, [{ id: plain }, { id: plain }, { id: plain }]);
  const { body } = await cp.api('PUT', `/v1/alert-channels/${grouped}`, { grouping: null });
  assert.equal(body.grouping, null);
  await wait(cp, clock, minute);
  const waiting = await db
    .selectFrom('grouped_alerts')
    .select('id')
    .where('message_id', 'is', null)
    .execute();
  assert.deepEqual(waiting, []);
});

test('grouped alerts are deleted with their records, groups of deleted channels with their channel', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const channel = await makeChannel(cp, { grouping });
  const checks = await makeChecks(cp, [channel], 2);
  await report(
    cp,
    checks.map((id) => verdict(cp, id, clock.now(), true)),
  );
  await wait(cp, clock, minute);
  const left = async () => [
    (await services.db.selectFrom('grouped_alerts').select('id').execute()).length,
    (await services.db.selectFrom('alert_groups').select('id').execute()).length,
  ];
  assert.deepEqual(await left(), [2, 1]);
  clock.setWall(now + 31 * 24 * hour);
  await pruneAlerts(services, 30 * 24 * hour);
  assert.deepEqual(await left(), [0, 0]);
  await report(
    cp,
    checks.map((id) => verdict(cp, id, clock.now(), false)),
  );
  await wait(cp, clock, 10 * minute);
  assert.deepEqual(await left(), [2, 1]);
  assert.equal((await cp.api('DELETE', `/v1/alert-channels/${channel}`)).status, 204);
  assert.deepEqual(await left(), [0, 0]);
});

test('killed at any statement, every failure is decided once and is in one notification', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(now);
  await using hook = await httpReceiver();
  await using cp = await startTestControlPlane({ clock, settings: reachesTestServers });
  const { services } = cp.controlPlane;
  const { db } = services;
  const fields = { type: 'WEBHOOK', config: { name: 'hook', url: hook.url }, grouping };
  const channels = [await makeChannel(cp, fields), await makeChannel(cp, fields)];
  const checks = await makeChecks(cp, channels, 12);
  let kills = 0;
  for (const hasFailures of [true, false]) {
    for (const half of [checks.slice(0, 6), checks.slice(6)]) {
      const verdicts = half.map((id) => verdict(cp, id, clock.now(), hasFailures));
      kills += await despiteKills(db, (mortal) =>
        mortal.transaction().execute((unit) => alertOn(services, unit, { verdicts, endings: [] })),
      );
      clock.setWall(clock.now() + 6 * minute);
      kills += await despiteKills(db, (mortal) => sendAlertGroups({ ...services, db: mortal }));
    }
  }
  assert.ok(kills > 100, `${kills} kills`);
  const decisions = await db
    .selectFrom('alert_decisions')
    .select(['check_id', 'outcome'])
    .execute();
  assert.deepEqual(
    decisions.map(({ outcome }) => outcome),
    Array(24).fill('SENT'),
  );
  const records = await recordsOf(cp);
  assert.equal(records.length, 48);
  const grouped = await db.selectFrom('grouped_alerts').selectAll().execute();
  assert.deepEqual(grouped.map(({ id }) => id).sort(), records.map(({ id }) => id).sort());
  const messages = new Set(grouped.map(({ message_id: id }) => id));
  services.outbox.wake();
  await until(() => hook.received.length >= messages.size);
  const named = hook.received.flatMap(({ body }) => {
    const { data } = JSON.parse(body) as { data: { CHECK_NAME: string } };
    return data.CHECK_NAME.split(', ');
  });
  const names = checks.flatMap((_, index) => Array<string>(4).fill(`shop ${index}`));
  assert.deepEqual(named.sort(), names.sort());
});

test('a group of a check that was degraded before lasts since it fails', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  // Notifications stay in the outbox.
  services.outbox.onWake(() => {});
  const [one = '', other = ''] = await makeChecks(cp, [await makeChannel(cp, { grouping })], 2);
  const failing = (id: string) => verdict(cp, id, clock.now(), true);
  await report(cp, [{ ...verdict(cp, one, clock.now(), false), isDegraded: true }]);
  await wait(cp, clock, minute);
  await wait(cp, clock, hour);
  const failedAt = clock.now();
  await report(cp, [failing(one), failing(other)]);
  await wait(cp, clock, 6 * minute);
  await report(
    cp,
    [one, other].map((id) => verdict(cp, id, clock.now(), false)),
  );
  await wait(cp, clock, 6 * minute);
  const rows = await services.db
    .selectFrom('outbox')
    .select('content_json')
    .orderBy('seq')
    .execute();
  const groups = rows
    .map((row) => JSON.parse(row.content_json) as { kind: string; since: number; open: number })
    .filter(({ kind }) => kind === 'group');
  assert.deepEqual(
    groups.map(({ since, open }) => [since - failedAt, open]),
    [
      [0, 2],
      [0, 0],
    ],
  );
});
