/** Alerts escalate by the steps of a policy until somebody takes them on. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Kysely } from 'kysely';
import { alertOn } from '../../../control-plane/alerting/alert-on.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { pruneAlerts } from '../../../control-plane/alerting/prune-alerts.ts';
import { runEscalations } from '../../../control-plane/alerting/run-escalations.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { despiteKills, untilEndedOrWaiting } from '../../support/interleaving.ts';
import { insertMember } from '../../support/people.ts';
import { hour, iso, minute, now } from '../../support/results.ts';
import { makeChannel, makeCheck } from '../../support/sent-notifications.ts';
import { verdictOf } from '../../support/run-verdict.ts';
import { TestClock } from '../../support/test-clock.ts';

interface Bench extends AsyncDisposable {
  cp: TestControlPlane;
  clock: TestClock;
  report(checks: readonly string[], hasFailures: boolean): Promise<void>;
  wait(ms: number): Promise<void>;
  /** Who was sent something since the last call: ids of channels, addresses of people. */
  sent(): Promise<(string | number)[]>;
  why(check: string): Promise<string[]>;
}

async function bench(): Promise<Bench> {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  // Notifications stay in the outbox.
  services.outbox.onWake(() => {});
  let seen = 0;
  return {
    ...{ cp, clock },
    async report(checks, hasFailures) {
      const verdicts = checks.map((checkId) =>
        verdictOf(cp, checkId, clock.now(), {
          hasFailures,
          error: 'broken',
          stoppedAt: clock.now(),
        }),
      );
      await services.db
        .transaction()
        .execute((db) => alertOn(services, db, { verdicts, endings: [] }));
    },
    async wait(ms) {
      clock.setWall(clock.now() + ms);
      await evaluateDueAlerts(services);
      while (await runEscalations(services));
    },
    async sent() {
      const rows = await services.db
        .selectFrom('outbox')
        .select(['seq', 'alert_channel_id', 'content_json'])
        .where('seq', '>', seen)
        .orderBy('seq')
        .execute();
      seen = rows.at(-1)?.seq ?? seen;
      return rows.map(
        ({ alert_channel_id: id, content_json: content }) =>
          id ?? (JSON.parse(content) as { to: string }).to,
      );
    },
    async why(check) {
      const { body } = await cp.api('GET', `/v1/check-alerts/${check}/decisions?limit=100`);
      return (body as { cause: string; explanation: string }[])
        .filter(({ cause }) => cause === 'POLICY')
        .map(({ explanation }) => explanation)
        .reverse();
    },
    [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose](),
  };
}

const rotation = {
  timezone: 'Europe/Berlin',
  handoverDay: 'MONDAY',
  handoverTime: '09:00',
  startDate: '2026-11-02',
};

