/** What agents are given to say by themselves that the control plane is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { checkInOf, FakeAgent } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const clockStart = Date.parse('2026-11-29T08:00:00.000Z');
const peer = { port: 8080, addresses: ['10.1.2.3'] };

async function addChannel(cp: TestControlPlane, type: string, config: object, more: object = {}) {
  const body = { type, config, sentByAgents: true, ...more };
  const made = await cp.api('POST', '/v1/alert-channels', body);
  assert.equal(made.status, 201);
  return made.body as { id: number; warnings?: string[] };
}

test('agents are given finished messages of chosen channels, and each other', async () => {
  const clock = new TestClock(clockStart);
  await using cp = await startTestControlPlane({ clock });
  const first = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const second = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  const checkIn = async (agent: FakeAgent, watch: string | null) => {
    const { capabilities, ...request } = checkInOf({ agentId: agent.id, watch }, ['URL']);
    const body = { ...request, capabilities: { ...capabilities, peer } };
    return checkInAnswer.parse(await agent.call('check-in', body)).watch;
  };
  /** Until what is known of the account is looked up again. Agents that are silent count as gone. */
  const pass = async (): Promise<void> => {
    for (let turn = 0; turn < 4; turn += 1) {
      clock.advance(11_000);
      for (const agent of [first, second]) await checkIn(agent, null);
    }
  };
  await checkIn(first, null);
  assert.equal(await checkIn(second, null), undefined, 'no channel is for agents');

  const hook = {
    name: 'ops',
    url: 'https://chat.example/a?{{ALERT_TYPE}}',
    webhookSecret: 's3cret',
  };
  const webhook = await addChannel(cp, 'WEBHOOK', hook, { sendRecovery: false });
  const slack = await addChannel(cp, 'SLACK', { url: 'https://hooks.example/b' });
  await addChannel(
    cp,
    'WEBHOOK',
    { name: 'off', url: 'https://c.example/' },
    { sentByAgents: false },
  );
  // No agent can send by these; each says so.
  const mail = await addChannel(cp, 'EMAIL', { address: 'ada@example.com' });
  const sms = await addChannel(cp, 'SMS', { name: 'ada', number: '+491701234567' });
  assert.match(String(mail.warnings), /AGENT_SMTP_URL/);
  assert.match(String(sms.warnings), /agents cannot send by SMS/);
  await pass();

  const watch = await checkIn(first, null);
  assert.ok(watch);
  assert.deepEqual(
    watch.messages.map(({ channel, back }) => [channel, back === null]),
    [
      [`WEBHOOK ${webhook.id}`, true],
      [`SLACK ${slack.id}`, false],
    ],
  );
  assert.deepEqual(watch.peers, [{ agentId: second.id, ...peer }], 'it is no peer of itself');
  const [ofWebhook, ofSlack] = watch.messages.map(({ away }) => away);
  assert.ok(ofWebhook?.kind === 'http' && ofSlack?.kind === 'http');
  assert.equal(ofWebhook.url, 'https://chat.example/a?CONTROL_PLANE_AWAY');
  assert.ok(ofWebhook.headers.some(([name]) => name === 'webhook-signature'));
  const said = Buffer.from(ofSlack.body ?? '', 'base64').toString();
  assert.match(said, /Agents do not reach the control plane/);

  assert.equal(await checkIn(first, watch.digest), undefined, 'nothing has changed');
  await pass();
  assert.equal(await checkIn(first, watch.digest), undefined, 'time is no change');

  // Another account's agents get nothing of it.
  const { controlPlane, accountId } = cp;
  const { watches, db } = controlPlane.services;
  const stranger = { accountId: 'ffffffff-0000-4000-8000-000000000000', agentId: first.id };
  assert.equal(await watches.newsFor(stranger, null), undefined);

  // One that cannot be read is left out, and agents still check in.
  await db
    .updateTable('alert_channels')
    .set({ config_json: '{' })
    .where('account_id', '=', accountId)
    .where('id', '=', webhook.id)
    .execute();
  await pass();
  const rest = await checkIn(first, watch.digest);
  assert.deepEqual(
    rest?.messages.map(({ channel }) => channel),
    [`SLACK ${slack.id}`],
  );
  await cp.api('PUT', `/v1/alert-channels/${slack.id}`, { sentByAgents: false });
  await pass();
  assert.equal(await checkIn(first, rest.digest), null, 'it has to forget them');
});
