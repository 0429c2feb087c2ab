// SQLite only: it tests what channels send.
/** Slack, PagerDuty and Opsgenie as their documentation describes them: what they would refuse fails here. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { messageOf } from '../../../../control-plane/notifications/message.ts';
import { startTestControlPlane } from '../../../support/control-plane.ts';
import { httpReceiver, reachesTestServers, type Received } from '../../../support/http-receiver.ts';
import {
  alertFacts,
  locationFacts,
  makeChannel,
  notify,
  recoveryFacts,
  testFacts,
} from '../../../support/notifications.ts';

function parsed<S extends z.ZodType>(schema: S, { body, headers }: Received) {
  if (headers['content-type'] !== 'application/json') return null;
  const result = schema.safeParse(JSON.parse(body));
  return result.success ? result.data : null;
}

const slackText = z.strictObject({ type: z.literal('mrkdwn'), text: z.string().min(1).max(3000) });
const slackField = z.strictObject({ type: z.literal('mrkdwn'), text: z.string().min(1).max(2000) });
const slackMessage = z.strictObject({
  text: z.string().min(1).max(40_000),
  channel: z.string().startsWith('#').optional(),
  attachments: z
    .array(
      z.strictObject({
        color: z.string().regex(/^#[0-9a-f]{6}$/),
        fallback: z.string().min(1),
        blocks: z
          .array(
            z.union([
              z.strictObject({ type: z.literal('section'), text: slackText }),
              z.strictObject({
                type: z.literal('section'),
                fields: z.array(slackField).min(1).max(10),
              }),
            ]),
          )
          .max(50),
      }),
    )
    .max(100),
});

const slack = () =>
  httpReceiver((request) =>
    request.method === 'POST' &&
    request.path === '/services/T0/B0/hook-secret' &&
    parsed(slackMessage, request) !== null
      ? { body: 'ok', headers: { 'content-type': 'text/html' } }
      : { status: 400, body: `invalid_blocks ${request.path}` },
  );

test('Slack gets blocks beside a bar of colour, for every kind of notification', async () => {
  await using cp = await startTestControlPlane({
    settings: { ...reachesTestServers, PUBLIC_URL: 'https://m.example' },
  });
  await using receiver = await slack();
  const url = `${receiver.url}/services/T0/B0/hook-secret`;
  const channel = await makeChannel(cp, 'SLACK', { url, channel: '#ops' });
  for (const [facts, color] of [
    [alertFacts(), '#c4314b'],
    [alertFacts({ alertType: 'ALERT_DEGRADED' }), '#c77700'],
    [recoveryFacts(), '#1f8a4c'],
    [locationFacts, '#c4314b'],
    [testFacts, '#4a6fa5'],
  ] as const) {
    const { status, result } = await notify(cp, channel, facts);
    assert.deepEqual([status, result], ['SUCCESS', 'HTTP 200 OK\nok']);
    const message = parsed(slackMessage, await receiver.next());
    const { title, reason } = messageOf(facts, 'id', 'https://m.example');
    assert.deepEqual(
      [message?.text, message?.channel, message?.attachments[0]?.color],
      [reason === '' ? title : `${title}: ${reason}`, '#ops', color],
    );
  }
  assert.match(
    receiver.received[0]?.body ?? '',
    /<https:\/\/m\.example\/console\/#\/checks\/[^|>]+\|Open the result>/,
  );
});

test('no name calls a channel of Slack, and the longest still fits', async () => {
  await using cp = await startTestControlPlane({ settings: reachesTestServers });
  await using receiver = await slack();
  const channel = await makeChannel(cp, 'SLACK', {
    url: `${receiver.url}/services/T0/B0/hook-secret`,
  });
  const facts = alertFacts();
  for (const name of ['<!channel> & <@U1|you>', '<&>'.repeat(2_000)]) {
    const check = { ...facts.check, name, description: name, tags: [name] };
    const result = facts.result && { ...facts.result, error: name };
    assert.equal((await notify(cp, channel, { ...facts, check, result })).status, 'SUCCESS');
    assert.doesNotMatch((await receiver.next()).body, /<[!@&]/);
  }
});

test('a refusal of Slack is final, and does not show the address, which is a key', async () => {
  await using cp = await startTestControlPlane({ settings: reachesTestServers });
  await using receiver = await slack();
  const url = `${receiver.url}/services/T0/B0/revoked-hook-secret`;
  const { status, result } = await notify(cp, await makeChannel(cp, 'SLACK', { url }));
  assert.deepEqual([status, result], ['FAILURE', 'HTTP 400 Bad Request\ninvalid_blocks [hidden]']);
  assert.equal(receiver.received.length, 1);
});

const common = {
  routing_key: z.string().length(32),
  dedup_key: z.string().min(1).max(255),
  client: z.string().optional(),
  client_url: z.url().optional(),
};
const pagerDutyEvent = z.discriminatedUnion('event_action', [
  z.strictObject({
    ...common,
    event_action: z.literal('trigger'),
    payload: z.strictObject({
      summary: z.string().min(1).max(1024),
      source: z.string().min(1),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      timestamp: z.iso.datetime(),
      custom_details: z.record(z.string(), z.string()),
    }),
    links: z.array(z.strictObject({ href: z.url(), text: z.string() })),
  }),
  z.strictObject({ ...common, event_action: z.literal('resolve') }),
]);
const routingKey = 'R0123456789abcdef0123456789abcde';

test('PagerDuty opens an incident at the alert and resolves the same at the recovery', async () => {
  await using receiver = await httpReceiver((request) => {
    const event = parsed(pagerDutyEvent, request);
    return event === null || event.routing_key !== routingKey
      ? {
          status: 400,
          body: JSON.stringify({ status: 'invalid event', message: `bad key ${request.body}` }),
        }
      : {
          status: 202,
          body: JSON.stringify({
            status: 'success',
            message: 'Event processed',
            dedup_key: event.dedup_key,
          }),
        };
  });
  await using cp = await startTestControlPlane({
    settings: { PAGERDUTY_EVENTS_URL: `${receiver.url}/v2/enqueue` },
  });
  const channel = await makeChannel(cp, 'PAGERDUTY', { serviceKey: routingKey });
  const events = [];
  for (const facts of [
    alertFacts(),
    alertFacts({ alertType: 'ALERT_FAILURE_DEGRADED' }),
    recoveryFacts(),
    locationFacts,
    { ...locationFacts, isServed: true },
    testFacts,
  ]) {
    const { status, result } = await notify(cp, channel, facts);
    assert.equal(status, 'SUCCESS', result);
    const event = parsed(pagerDutyEvent, await receiver.next());
    events.push([
      event?.event_action,
      event?.dedup_key,
      event?.event_action === 'trigger' ? event.payload.severity : null,
    ]);
  }
  assert.equal(receiver.received[0]?.path, '/v2/enqueue');
  assert.deepEqual(events.slice(0, 5), [
    ['trigger', 'check-7c8a0f3e-1', 'critical'],
    ['trigger', 'check-7c8a0f3e-1', 'warning'],
    ['resolve', 'check-7c8a0f3e-1', null],
    ['trigger', 'location-office-berlin-1', 'critical'],
    ['resolve', 'location-office-berlin-1', null],
  ]);
  assert.match(String(events[5]?.[1]), /^test-/);
  const long = alertFacts({ check: { ...alertFacts().check, name: 'ü'.repeat(3_000) } });
  assert.equal((await notify(cp, channel, long)).status, 'SUCCESS');

  const other = await makeChannel(cp, 'PAGERDUTY', {
    serviceKey: 'R-wrong-key-of-thirty-two-chars-',
  });
  const refused = await notify(cp, other);
  assert.equal(refused.status, 'FAILURE');
  assert.match(refused.result, /^HTTP 400 Bad Request\n.*\[hidden\]/);
  assert.doesNotMatch(refused.result, /R-wrong-key/);
});

const opsgenieAlert = z.strictObject({
  message: z.string().min(1).max(130),
  alias: z.string().min(1).max(512),
  description: z.string().max(15_000),
  entity: z.string().max(512),
  source: z.string().max(100),
  priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']),
  tags: z.array(z.string().max(50)).max(20),
  details: z.record(z.string(), z.string()),
  note: z.string().max(25_000),
});
const opsgenieClose = z.strictObject({ source: z.string().max(100), note: z.string().max(25_000) });

test('Opsgenie opens an alert and closes it by its alias', async () => {
  await using receiver = await httpReceiver((request) => {
    const accepted = {
      status: 202,
      body: '{"result":"Request will be processed","took":0.1,"requestId":"r"}',
    };
    if (request.headers.authorization !== 'GenieKey genie-api-key') {
      return {
        status: 401,
        body: `{"message":"Could not authenticate","key":"${request.headers.authorization}"}`,
      };
    }
    if (request.path === '/v2/alerts')
      return parsed(opsgenieAlert, request) ? accepted : { status: 422 };
    const isClose =
      request.path === '/v2/alerts/check-7c8a0f3e-1/close' &&
      request.query.get('identifierType') === 'alias';
    return isClose && parsed(opsgenieClose, request) ? accepted : { status: 404 };
  });
  await using cp = await startTestControlPlane({ settings: { OPSGENIE_API_URL: receiver.url } });
  const config = { name: 'o', apiKey: 'genie-api-key', region: 'EU', priority: 'P2' };
  const channel = await makeChannel(cp, 'OPSGENIE', config);
  const facts = alertFacts();
  const tags = Array.from({ length: 30 }, () => 'tag'.repeat(40));
  const long = { ...facts, check: { ...facts.check, name: 'n'.repeat(400), tags } };
  for (const each of [facts, recoveryFacts(), locationFacts, testFacts, long]) {
    const { status, result } = await notify(cp, channel, each);
    assert.equal(status, 'SUCCESS', result);
  }
  const alert = parsed(opsgenieAlert, await receiver.next());
  assert.deepEqual(
    [alert?.message, alert?.alias, alert?.priority, alert?.tags],
    ['Check "Checkout" has failed', 'check-7c8a0f3e-1', 'P2', ['team:web', 'critical']],
  );
  const wrong = await makeChannel(cp, 'OPSGENIE', { ...config, apiKey: 'another-api-key' });
  const refused = await notify(cp, wrong);
  assert.deepEqual(
    [refused.status, refused.result.includes('another-api-key')],
    ['FAILURE', false],
  );
});
