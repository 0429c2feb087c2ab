import assert from 'node:assert/strict';
import test from 'node:test';
import { mailServer } from '../support/mail-server.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';
import { openWebhook, type Delivery } from '../../proof/webhook.ts';

const template = `{ "type": "{{ALERT_TYPE}}" }`;

/** Deliveries, each id once, in the order of their first arrival. */
function distinct(deliveries: readonly Delivery[]): Delivery[] {
  const byId = new Map<string, Delivery>();
  for (const delivery of deliveries) {
    if (!byId.has(delivery.id)) byId.set(delivery.id, delivery);
  }
  return [...byId.values()];
}

function typesOf(deliveries: readonly Delivery[]): string[] {
  return distinct(deliveries).map(({ body }) => (JSON.parse(body) as { type: string }).type);
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
  await system.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'people', url: webhook.url, method: 'POST', template },
    autoSubscribe: true,
  });
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
    () => system.query('select 1 from check_alerts').length > 0,
    () => agent.lines.slice(-5).join('\n'),
  );
  await system.controlPlane.kill9();
  await system.restartControlPlane();
  await webhook.until((all) => all.length > 0);
  assert.deepEqual(typesOf(webhook.deliveries), ['ALERT_FAILURE']);
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
  assert.deepEqual(typesOf(webhook.deliveries), ['ALERT_FAILURE', 'ALERT_RECOVERY']);
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
