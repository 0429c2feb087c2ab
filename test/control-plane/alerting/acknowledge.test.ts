/** Alerts are acknowledged and snoozed through the API and by links in mails. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { alertOn } from '../../../control-plane/alerting/alert-on.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { sendAlertGroups } from '../../../control-plane/alerting/send-alert-groups.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { runEscalations } from '../../../control-plane/alerting/run-escalations.ts';
import { mailServer, type MailServer } from '../../support/mail-server.ts';
import { insertMember } from '../../support/people.ts';
import { minute, now } from '../../support/results.ts';
import { makeChannel, makeCheck } from '../../support/sent-notifications.ts';
import { eventually } from '../../support/system.ts';
import { verdictOf } from '../../support/run-verdict.ts';
import { TestClock } from '../../support/test-clock.ts';

const day = 86_400_000;
const reminding = {
  useGlobalAlertSettings: false,
  alertSettings: { reminders: { amount: 5, interval: 10 } },
};

interface Bench extends AsyncDisposable {
  cp: TestControlPlane;
  clock: TestClock;
  mail: MailServer;
  report(checks: readonly string[], hasFailures: boolean, isDegraded?: boolean): Promise<void>;
  wait(ms: number): Promise<void>;
  mails(count: number): Promise<string[]>;
}

async function bench(): Promise<Bench> {
  const clock = new TestClock(now);
  const mail = await mailServer();
  const cp = await startTestControlPlane({
    clock,
    settings: { MAIL_FROM: 'alerts@shop.example', SMTP_URL: mail.url },
  });
  const { services } = cp.controlPlane;
  return {
    ...{ cp, clock, mail },
    async report(checks, hasFailures, isDegraded = false) {
      const verdicts = checks.map((checkId) =>
        verdictOf(cp, checkId, clock.now(), {
          hasFailures,
          isDegraded,
          error: hasFailures ? 'broken' : null,
          stoppedAt: clock.now(),
        }),
      );
      await services.db
        .transaction()
        .execute((db) => alertOn(services, db, { verdicts, endings: [] }));
      services.outbox.wake();
    },
    async wait(ms) {
      clock.setWall(clock.now() + ms);
      await evaluateDueAlerts(services);
      await sendAlertGroups(services);
      await runEscalations(services);
    },
    async mails(count) {
      await eventually(
        () => mail.received.length >= count,
        () => `${mail.received.length} mails`,
      );
      return mail.received.map(({ headers }) => headers.get('subject') ?? '');
    },
    async [Symbol.asyncDispose]() {
      await cp[Symbol.asyncDispose]();
      await mail[Symbol.asyncDispose]();
    },
  };
}

function linkIn(mail: MailServer, text: string): string {
  const match = new RegExp(`${text}: (\\S+)`).exec(mail.received.at(-1)?.text ?? '');
  assert.ok(match?.[1] !== undefined, `no link "${text}"`);
  return match[1];
}

test('an acknowledged alert sends no reminder; the recovery says how long it lasted and who it was', async () => {
  await using it = await bench();
  const check = await makeCheck(it.cp, [await makeChannel(it.cp)], reminding);
  await it.report([check], true);
  await it.wait(10 * minute);
  await it.mails(2);
  const { body: alerts } = await it.cp.api('GET', '/v1/check-alerts');
  const path = `/v1/check-alerts/${alerts[0].id}/acknowledge`;
  const { status, body } = await it.cp.api('POST', path, {});
  assert.deepEqual([status, body.kind, body.until, body.alerts], [200, 'ACKNOWLEDGED', null, 1]);
  await it.wait(30 * minute);
  await it.wait(30 * minute);
  await it.report([check], false);
  const subjects = await it.mails(3);
  assert.deepEqual(
    subjects.map((subject) => subject.split(']')[0]),
    ['[FAILING', '[STILL FAILING', '[RECOVERED'],
  );
  const recovery = it.mail.received[2]?.text ?? '';
  assert.match(recovery, /Lasted: +1 h 10 min/);
  assert.ok(recovery.includes(`by ${body.by}, `), recovery);
  assert.equal((await it.cp.api('POST', path, {})).status, 409);
});

test('the end of a snooze is a reminder, also without reminders', async () => {
  await using it = await bench();
  const check = await makeCheck(it.cp, [await makeChannel(it.cp)], {
    ...reminding,
    alertSettings: { reminders: { amount: 0 } },
  });
  await it.report([check], true);
  await it.mails(1);
  const { body: alerts } = await it.cp.api('GET', '/v1/check-alerts');
  const { body } = await it.cp.api('POST', `/v1/check-alerts/${alerts[0].id}/acknowledge`, {
    snoozeMinutes: 45,
  });
  assert.equal(Date.parse(body.until), now + 45 * minute);
  await it.wait(44 * minute);
  await it.wait(minute);
  await it.wait(300 * minute);
  assert.deepEqual(
    (await it.mails(2)).map((subject) => subject.split(']')[0]),
    ['[FAILING', '[STILL FAILING'],
  );
});

test('a link in a mail asks before it acts, once, and only for what it was made for', async () => {
  await using it = await bench();
  const channels = [await makeChannel(it.cp)];
  const check = await makeCheck(it.cp, channels, reminding);
  const other = await makeCheck(it.cp, [], reminding);
  await it.report([check, other], true);
  await it.mails(1);
  const { db } = it.cp.controlPlane.services;
  const taken = async () =>
    db.selectFrom('alert_acknowledgements').select(['check_id', 'kind', 'made_by']).execute();
  const link = linkIn(it.mail, 'Acknowledge');
  for (const method of ['GET', 'HEAD']) {
    const asked = await fetch(link, { method });
    assert.equal(asked.status, 200);
    assert.match(asked.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(asked.headers.get('referrer-policy'), 'no-referrer');
  }
  const page = await (await fetch(link)).text();
  assert.match(page, /<form method="post"><button>Acknowledge/);
  for (const fact of [/<dt>Check<\/dt><dd>[^<]+<\/dd>/, /<dt>Error</, /<dt>Since<\/dt><dd><time/])
    assert.match(page, fact);
  assert.doesNotMatch(page, /<dt>Acknowledged</);
  assert.deepEqual(await taken(), []);

  const { body: alerts } = await it.cp.api('GET', `/v1/check-alerts/${other}`);
  const altered = new URL(link);
  const [, , target = '', id = ''] = altered.pathname.split('/');
  const attacks = [
    link.replace(id, String(alerts[0].id)),
    link.replace(`/${target}/`, '/group/'),
    link.replace('/acknowledge?', '/snooze?'),
    link.replace(/account=[^&]+/, 'account=other'),
    link.replace(/channel=\d+/, 'channel=99'),
    link.replace(/expires=\d/, 'expires=9'),
    link.replace(/signature=(.)/, (_, first) => `signature=${first === '_' ? '-' : '_'}`),
    link.replace(/signature=[^&]+/, ''),
    link.replace('/acknowledge?', '/delete?'),
  ];
  for (const attack of attacks) {
    assert.equal((await fetch(attack, { method: 'POST' })).status, 404, attack);
  }
  assert.deepEqual(await taken(), []);

  for (let replay = 0; replay < 3; replay += 1) {
    assert.equal((await fetch(link, { method: 'POST' })).status, 200);
  }
  assert.deepEqual(await taken(), [
    {
      check_id: check,
      kind: 'ACKNOWLEDGED',
      made_by: `someone from a message to channel ${channels[0]} (EMAIL)`,
    },
  ]);
  const again = await (await fetch(link)).text();
  assert.match(again, /<dt>Acknowledged<\/dt><dd>by someone from a message to channel/);
  const snooze = linkIn(it.mail, 'Snooze for an hour');
  await it.report([check], false);
  assert.match(await (await fetch(snooze, { method: 'POST' })).text(), /Already recovered/);
  it.clock.setWall(now + 7 * day);
  assert.equal((await fetch(link)).status, 404);
  assert.match(await (await fetch(link, { method: 'POST' })).text(), /has expired/);
});

test('a link that was used acts again once the alert was sent again', async () => {
  await using it = await bench();
  const check = await makeCheck(it.cp, [await makeChannel(it.cp, { sendDegraded: true })]);
  await it.report([check], false, true);
  await it.mails(1);
  const link = linkIn(it.mail, 'Acknowledge');
  const taken = async () => {
    const { body: alerts } = await it.cp.api('GET', `/v1/check-alerts/${check}?open=true`);
    return alerts[0].acknowledgement !== null;
  };
  await fetch(link, { method: 'POST' });
  assert.equal(await taken(), true);
  await it.wait(minute);
  await it.report([check], true);
  assert.equal(await taken(), false, 'it fails by now');
  for (let replay = 0; replay < 2; replay += 1) {
    assert.match(await (await fetch(link, { method: 'POST' })).text(), /Acknowledged/);
    assert.equal(await taken(), true);
  }
  const { db } = it.cp.controlPlane.services;
  const rows = await db.selectFrom('alert_acknowledgements').select('id').execute();
  assert.equal(rows.length, 2);
});

test('checks without an open alert, however many, hide no open one', async () => {
  await using it = await bench();
  const [one, two] = [await makeCheck(it.cp, []), await makeCheck(it.cp, [])];
  const { db } = it.cp.controlPlane.services;
  const check = await db
    .selectFrom('checks')
    .selectAll()
    .where('id', '=', one)
    .executeTakeFirstOrThrow();
  const ids = Array.from(
    { length: 1_000 },
    (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  );
  await db
    .insertInto('checks')
    .values(ids.map((id) => ({ ...check, id })))
    .execute();
  await db
    .insertInto('alert_states')
    .values(
      ids.map((id) => ({
        ...{ check_id: id, account_id: it.cp.accountId, state_json: '{"alert":null}' },
        ...{ wake_at: null, updated_at: now, failing_since: now + minute },
      })),
    )
    .execute();
  await it.report([one, two], true);
  const { body } = await it.cp.api('GET', '/v1/check-alerts?open=true');
  assert.deepEqual(
    body.map(({ checkId }: { checkId: string }) => checkId).sort(),
    [one, two].sort(),
  );
});

test('the open alerts are listed at any age, with who took them on, until they recover', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp, {
    grouping: { windowSeconds: 30, updateMinutes: 1, maxPerHour: 20 },
  });
  const [one, two] = [
    await makeCheck(it.cp, [channel], reminding),
    await makeCheck(it.cp, [channel], reminding),
  ];
  await it.report([one, two], true);
  await it.wait(minute);
  await it.wait(day);
  const open = async (path = '') =>
    (await it.cp.api('GET', `/v1/check-alerts${path}?open=true`)).body as {
      id: string;
      checkId: string;
      alertType: string;
      acknowledgement: { by: string; kind: string } | null;
    }[];
  assert.deepEqual((await it.cp.api('GET', '/v1/check-alerts')).body.length, 2, 'the reminders');
  const listed = await open();
  assert.deepEqual(listed.map(({ checkId }) => checkId).sort(), [one, two].sort());
  assert.deepEqual(new Set(listed.map(({ alertType }) => alertType)).size, 1);
  const [alert] = await open(`/${one}`);
  await it.cp.api('POST', `/v1/check-alerts/${alert?.id}/acknowledge`, { snoozeMinutes: 5 });
  assert.equal((await open(`/${one}`))[0]?.acknowledgement?.kind, 'SNOOZED');
  assert.equal((await open(`/${two}`))[0]?.acknowledgement, null);
  const { body: groups } = await it.cp.api('GET', '/v1/alert-groups');
  const { body: members } = await it.cp.api(
    'GET',
    `/v1/check-alerts?alertGroupId=${groups.at(-1).id}`,
  );
  assert.ok(members.length >= 2 && members.every((each: { open: boolean }) => each.open));
  await it.report([one], false);
  assert.deepEqual(await open(`/${one}`), []);
  assert.equal((await open()).length, 1);
});

test('a link mutes the check of an open alert, names itself in the audit log, and is not in messages of groups', async () => {
  await using it = await bench();
  const grouping = { windowSeconds: 30, updateMinutes: 1, maxPerHour: 20 };
  const check = await makeCheck(it.cp, [await makeChannel(it.cp)], reminding);
  await it.report([check], true);
  await it.mails(1);
  const link = linkIn(it.mail, 'Mute the check');
  const isMuted = async () => (await it.cp.api('GET', `/v1/checks/${check}`)).body.muted as boolean;
  assert.match(await (await fetch(link)).text(), /<form method="post"><button>Mute/);
  assert.equal((await fetch(link.replace('/alert/', '/group/'), { method: 'POST' })).status, 404);
  assert.equal(await isMuted(), false);
  for (const answer of [/<h1>Muted</, /<h1>Already muted with this link</]) {
    assert.match(await (await fetch(link, { method: 'POST' })).text(), answer);
    assert.equal(await isMuted(), true);
  }
  const { body: log } = await it.cp.api('GET', `/v1/audit-log?resourceId=${check}`);
  const [entry, ...before] = log.entries;
  assert.match(entry.actor.name, /^someone from a message to channel \d+ \(EMAIL\)$/);
  assert.deepEqual(
    [entry.operation, entry.after, before.map((each: { operation: string }) => each.operation)],
    ['updateCheck', { muted: true }, ['createURLMonitor']],
  );
  await it.cp.api('PUT', `/v1/checks/${check}`, { muted: false });
  assert.match(await (await fetch(link, { method: 'POST' })).text(), /mute it in the console/);
  assert.equal(await isMuted(), false, 'a link mutes once');
  const open = (await it.cp.api('GET', `/v1/check-alerts/${check}?open=true`)).body;
  assert.equal(open[0].acknowledgement, null, 'muting acknowledges nothing');
  await it.report([check], false);
  assert.match(await (await fetch(link, { method: 'POST' })).text(), /Already recovered/);
  assert.equal(await isMuted(), false);
  await it.wait(minute);
  await it.report([check], true);
  await it.mails(3);
  await fetch(linkIn(it.mail, 'Mute the check'), { method: 'POST' });
  assert.equal(await isMuted(), true, 'the link of another outage is another one');

  const grouped = await makeChannel(it.cp, { grouping });
  await it.report([await makeCheck(it.cp, [grouped]), await makeCheck(it.cp, [grouped])], true);
  await it.wait(minute);
  const subjects = await it.mails(4);
  assert.match(subjects.at(-1) ?? '', /2 checks/);
  assert.doesNotMatch(it.mail.received.at(-1)?.text ?? '', /Mute the check/);
});

test('links of a deleted channel do nothing', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  await it.report([await makeCheck(it.cp, [channel], reminding)], true);
  await it.mails(1);
  const link = linkIn(it.mail, 'Acknowledge');
  assert.equal((await fetch(link)).status, 200);
  assert.equal((await it.cp.api('DELETE', `/v1/alert-channels/${channel}`)).status, 204);
  for (const method of ['GET', 'POST']) assert.equal((await fetch(link, { method })).status, 404);
  const { db } = it.cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('alert_acknowledgements').select('id').execute(), []);
});

test('a person whom a policy asks takes the alert on by a link of the mail, until they leave the account', async () => {
  await using it = await bench();
  const { accountId } = it.cp;
  const { services } = it.cp.controlPlane;
  const ann = await insertMember(services, { accountId, name: 'Ann', role: 'READ_ONLY' });
  const bob = await insertMember(services, { accountId, name: 'Bob', role: 'READ_ONLY' });
  const { body: policy } = await it.cp.api('POST', '/v1/escalation-policies', {
    name: 'Night',
    steps: [{ people: [ann.email] }, { delayMinutes: 5, people: [bob.email] }],
  });
  const check = await makeCheck(it.cp, [], {
    useGlobalAlertSettings: false,
    alertSettings: { escalationPolicyId: policy.id },
  });
  await it.report([check], true);
  await it.wait(0);
  await it.mails(1);
  const link = linkIn(it.mail, 'Acknowledge');
  assert.match(await (await fetch(link)).text(), /<form method="post"><button>Acknowledge/);
  const attacks = [
    link.replace(ann.id, bob.id),
    link.replace(/person=[^&]+/, 'channel=1'),
    link.replace('person=', 'channel=1&person='),
    link.replace(/account=[^&]+/, 'account=other'),
  ];
  const statuses = [];
  for (const attack of attacks) statuses.push((await fetch(attack, { method: 'POST' })).status);
  // A person goes before a channel: the third is the link itself with more text.
  assert.deepEqual(statuses, [404, 404, 200, 404]);
  const taken = async () => {
    const { body: alerts } = await it.cp.api('GET', `/v1/check-alerts/${check}?open=true`);
    return (alerts[0].acknowledgement as { by: string } | null)?.by;
  };
  assert.equal(await taken(), 'Ann from a mail');
  await it.wait(60 * minute);
  await it.report([check], false);
  const subjects = await it.mails(2);
  assert.match(subjects[1] ?? '', /acknowledged by Ann from a mail/);
  assert.deepEqual(
    it.mail.received.map(({ to }) => to),
    [[ann.email], [ann.email]],
    'the second step does not run',
  );
  await services.db.deleteFrom('memberships').where('person_id', '=', ann.id).execute();
  const left = await fetch(link, { method: 'POST' });
  assert.deepEqual([left.status, /has left the account/.test(await left.text())], [404, true]);
});

test('messages name what else failed, the runbooks, and the time of the zone of their channel', async () => {
  await using it = await bench();
  const plain = await makeChannel(it.cp, { timezone: 'Europe/Berlin' });
  const grouping = { windowSeconds: 30, updateMinutes: 1, maxPerHour: 20 };
  const grouped = await makeChannel(it.cp, { grouping, sendRecovery: false });
  const checks: string[] = [];
  for (let index = 0; index < 8; index += 1) {
    const fields = { ...reminding, name: `shop ${index}`, description: `runbook ${index % 2}` };
    checks.push(await makeCheck(it.cp, index === 7 ? [plain] : [grouped], fields));
  }
  for (const check of checks.slice(0, 7)) await it.report([check], true);
  await it.report(checks.slice(7), true);
  await it.mails(1);
  const text = it.mail.received[0]?.text ?? '';
  assert.match(text, /What else failed: +shop 0, shop 1, .* and 2 more, within 5 minutes/);
  assert.match(text, / UTC \(\d\d:\d\d:\d\d Europe\/Berlin\)/);
  await it.wait(minute);
  await it.mails(2);
  assert.match(
    it.mail.received[1]?.text ?? '',
    /What else failed: +shop 7, within 5 minutes/,
    'not those of the group',
  );
  assert.match(
    it.mail.received[1]?.text ?? '',
    /About: +shop 0, shop 2, shop 4, shop 6: runbook 0; shop 1, shop 3, shop 5: runbook 1/,
  );
  // No recovery is sent to this channel; what is over is not counted as open all the same.
  await it.report(checks.slice(0, 6), false);
  await it.wait(10 * minute);
  await it.wait(minute);
  await it.mails(4);
  const update = it.mail.received.map(({ headers }) => headers.get('subject') ?? '');
  assert.ok(
    update.some((subject) => subject.includes('1 of 7 checks not recovered')),
    update.join(),
  );
});

test('a group is acknowledged as a whole, by its link and through the API', async () => {
  await using it = await bench();
  const grouping = { windowSeconds: 30, updateMinutes: 1, maxPerHour: 20 };
  const channel = await makeChannel(it.cp, { grouping });
  const checks: string[] = [];
  for (let index = 0; index < 3; index += 1)
    checks.push(await makeCheck(it.cp, [channel], reminding));
  await it.report(checks, true);
  await it.wait(minute);
  await it.mails(1);
  const link = linkIn(it.mail, 'Acknowledge');
  const alone = await makeCheck(it.cp, [await makeChannel(it.cp)]);
  await it.report([alone], true);
  const overview = async () => {
    const { body } = await it.cp.api('GET', '/v1/alert-overview');
    type Cause = {
      id: string;
      state: string;
      maintenance: unknown;
      outages: { checkId: string }[];
    };
    return (body as Cause[]).toSorted((a, b) => b.outages.length - a.outages.length);
  };
  const states = async () => (await overview()).map(({ state }) => state);
  const [group, single] = await overview();
  assert.deepEqual(
    [group, single].map((entry) => entry?.outages.map(({ checkId }) => checkId).sort()),
    [checks.toSorted(), [alone]],
  );
  assert.deepEqual(await states(), ['OPEN', 'OPEN']);
  assert.equal((await fetch(link, { method: 'POST' })).status, 200);
  const { db } = it.cp.controlPlane.services;
  const count = async () =>
    (await db.selectFrom('alert_acknowledgements').select('id').execute()).length;
  assert.equal(await count(), 3);
  const { body: groups } = await it.cp.api('GET', '/v1/alert-groups');
  assert.equal(groups[0].id, group?.id);
  await it.cp.api('PUT', `/v1/checks/${alone}`, { muted: true });
  assert.deepEqual(await states(), ['ACKNOWLEDGED', 'MUTED']);
  await it.cp.api('PUT', `/v1/checks/${alone}`, { muted: false, tags: ['planned'] });
  const at = it.cp.controlPlane.services.clock.now();
  const { body: window } = await it.cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'New disks', tags: ['planned'], repeatUnit: null },
    ...{ startsAt: new Date(at - minute), endsAt: new Date(at + minute) },
  });
  const planned = { name: 'New disks', endsAt: new Date(at + minute).toISOString() };
  const maintenance = async () => (await overview()).map((cause) => cause.maintenance);
  assert.deepEqual(
    [await states(), await maintenance()],
    [
      ['ACKNOWLEDGED', 'MUTED'],
      [null, planned],
    ],
  );
  await it.cp.api('DELETE', `/v1/maintenance-windows/${window.id}`);
  assert.deepEqual(
    [await states(), await maintenance()],
    [
      ['ACKNOWLEDGED', 'OPEN'],
      [null, null],
    ],
  );
  await it.cp.api('POST', `/v1/check-alerts/${single?.id}/acknowledge`, {});
  assert.deepEqual(await states(), ['ACKNOWLEDGED', 'ACKNOWLEDGED']);
  const { body } = await it.cp.api('POST', `/v1/alert-groups/${groups[0].id}/acknowledge`, {
    snoozeMinutes: 10,
  });
  assert.deepEqual([body.kind, body.alerts, await count()], ['SNOOZED', 3, 7]);
  assert.deepEqual(await states(), ['SNOOZED', 'ACKNOWLEDGED']);
  const order = async () => {
    const { body } = await it.cp.api('GET', '/v1/alert-overview');
    return body.map(({ id }: { id: string }) => id);
  };
  assert.deepEqual(await order(), [single?.id, group?.id], 'the newest first');
  await it.wait(minute);
  await it.report([alone], false);
  assert.deepEqual(await order(), [group?.id, single?.id], 'what lasts before what is over');
  await it.report(checks, false);
  assert.deepEqual(await states(), ['OVER', 'OVER']);
  const { body: seen } = await it.cp.api('GET', `/v1/alert-overview/${group?.id}`);
  const events = seen.timeline.map(
    ({ kind, checks: [first], more }: { kind: string; checks: unknown[]; more: number }) =>
      `${kind} ${first === undefined} ${more}`,
  );
  const steps = ['ALERT', 'NOTIFICATION', 'ACKNOWLEDGEMENT', 'ACKNOWLEDGEMENT', 'ALERT'];
  assert.deepEqual(
    events.slice(0, 5),
    steps.map((kind) => `${kind} false 0`),
  );
  assert.equal((await it.cp.api('GET', `/v1/alert-overview/${alone}`)).status, 404);
});

test('a list of alerts says why a check is degraded', async () => {
  await using it = await bench();
  const [check, other] = [await makeCheck(it.cp, []), await makeCheck(it.cp, [])];
  const errors = async () => {
    const { body } = await it.cp.api('GET', '/v1/alert-overview');
    return body.flatMap(({ outages }: { outages: { error: string }[] }) =>
      outages.map(({ error }) => error),
    );
  };
  await it.report([check], false, true);
  const slow = await errors();
  assert.match(slow[0] ?? '', /^\d+ ms are above its degraded limit$/);
  await it.report([check], false);
  assert.deepEqual(await errors(), slow, 'also when it is over');
  await it.report([other], true);
  assert.deepEqual((await errors()).toSorted(), [...slow, 'broken'].toSorted());
});