async function makePolicy(it: Bench, fields: Record<string, unknown>): Promise<string> {
  const { status, body } = await it.cp.api('POST', '/v1/escalation-policies', {
    name: 'Night',
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

const by = (escalationPolicyId: string) => ({
  useGlobalAlertSettings: false,
  alertSettings: { escalationPolicyId },
});

async function leave(it: Bench, email: string): Promise<void> {
  const { db } = it.cp.controlPlane.services;
  const person = await db.selectFrom('people').select('id').where('email', '=', email).execute();
  await db
    .deleteFrom('memberships')
    .where('person_id', '=', person[0]?.id ?? '')
    .execute();
}

async function member(it: Bench, name: string): Promise<string> {
  const of = { accountId: it.cp.accountId, name, role: 'READ_WRITE' as const };
  const email = `${name}@a.example`;
  return (await insertMember(it.cp.controlPlane.services, { ...of, email })).email;
}

test('the steps notify channels, people and who is on call, until somebody acknowledges', async () => {
  await using it = await bench();
  const [first, second] = [await makeChannel(it.cp), await makeChannel(it.cp)];
  const [ann, bob] = [await member(it, 'ann'), await member(it, 'bob')];
  const policy = await makePolicy(it, {
    steps: [
      { alertChannelIds: [first] },
      { delayMinutes: 5, people: [ann], onCall: true },
      { delayMinutes: 10, alertChannelIds: [second] },
    ],
    rotation: { ...rotation, people: [ann, bob] },
  });
  const subscribed = await makeChannel(it.cp);
  const check = await makeCheck(it.cp, [subscribed], by(policy));
  const plain = await makeCheck(it.cp, [subscribed]);
  await it.report([check, plain], true);
  assert.deepEqual(await it.sent(), [subscribed, subscribed]);
  await it.wait(0);
  assert.deepEqual(await it.sent(), [first]);
  await it.wait(4 * minute);
  assert.deepEqual(await it.sent(), []);
  await it.wait(minute);
  // On Saturday 21 November the third week belongs to ann again.
  assert.deepEqual(await it.sent(), [ann]);
  const { body: alerts } = await it.cp.api('GET', `/v1/check-alerts/${check}?open=true`);
  const { body } = await it.cp.api('POST', `/v1/check-alerts/${alerts[0].id}/acknowledge`, {});
  await it.wait(60 * minute);
  assert.deepEqual(await it.sent(), []);
  await it.report([check], false);
  assert.deepEqual(await it.sent(), [subscribed, first, ann], 'the recovery');
  assert.deepEqual(await it.why(check), [
    `Step 1 of the escalation policy "Night" notified channel ${first} (EMAIL).`,
    `Step 2 of the escalation policy "Night" notified ${ann}.`,
    `The escalation policy "Night" stopped: acknowledged by ${body.by}.`,
  ]);
  const { db } = it.cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('escalations').selectAll().execute(), []);
});

test('deleted channels, people who left and an empty rotation are left out, and it is said', async () => {
  await using it = await bench();
  const [gone, left] = [await makeChannel(it.cp), await makeChannel(it.cp)];
  const [ann, bob] = [await member(it, 'ann'), await member(it, 'bob')];
  const policy = await makePolicy(it, {
    steps: [{ alertChannelIds: [gone, left], people: [ann, bob], onCall: true }],
    repeats: 1,
    rotation: { ...rotation, startDate: '2099-01-01', people: [bob] },
  });
  const check = await makeCheck(it.cp, [], by(policy));
  // Older builds left its id in the policy.
  const { db } = it.cp.controlPlane.services;
  await db.deleteFrom('alert_channels').where('id', '=', gone).execute();
  await leave(it, ann);
  await it.report([check], true);
  await it.wait(0);
  assert.deepEqual(await it.sent(), [left, bob]);
  assert.deepEqual(await it.why(check), [
    `Step 1 of the escalation policy "Night" notified channel ${left} (EMAIL), ${bob}; left out: channel ${gone}, which was deleted, the rotation, which has nobody on call, ${ann}, who is not of this account any more.`,
  ]);
  await it.cp.api('PUT', `/v1/checks/${check}`, { muted: true });
  await it.wait(minute);
  assert.deepEqual(await it.sent(), []);
  assert.equal(
    (await it.why(check)).at(-1),
    'The escalation policy "Night" stopped: the check is muted.',
  );
});

test('it stops with the recovery and with its policy; a changed one goes on with what is left', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const steps = [{ alertChannelIds: [channel] }, { delayMinutes: 5, alertChannelIds: [channel] }];
  const policy = await makePolicy(it, { steps });
  const other = await makePolicy(it, { name: 'Day', steps });
  const [one, two] = [
    await makeCheck(it.cp, [], by(policy)),
    await makeCheck(it.cp, [], by(other)),
  ];
  await it.report([one, two], true);
  await it.wait(0);
  assert.deepEqual(await it.sent(), [channel, channel]);
  await it.report([one], false);
  assert.deepEqual(await it.sent(), [channel], 'the recovery');
  // Older builds deleted policies in use.
  const { db } = it.cp.controlPlane.services;
  await db.deleteFrom('escalation_policies').where('id', '=', other).execute();
  await it.wait(10 * minute);
  assert.deepEqual(await it.sent(), []);
  assert.equal((await it.why(one)).at(-1), 'The escalation policy "Night" stopped: recovered.');
  assert.match((await it.why(two)).at(-1) ?? '', /stopped: the policy was deleted\.$/);
  const { status, body } = await it.cp.api('PUT', `/v1/checks/${one}`, by(other));
  assert.deepEqual(
    [status, body.attributes.issues[0].path],
    [400, 'alertSettings.escalationPolicyId'],
  );
  await it.cp.api('PUT', `/v1/escalation-policies/${policy}`, { steps: steps.slice(0, 1) });
  await it.report([one], true);
  await it.wait(0);
  await it.wait(60 * minute);
  assert.deepEqual(await it.sent(), [channel]);
});

test('a policy in use is not deleted, and it is said by whom; without users it is', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const policy = await makePolicy(it, { steps: [{ alertChannelIds: [channel] }] });
  const { db } = it.cp.controlPlane.services;
  const ofAccount = (settings: unknown) =>
    db
      .updateTable('accounts')
      .set({ alert_settings_json: JSON.stringify(settings) })
      .execute();
  const { alertSettings } = by(policy);
  const check = await makeCheck(it.cp, [], { ...by(policy), name: 'shop' });
  const { body: group } = await it.cp.api('POST', '/v1/check-groups', {
    name: 'all',
    alertSettings,
  });
  const path = `/v1/escalation-policies/${policy}`;
  const shop = { id: check, name: 'shop' };
  const all = { id: group.id, name: 'all' };
  const used = { account: false, groups: [all], checks: [shop], moreChecks: 0 };
  assert.deepEqual((await it.cp.api('GET', path)).body.usedBy, used);
  const own = { useGlobalAlertSettings: false, alertSettings: { reminders: { amount: 3 } } };
  const other = await makeCheck(it.cp, [], { ...own, name: 'till' });
  const { body: given } = await it.cp.api('POST', `${path}/use-for-all`);
  const till = { id: other, name: 'till' };
  assert.deepEqual(given.usedBy, { ...used, account: true, checks: [shop, till] });
  const { body: kept } = await it.cp.api('GET', `/v1/checks/${other}`);
  assert.equal(kept.alertSettings.reminders.amount, 3);
  const withoutPolicy = { ...own.alertSettings, escalationPolicyId: null };
  await it.cp.api('PUT', `/v1/checks/${other}`, { ...own, alertSettings: withoutPolicy });
  const remove = () => it.cp.api('DELETE', path);
  const { status, body } = await remove();
  assert.equal(status, 409);
  assert.match(
    body.message,
    /^"Night" is used by the alert settings of the account, group "all", check "shop"; give/,
  );
  assert.deepEqual([body.attributes.groupIds, body.attributes.checkIds], [[group.id], [check]]);
  const rest = async () => ((await remove()).body as { message: string }).message;
  await it.cp.api('PUT', `/v1/checks/${check}`, { alertSettings: { escalationPolicyId: null } });
  assert.match(await rest(), /used by the alert settings of the account, group "all"; give/);
  const none = { name: 'all', alertSettings: null };
  await it.cp.api('PUT', `/v1/check-groups/${group.id}`, none);
  assert.match(await rest(), /used by the alert settings of the account; give/);
  await ofAccount({});
  assert.equal((await remove()).status, 204);
  assert.equal((await remove()).status, 404);
});

