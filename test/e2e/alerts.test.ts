import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'node:test';
import type { ItemOutcome } from '@monitor/shared/contract/agent-protocol.ts';
import { callApi } from '../../proof/api.ts';
import { resultOf } from '../support/fake-agent.ts';
import { mailServer } from '../support/mail-server.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import {
  backdateSchedules,
  eventually,
  openTarget,
  System,
  temporaryFolder,
} from '../support/system.ts';
import { openWebhook, type Delivery } from '../../proof/webhook.ts';

const template = `{ "type": "{{ALERT_TYPE}}", "check": "{{CHECK_ID}}", "error": "{{CHECK_ERROR_MESSAGE}}" }`;

interface AlertRow {
  check_id: string;
  alert_type: string;
}

async function makeWebhook(
  system: System,
  url: string,
  fields: Record<string, unknown> = {},
): Promise<number> {
  const { id } = await system.api<{ id: number }>('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'people', url, method: 'POST', template },
    autoSubscribe: true,
    ...fields,
  });
  return id;
}

/** Deliveries, each id once, in the order of their first arrival. */
function distinct(deliveries: readonly Delivery[]): Delivery[] {
  const byId = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    if (!byId.has(delivery.id)) byId.set(delivery.id, delivery);
  }
  return [...byId.values()];
}

function saidOf(deliveries: readonly Delivery[]): { type: string; check: string }[] {
  return distinct(deliveries).map(
    ({ body }) => JSON.parse(body) as { type: string; check: string },
  );
}

function alertRows(system: System): AlertRow[] {
  return system.query<AlertRow>('select check_id, alert_type from check_alerts order by seq');
}

test('a failing check reaches a webhook, a mailbox, subscribers and the status page, and so does its recovery', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using webhook = await openWebhook();
  await using mailbox = await mailServer();
  await using system = await System.start(folder.path, {
    OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
    SMTP_URL: mailbox.url,
    MAIL_FROM: 'Monitor <monitor@example.com>',
  });
  await makeWebhook(system, webhook.url);
  await system.api('POST', '/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: 'night@example.com' },
    autoSubscribe: true,
  });
  const service = await system.api<{ id: string }>('POST', '/v1/status-pages/services', {
    name: 'Shop',
  });
  const page = await system.api<{ id: string }>('POST', '/v1/status-pages', {
    name: 'Shop status',
    url: 'shop',
    cards: [{ name: 'All', services: [{ id: service.id }] }],
  });
  await system.api('POST', `/v1/status-pages/${page.id}/subscriptions/bulk`, {
    subscriptions: [{ type: 'EMAIL', config: 'reader@example.com' }],
  });
  const invitation = await mailbox.mailTo('reader@example.com', /confirm|verify/i);
  const link = /https?:\S+verify\?token=[\w.~-]+/.exec(invitation)?.[0] ?? '';
  assert.match(await (await fetch(link)).text(), /<form/);
  const token = new URL(link).searchParams.get('token') ?? '';
  const verified = await fetch(link, { method: 'POST', body: new URLSearchParams({ token }) });
  assert.equal(verified.status, 200);

  const summary = async (): Promise<{ status: { indicator: string } }> =>
    (await (await fetch(`${system.baseUrl}/status/shop/api/v2/summary.json`)).json()) as {
      status: { indicator: string };
    };
  assert.equal((await summary()).status.indicator, 'none');

  const key = await system.makeLocation('here');
  const agent = system.startAgent('agent', key);
  await agent.log('checked in');
  const check = await system.createUrlCheck(`${target.url}/fail`, {
    name: 'front door',
    privateLocations: ['here'],
    triggerIncident: {
      serviceId: service.id,
      severity: 'CRITICAL',
      name: 'The shop is closed',
      description: 'We are looking into it.',
      notifySubscribers: true,
    },
  });
  await eventually(
    () => alertRows(system).length > 0,
    () => agent.lines.slice(-5).join('\n'),
  );
  await system.controlPlane.kill9();
  await system.restartControlPlane();
  await webhook.until((all) => all.length > 0);
  assert.deepEqual(
    saidOf(webhook.deliveries).map(({ type }) => type),
    ['ALERT_FAILURE'],
  );
  assert.match(await mailbox.mailTo('night@example.com', /front door/), /500|failing/i);
  assert.match(await mailbox.mailTo('reader@example.com', /The shop is closed/), /looking into it/);
  assert.equal((await summary()).status.indicator, 'critical');
  const html = await (await fetch(`${system.baseUrl}/status/shop`)).text();
  assert.match(html, /The shop is closed/);
  const decisions = await system.api<{ outcome: string; alertType: string }[]>(
    'GET',
    `/v1/check-alerts/${check.id}/decisions`,
  );
  assert.ok(
    decisions.some(({ outcome, alertType }) => outcome === 'SENT' && alertType === 'ALERT_FAILURE'),
  );

  await system.api('PUT', `/v1/checks/url/${check.id}`, { request: { url: `${target.url}/ok` } });
  await webhook.until((all) => distinct(all).length > 1);
  assert.deepEqual(
    saidOf(webhook.deliveries).map(({ type }) => type),
    ['ALERT_FAILURE', 'ALERT_RECOVERY'],
  );
  await mailbox.mailTo('reader@example.com', /resolved/i);
  assert.equal((await summary()).status.indicator, 'none');
  const [incident] = (
    await system.api<{ entries: { lastUpdateStatus: string; duration: number }[] }>(
      'GET',
      '/v1/status-pages/incidents',
    )
  ).entries;
  assert.equal(incident?.lastUpdateStatus, 'RESOLVED');
  assert.ok(incident.duration > 0);
});

