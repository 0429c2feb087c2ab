import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../../support/control-plane.ts';
import {
  httpReceiver,
  type Received,
  type ReceiverAnswer,
} from '../../../support/http-receiver.ts';
import {
  alertFacts,
  enqueue,
  makeChannel,
  notify,
  recordWhen,
  recoveryFacts,
  testFacts,
} from '../../../support/notifications.ts';
import { TestClock } from '../../../support/test-clock.ts';

const token = 'xoxb-the-secret-of-the-workspace';

interface Call {
  method: string;
  channel: string | null;
  ts: string | null;
  colour: string | undefined;
  text: string;
}

/** The Web API of Slack: the shapes of its answers, and their status 200 for refusals. */
async function slackApi(refuse: (call: Call, index: number) => ReceiverAnswer | null = () => null) {
  const calls: Call[] = [];
  const answered = (body: object): ReceiverAnswer => ({
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  });
  const receiver = await httpReceiver((request: Received) => {
    const method = request.path.replace('/api/', '');
    if (request.headers.authorization !== `Bearer ${token}`) {
      return answered({ ok: false, error: 'invalid_auth' });
    }
    if (method === 'users.list') {
      const cursor = new URLSearchParams(request.body).get('cursor') ?? '';
      calls.push({ method, channel: null, ts: cursor, colour: undefined, text: '' });
      const refused = refuse({ method, channel: null, ts: cursor, colour: undefined, text: '' }, 0);
      if (refused !== null) return refused;
      const members =
        cursor === ''
          ? [
              { id: 'U0GONE', name: 'ada', deleted: true, profile: { display_name: 'ada' } },
              { id: 'U0BOB', name: 'bob', profile: { display_name: 'Bob', real_name: 'Robert' } },
            ]
          : [{ id: 'U0ADA', name: 'alovelace', profile: { display_name: 'Ada' } }];
      const next_cursor = cursor === '' ? 'dXNlcjpVMEcx' : '';
      return answered({ ok: true, members, response_metadata: { next_cursor } });
    }
    const body = JSON.parse(request.body) as {
      channel: string;
      ts?: string;
      text: string;
      attachments: { color: string }[];
    };
    const { channel, ts = null, text, attachments } = body;
    const call = { method, channel, ts, colour: attachments[0]?.color, text };
    calls.push(call);
    const refused = refuse(call, calls.length - 1);
    if (refused !== null) return refused;
    const conversation = channel.startsWith('#') ? `C${channel.slice(1).toUpperCase()}` : channel;
    const at = ts ?? `1503435956.${String(calls.length).padStart(6, '0')}`;
    return answered({ ok: true, channel: conversation, ts: at, message: { text } });
  });
  return Object.assign(receiver, { calls });
}

const refusal = (error: string, further = {}): ReceiverAnswer => ({
  body: JSON.stringify({ ok: false, error, ...further }),
});

const start = (url: string, clock?: TestClock): Promise<TestControlPlane> =>
  startTestControlPlane({
    settings: { SLACK_APP_TOKEN: token, SLACK_API_URL: `${url}/api` },
    ...(clock === undefined ? {} : { clock }),
  });

test('a message goes to channels, ids and people by name, and a recovery changes it in its place', async () => {
  await using api = await slackApi();
  await using cp = await start(api.url);
  const slackChannels = ['#ops', 'C0ABCDEF', '@Ada'];
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels });
  const failed = await notify(cp, channel, alertFacts());
  assert.deepEqual([failed.status, failed.result], ['SUCCESS', 'sent to #ops, C0ABCDEF, @Ada']);
  const posts = api.calls.filter(({ method }) => method === 'chat.postMessage');
  assert.deepEqual(
    posts.map(({ channel: to, colour }) => [to, colour]),
    [
      ['#ops', '#c4314b'],
      ['C0ABCDEF', '#c4314b'],
      ['U0ADA', '#c4314b'],
    ],
  );
  assert.equal(api.calls.filter(({ method }) => method === 'users.list').length, 2);

  const recovered = await notify(cp, channel, recoveryFacts());
  assert.equal(recovered.status, 'SUCCESS');
  const changes = api.calls.slice(5);
  assert.deepEqual(
    changes.map(({ method, channel: to, ts, colour }) => [method, to, ts, colour]),
    [
      ['chat.update', 'COPS', '1503435956.000001', '#1f8a4c'],
      ['chat.update', 'C0ABCDEF', '1503435956.000002', '#1f8a4c'],
      ['chat.update', 'U0ADA', '1503435956.000005', '#1f8a4c'],
    ],
  );
  // What begins again is a message of its own.
  await notify(cp, channel, alertFacts({ incidentKey: 'check-7c8a0f3e-2' }));
  assert.equal(api.calls.at(-1)?.method, 'chat.postMessage');
});