test('a change beside another one loses nothing, and beside a deletion finds nothing', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const steps = [{ alertChannelIds: [channel] }];
  const policy = await makePolicy(it, { steps });
  const path = `/v1/escalation-policies/${policy}`;
  const { db } = it.cp.controlPlane.services;
  const { body_json: before } = await db
    .selectFrom('escalation_policies')
    .select('body_json')
    .executeTakeFirstOrThrow();
  const beside = async (change: (unit: Kysely<Database>) => Promise<unknown>) => {
    const other = await db.startTransaction().execute();
    await change(other);
    const changing = it.cp.api('PUT', path, { steps: [...steps, ...steps] });
    await untilEndedOrWaiting(db, changing);
    await other.commit().execute();
    return changing;
  };
  const after = JSON.stringify({ ...(JSON.parse(before) as object), repeats: 3 });
  const { body } = await beside((unit) =>
    unit.updateTable('escalation_policies').set({ body_json: after }).execute(),
  );
  assert.deepEqual([body.repeats, body.steps.length], [3, 2]);
  const gone = await beside((unit) => unit.deleteFrom('escalation_policies').execute());
  assert.equal(gone.status, 404);
});

test('people who left the account get no recovery', async () => {
  await using it = await bench();
  const [ann, bob] = [await member(it, 'ann'), await member(it, 'bob')];
  const policy = await makePolicy(it, { steps: [{ people: [ann, bob] }] });
  const check = await makeCheck(it.cp, [], by(policy));
  await it.report([check], true);
  await it.wait(0);
  assert.deepEqual(await it.sent(), [ann, bob]);
  await leave(it, ann);
  await it.report([check], false);
  assert.deepEqual(await it.sent(), [bob]);
});