interface GroupedRow {
  alert_id: string;
  group_id: string | null;
  message_id: string | null;
}

/** Every alert waits or is in one message, and every message of a group was heard. */
function assertGrouped(system: System, alerts: number, heard: readonly Delivery[]): void {
  const rows = system.query<GroupedRow>(
    'select alert_id, group_id, message_id from grouped_alerts',
  );
  assert.equal(rows.length, alerts, 'each alert is in one group, or waits for it');
  assert.equal(new Set(rows.map((row) => row.alert_id)).size, alerts);
  const messages = new Set(rows.flatMap((row) => row.message_id ?? []));
  const ids = distinct(heard).map(({ id }) => id);
  assert.deepEqual(ids.toSorted(), [...messages].sort(), 'each message was heard');
  for (const group of system.query<{ id: string; messages: number }>(
    'select id, messages from alert_groups',
  )) {
    const own = rows.flatMap((row) => (row.group_id === group.id ? (row.message_id ?? []) : []));
    assert.equal(new Set(own).size, group.messages, 'one message for each state of a group');
  }
}

/** Each step was decided once, and heard once. */
function assertEscalated(system: System, heard: readonly Delivery[], failing: number): void {
  const steps = system.query<{ id: string }>(
    "select check_alert_id as id from alert_decisions where reason = 'POLICY_STEP'",
  );
  assert.ok(steps.length >= failing, 'what still fails has escalated');
  assert.equal(new Set(steps.map(({ id }) => id)).size, steps.length, 'each step once');
  const failures = saidOf(heard).filter(({ type }) => type === 'ALERT_FAILURE');
  assert.equal(failures.length, steps.length, 'each step was heard');
}

const kills = isLong ? 12 : 4;
const checkCount = 6;
/** Results of so long ago are handed in: of slots enough for all kills. */
const backMs = 20 * 86_400_000;