test('a recovery whose message is gone is posted', async () => {
  await using api = await slackApi(({ method }) =>
    method === 'chat.update' ? refusal('message_not_found') : null,
  );
  await using cp = await start(api.url);
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels: ['#ops'] });
  await notify(cp, channel, alertFacts());
  assert.equal((await notify(cp, channel, recoveryFacts())).status, 'SUCCESS');
  assert.deepEqual(
    api.calls.map(({ method }) => method),
    ['chat.postMessage', 'chat.update', 'chat.postMessage'],
  );
});

test('the record of a failure lists the entries that failed, and hides the token', async () => {
  await using api = await slackApi(({ channel }) => {
    if (channel === '#gone') return refusal('channel_not_found');
    if (channel === '#secret') return refusal('missing_scope', { needed: 'chat:write' });
    return channel === '#echo' ? refusal(`no ${token}`) : null;
  });
  await using cp = await start(api.url);
  const slackChannels = ['#ops', '#gone', '#secret', '#echo', '@nobody'];
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels });
  const { status, result } = await notify(cp, channel);
  assert.equal(status, 'FAILURE');
  assert.match(result, /#gone: channel_not_found: there is no such channel/);
  assert.match(result, /#secret: missing_scope: the app lacks a right \(chat:write\)/);
  assert.match(result, /@nobody: the workspace has nobody of this name/);
  assert.match(result, /sent to #ops$/);
  assert.ok(!result.includes(token));
});

test('Retry-After is waited for, and who has the message gets none again', async () => {
  const clock = new TestClock(Date.parse('2026-11-25T08:00:00Z'));
  let isLimited = true;
  await using api = await slackApi(({ channel }) =>
    channel === '#later' && isLimited ? { status: 429, headers: { 'retry-after': '30' } } : null,
  );
  await using cp = await start(api.url, clock);
  const { services } = cp.controlPlane;
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels: ['#ops', '#later'] });
  const id = await enqueue(services, cp.accountId, channel, alertFacts());
  const waiting = await recordWhen(services, id, ({ attempts }) => attempts === 1);
  assert.equal(waiting.result, '#later: rate limited\nsent to #ops');
  isLimited = false;
  const { next_attempt_at: nextAt } = await services.db
    .selectFrom('outbox')
    .select('next_attempt_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  assert.equal(nextAt - clock.now(), 30_000);
  clock.advance(30_000);
  const done = await recordWhen(services, id, ({ status }) => status === 'SUCCESS');
  assert.equal(done.result, 'sent to #ops, #later');
  assert.deepEqual(
    api.calls.map(({ channel: to }) => to),
    ['#ops', '#later', '#later'],
  );
});

test('a limit of names keeps no channel from its message', async () => {
  await using api = await slackApi(({ method }) =>
    method === 'users.list' ? { status: 429, headers: { 'retry-after': '30' } } : null,
  );
  await using cp = await start(api.url);
  const { services } = cp.controlPlane;
  const slackChannels = ['@Ada', '#ops', '@Bob'];
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels });
  const id = await enqueue(services, cp.accountId, channel, alertFacts());
  const waiting = await recordWhen(services, id, ({ attempts }) => attempts === 1);
  assert.equal(waiting.result, '@Ada: rate limited\n@Bob: rate limited\nsent to #ops');
  assert.deepEqual(
    api.calls.map(({ method }) => method),
    ['users.list', 'chat.postMessage'],
  );
});