test('a check whose steps cannot be run is tried again a minute later, and holds up no other', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const policy = await makePolicy(it, { steps: [{ alertChannelIds: [channel] }] });
  const [broken, sound] = [
    await makeCheck(it.cp, [], by(policy)),
    await makeCheck(it.cp, [], by(policy)),
  ];
  await it.report([broken, sound], true);
  const { services } = it.cp.controlPlane;
  const rowOf = () => services.db.updateTable('escalations').where('check_id', '=', broken);
  const { facts_json: facts } = await services.db
    .selectFrom('escalations')
    .select('facts_json')
    .where('check_id', '=', broken)
    .executeTakeFirstOrThrow();
  await rowOf().set({ facts_json: '{' }).execute();
  await assert.rejects(runEscalations(services), SyntaxError);
  assert.deepEqual(await it.sent(), [channel]);
  assert.equal(await runEscalations(services), false);
  await rowOf().set({ facts_json: facts }).execute();
  await it.wait(minute);
  assert.deepEqual(await it.sent(), [channel]);
});

test('a check that gets another policy begins at its first step, one that loses it stops', async () => {
  await using it = await bench();
  const [night, day] = [await makeChannel(it.cp), await makeChannel(it.cp)];
  const stepsOf = (channel: number) => [
    { alertChannelIds: [channel] },
    { delayMinutes: 60, alertChannelIds: [channel] },
  ];
  const policy = await makePolicy(it, { steps: stepsOf(night) });
  const other = await makePolicy(it, { name: 'Day', steps: stepsOf(day) });
  const check = await makeCheck(it.cp, [], by(policy));
  const global = await makeCheck(it.cp, []);
  const ofAccount = async (escalationPolicyId: string | null) =>
    it.cp.controlPlane.services.db
      .updateTable('accounts')
      .set({ alert_settings_json: JSON.stringify({ escalationPolicyId }) })
      .execute();
  await ofAccount(policy);
  await it.report([check, global], true);
  await it.wait(0);
  assert.deepEqual(await it.sent(), [night, night]);
  await it.cp.api('PUT', `/v1/checks/${check}`, by(other));
  await ofAccount(other);
  await it.wait(0);
  assert.deepEqual(await it.sent(), [day], 'at once');
  await it.wait(60 * minute);
  assert.deepEqual(await it.sent(), [day], 'its second step');
  await it.wait(0);
  assert.deepEqual(await it.sent(), [day], 'what the account has is seen when a step is due');
  await it.cp.api('PUT', `/v1/checks/${global}`, { useGlobalAlertSettings: false });
  await it.wait(120 * minute);
  assert.deepEqual(await it.sent(), []);
  assert.deepEqual(
    (await it.why(global)).filter((text) => text.includes('stopped')),
    [
      'The escalation policy "Night" stopped: the check has another policy.',
      'The escalation policy "Day" stopped: the check has no policy any more.',
    ],
  );
  await it.report([check], false);
  assert.deepEqual(await it.sent(), [night, day], 'the recovery');
});