test(`${kills} kills of the control plane lose no alert, double none and change no order`, async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  using folder = temporaryFolder();
  await using webhook = await openWebhook({ answerAfterMs: () => random() * 150 });
  await using system = await System.start(folder.path, {
    OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
  });
  const each = await makeWebhook(system, webhook.url);
  await using together = await openWebhook({ answerAfterMs: () => random() * 150 });
  const grouped = await makeWebhook(system, together.url, {
    grouping: { windowSeconds: 5, updateMinutes: 1, maxPerHour: 1000 },
  });
  await using night = await openWebhook({ answerAfterMs: () => random() * 150 });
  const nightId = await makeWebhook(system, night.url, { autoSubscribe: false });
  const policy = await system.api<{ id: string }>('POST', '/v1/escalation-policies', {
    name: 'night',
    steps: [{ alertChannelIds: [nightId] }],
  });
  const key = await system.makeLocation('here');
  const checks: string[] = [];
  for (let index = 0; index < checkCount; index += 1) {
    const { id } = await system.createUrlCheck('http://127.0.0.1:9/', {
      name: `check ${index}`,
      privateLocations: ['here'],
      useGlobalAlertSettings: false,
      alertSettings: { escalationPolicyId: policy.id },
      alertChannelSubscriptions: [each, grouped].map((alertChannelId) => ({
        alertChannelId,
        activated: true,
      })),
    });
    checks.push(id);
  }
  backdateSchedules(system.databaseFile, backMs + 60_000);
  const expected = new Map<string, string[]>(checks.map((id) => [id, []]));
  const isFailing = new Set<string>();

  let isOver = false;
  const handIn = async (item: unknown): Promise<void> => {
    for (;;) {
      const answer = await callApi<{ items: ItemOutcome[] }>(
        { baseUrl: system.baseUrl, apiKey: key },
        'POST',
        '/v1/agent/results',
        { agentId: '11111111-1111-4111-8111-111111111111', items: [item] },
      ).catch(() => null);
      const outcome = answer?.items[0]?.outcome;
      if (outcome === 'accepted' || outcome === 'duplicate') return;
      assert.equal(outcome, undefined, JSON.stringify(answer));
      await pause(20);
    }
  };
  const reporting = (async () => {
    const begun = Date.now() - backMs;
    for (let turn = 0; !isOver; turn += 1) {
      const checkId = checks[turn % checkCount] ?? '';
      const hasFailures = random() < 0.5;
      const at = slotAtOrAfter(scheduleOf({ checkId, frequency: 0, frequencyOffset: 10 }), begun);
      const slot = at + Math.floor(turn / checkCount) * 10_000;
      await handIn(
        resultOf(checkId, {
          slotLocation: 'here',
          runLocation: 'here',
          scheduledFor: slot,
          startedAt: slot,
          stoppedAt: slot + 20,
          hasFailures,
        }),
      );
      if (hasFailures !== isFailing.has(checkId)) {
        expected.get(checkId)?.push(hasFailures ? 'ALERT_FAILURE' : 'ALERT_RECOVERY');
        if (hasFailures) isFailing.add(checkId);
        else isFailing.delete(checkId);
      }
      await pause(random() * 20);
    }
  })();
  const isGrouped = () => system.query('select 1 from alert_groups').length > 0;
  for (let kill = 0; kill < kills; kill += 1) {
    await pause(50 + random() * 600);
    await system.controlPlane.kill9();
    await system.restartControlPlane();
  }
  await eventually(isGrouped, () => 'no group was notified');
  isOver = true;
  await reporting;
  // At one instant: a step that falls due is in the one or the other.
  const pending = `select 1 from outbox
    union all select 1 from escalations where due_at is not null`;
  await eventually(
    () => system.query(pending).length === 0,
    () => `${system.query('select 1 from outbox').length} still to be sent`,
  );
  const rows = Map.groupBy(alertRows(system), ({ check_id: id }) => id);
  const heard = Map.groupBy(saidOf(webhook.deliveries), ({ check }) => check);
  for (const id of checks) {
    assert.deepEqual(
      (rows.get(id) ?? []).map((row) => row.alert_type),
      expected.get(id),
      'what was decided',
    );
    assert.deepEqual(
      (heard.get(id) ?? []).map(({ type }) => type),
      expected.get(id),
      'what was heard',
    );
  }
  assertGrouped(system, alertRows(system).length, together.deliveries);
  assertEscalated(system, night.deliveries, isFailing.size);
  const ids = distinct(webhook.deliveries).length;
  t.diagnostic(`${ids} alerts, ${webhook.deliveries.length - ids} of them heard again`);
});