test('a slow Slack takes no longer than the claim of the notification', async () => {
  const clock = new TestClock(Date.parse('2026-11-25T08:00:00Z'));
  let isUpdateSlow = true;
  await using api = await slackApi(({ method }) => {
    if (method === 'chat.update' && isUpdateSlow) clock.advance(9_000);
    // Without an end.
    const next = { ok: true, members: [], response_metadata: { next_cursor: 'next' } };
    if (method === 'users.list') clock.advance(9_000);
    return method === 'users.list' ? { body: JSON.stringify(next) } : null;
  });
  await using cp = await start(api.url, clock);
  const { services } = cp.controlPlane;
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels: ['#ops'] });
  for (let count = 0; count < 6; count += 1) await notify(cp, channel, alertFacts());
  const id = await enqueue(services, cp.accountId, channel, recoveryFacts());
  const slow = await recordWhen(services, id, ({ attempts }) => attempts === 1);
  assert.equal(slow.result, '#ops: Slack answered too slowly');
  assert.equal(api.calls.filter(({ method }) => method === 'chat.update').length, 4);

  // What is tried again must not move the clock, by which further attempts would be due.
  isUpdateSlow = false;
  const people = await makeChannel(cp, 'SLACK_APP', { slackChannels: ['@Ada'] });
  const toAda = await enqueue(services, cp.accountId, people, alertFacts());
  const unknown = await recordWhen(services, toAda, ({ attempts }) => attempts === 1);
  assert.equal(unknown.result, '@Ada: Slack gives the names too slowly');
  assert.equal(api.calls.filter(({ method }) => method === 'users.list').length, 2);
});

test('a database that fails during an attempt loses no alert', async () => {
  const clock = new TestClock(Date.parse('2026-11-25T08:00:00Z'));
  await using api = await slackApi();
  await using cp = await start(api.url, clock);
  const { services } = cp.controlPlane;
  const channel = await makeChannel(cp, 'SLACK_APP', { slackChannels: ['#ops', '#later'] });
  const run = services.commits.run.bind(services.commits);
  let isAway = true;
  services.commits.run = (work) => {
    if (!isAway || !String(work).includes('slack_messages')) return run(work);
    isAway = false;
    return Promise.reject(Object.assign(new Error('away'), { code: 'ECONNRESET' }));
  };
  const id = await enqueue(services, cp.accountId, channel, alertFacts());
  const waiting = await recordWhen(services, id, ({ attempts }) => attempts === 1);
  assert.equal(waiting.result, 'the database failed');
  clock.advance(60_000);
  const done = await recordWhen(services, id, ({ status }) => status !== 'IN_PROGRESS');
  assert.deepEqual([done.status, done.result], ['SUCCESS', 'sent to #ops, #later']);
});

test('without a token the channel is made with a warning, and says why nothing is sent', async () => {
  await using cp = await startTestControlPlane();
  const config = { slackChannels: ['#ops', '@ada'] };
  const { status, body } = await cp.api('POST', '/v1/alert-channels', {
    type: 'SLACK_APP',
    config,
  });
  assert.deepEqual([status, body.config], [201, config]);
  assert.match(body.warnings[0], /SLACK_APP_TOKEN/);
  for (const facts of [alertFacts(), testFacts]) {
    const outcome = await notify(cp, body.id, facts);
    assert.equal(outcome.status, 'FAILURE');
    assert.match(outcome.result, /no Slack app is connected/);
  }
  const refused = await cp.api('POST', '/v1/alert-channels', {
    type: 'SLACK_APP',
    config: { slackChannels: [] },
  });
  assert.deepEqual([refused.status, refused.body.attributes.keys], [400, ['config.slackChannels']]);
});