test('a maintenance window holds a step until the next run after it; a shortened one holds it no longer', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const policy = await makePolicy(it, {
    steps: [{ delayMinutes: 5, alertChannelIds: [channel] }],
  });
  const { body: window } = await it.cp.api('POST', '/v1/maintenance-windows', {
    name: 'deploy',
    startsAt: iso(now + 2 * minute),
    endsAt: iso(now + 120 * minute),
    repeatUnit: null,
    tags: ['shop'],
  });
  const check = await makeCheck(it.cp, [], { ...by(policy), tags: ['shop'], frequency: 10 });
  await it.report([check], true);
  for (const each of [5, 5, 5]) await it.wait(each * minute);
  assert.deepEqual(await it.sent(), []);
  const path = `/v1/maintenance-windows/${window.id}`;
  const { status } = await it.cp.api('PUT', path, { endsAt: iso(now + 30 * minute) });
  assert.equal(status, 200);
  for (const each of [5, 5, 5, 5, 3]) await it.wait(each * minute);
  assert.deepEqual(await it.sent(), [], 'no run has come since the end');
  await it.wait(15 * minute);
  assert.deepEqual(await it.sent(), [channel]);
});

test('the end of an alert that an older replica has closed is said to those whom steps notified', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const ann = await member(it, 'ann');
  const policy = await makePolicy(it, {
    steps: [
      { alertChannelIds: [channel], people: [ann] },
      { delayMinutes: 5, people: [ann] },
    ],
  });
  const check = await makeCheck(it.cp, [], by(policy));
  await it.report([check], true);
  await it.wait(0);
  await it.sent();
  const { db } = it.cp.controlPlane.services;
  await db.deleteFrom('alert_states').execute();
  await it.wait(5 * minute);
  assert.deepEqual(await it.sent(), [channel, ann]);
  const [{ content_json: content = '' } = {}] = await db
    .selectFrom('outbox')
    .select('content_json')
    .orderBy('seq', 'desc')
    .limit(1)
    .execute();
  assert.match(content, /\[RECOVERED\]/);
  assert.deepEqual(await db.selectFrom('escalations').selectAll().execute(), []);
  assert.equal((await it.why(check)).at(-1), 'The escalation policy "Night" stopped: recovered.');
});

test('what escalates is kept as long as its outage lasts, and not longer', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const policy = await makePolicy(it, { steps: [{ alertChannelIds: [channel] }] });
  const [lasting, lost] = [
    await makeCheck(it.cp, [], by(policy)),
    await makeCheck(it.cp, [], by(policy)),
  ];
  await it.report([lasting, lost], true);
  await it.wait(0);
  await it.sent();
  const { services } = it.cp.controlPlane;
  await services.db.deleteFrom('alert_states').where('check_id', '=', lost).execute();
  it.clock.setWall(now + 31 * 24 * hour);
  await pruneAlerts(services, 30 * 24 * hour);
  const left = await services.db.selectFrom('escalations').select('check_id').execute();
  assert.deepEqual(left, [{ check_id: lasting }]);
  await it.report([lasting], false);
  assert.deepEqual(await it.sent(), [channel]);
});

test('unknown channels and people, a step for nobody and a missing rotation are refused by field', async () => {
  await using it = await bench();
  const channel = await makeChannel(it.cp);
  const refused = async (fields: Record<string, unknown>) => {
    const { status, body } = await it.cp.api('POST', '/v1/escalation-policies', {
      name: 'x',
      ...fields,
    });
    assert.equal(status, 400, JSON.stringify(body));
    return body.attributes.issues[0].path as string;
  };
  const good = { alertChannelIds: [channel] };
  const people = ['nobody@a.example'];
  assert.match(await refused({ steps: [{}] }), /^steps/);
  assert.match(await refused({ steps: [good, { people }] }), /^steps\[?\.?1\]?\.people/);
  assert.match(await refused({ steps: [{ alertChannelIds: [channel + 1] }] }), /alertChannelIds/);
  assert.match(await refused({ steps: [{ onCall: true }] }), /onCall/);
  assert.match(await refused({ steps: [good], rotation: { ...rotation, people } }), /people/);
  const bad = { ...rotation, people, timezone: 'Mars/Olympus' };
  assert.match(await refused({ steps: [good], rotation: bad }), /timezone/);
  const wrong = [
    ['handoverTime', '25:00'],
    ['startDate', '9999-01-04'],
    ['overrides', [{ from: iso(now), until: '9999-01-04T08:00:00Z', person: 'a@a.example' }]],
  ] as const;
  for (const [field, value] of wrong) {
    const its = { ...rotation, people, [field]: value };
    assert.match(await refused({ steps: [good], rotation: its }), new RegExp(field));
  }
});

test('the shifts of a policy are read for four weeks from now, or for a range of at most a year', async () => {
  await using it = await bench();
  const [ann, bob] = [await member(it, 'ann'), await member(it, 'bob')];
  const overrides = [{ from: iso(now), until: iso(now + hour), person: bob }];
  const id = await makePolicy(it, {
    steps: [{ onCall: true }],
    rotation: { ...rotation, people: [ann, bob], overrides },
  });
  const read = async (query = '', of = id) => {
    const { status, body } = await it.cp.api('GET', `/v1/escalation-policies/${of}/shifts${query}`);
    return { status, body };
  };
  const { shifts, turns } = (await read()).body;
  const first = { person: bob, from: iso(now), until: iso(now + hour), isOverride: true };
  assert.deepEqual(shifts[0], first);
  assert.ok(turns.length >= 4 && Date.parse(turns.at(-1).until) >= now + 28 * 24 * hour);
  const { body: none } = await read('?from=2026-01-01&to=2026-02-01');
  assert.deepEqual(none, { shifts: [], turns: [] });
  assert.equal((await read('?from=2026-01-01&to=2027-01-01')).status, 200);
  for (const wrong of ['?from=2026-02-01&to=2026-02-01', '?from=2026-01-01&to=2027-02-01']) {
    const { status, body } = await read(wrong);
    assert.deepEqual([status, body.attributes.issues[0].path], [400, 'to'], wrong);
  }
  const plain = await makePolicy(it, { steps: [{ people: [ann] }] });
  assert.deepEqual((await read('', plain)).body, { shifts: [], turns: [] });
  assert.equal((await read('', it.cp.accountId)).status, 404);
});

test('killed at any statement, and with two replicas, each step notifies once', async () => {
  await using it = await bench();
  const channels = [await makeChannel(it.cp), await makeChannel(it.cp)];
  const ann = await member(it, 'ann');
  const steps = [
    { alertChannelIds: channels, people: [ann] },
    { delayMinutes: 1, alertChannelIds: channels, people: [ann] },
  ];
  const policy = await makePolicy(it, { steps, repeats: 1 });
  const checks: string[] = [];
  for (let index = 0; index < 3; index += 1) checks.push(await makeCheck(it.cp, [], by(policy)));
  await it.report(checks, true);
  const { services } = it.cp.controlPlane;
  let kills = 0;
  for (let step = 0; step < 2; step += 1) {
    const at = it.clock.now();
    kills += await despiteKills(services.db, async (db) => {
      // What was killed is tried again a minute later.
      await services.db
        .updateTable('escalations')
        .set({ due_at: at })
        .where('step', '=', step)
        .execute();
      await runEscalations({ ...services, db });
    });
    assert.equal((await it.sent()).length, 9, `step ${step}`);
    it.clock.setWall(it.clock.now() + minute);
  }
  assert.ok(kills > 25, `${kills} kills`);
  for (let step = 2; step < 4; step += 1) {
    await Promise.all([1, 2, 3].map(() => runEscalations(services)));
    assert.equal((await it.sent()).length, 9, `step ${step}`);
    it.clock.setWall(it.clock.now() + minute);
  }
  await it.wait(60 * minute);
  assert.deepEqual(await it.sent(), []);
  assert.deepEqual(
    (await it.why(checks[0] ?? '')).map((text) => text.slice(0, 6)),
    ['Step 1', 'Step 2', 'Step 1', 'Step 2'],
  );
});
