// SQLite only: it tests what channels send.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test, { suite } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from '../../../../control-plane/notifications/channels/webhook-signature.ts';
import { startTestControlPlane } from '../../../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../../../support/http-receiver.ts';
import {
  alertFacts,
  agentHealthFacts,
  locationFacts,
  makeChannel,
  notify,
  testFacts,
} from '../../../support/notifications.ts';

const start = () => startTestControlPlane({ settings: reachesTestServers });

suite('signatures', () => {
  // The first of them stands in the Standard Webhooks libraries; all others are from OpenSSL.
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const body = '{"test": 2432232314}';
  const now = 1614265330_000;

  test('a secret of the standard gives the signature of its specification', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    assert.deepEqual(Object.fromEntries(signatureHeaders({ id, body, secret }, now)), {
      'webhook-id': id,
      'webhook-timestamp': '1614265330',
      'x-checkly-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      'x-checkly-signature': '80ec8a89ce3cd22133a1066caecb4d04fea7467657c8514d717ec42c38a5c94c',
    });
  });

  test('any other secret is taken as its bytes', () => {
    const headers = Object.fromEntries(signatureHeaders({ id, body, secret: 'foo-secret' }, now));
    assert.equal(
      headers['x-checkly-signature'],
      '821fb5aa97773bd4a9d3f5078b5f005a2f89c03de258de35d51ff1a13015ce16',
    );
    assert.equal(headers['webhook-signature'], 'v1,0GKQlpgdMYqhCPKc8kyhSCjGLMjNSxTAD+2uacgCuWk=');
  });

  test('without a secret nothing is signed', () => {
    const names = signatureHeaders({ id, body, secret: null }, now).map(([name]) => name);
    assert.deepEqual(names, ['webhook-id', 'webhook-timestamp', 'x-checkly-timestamp']);
  });
});

test('without a template the body is the variables, signed so that every receiver can verify it', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const webhookSecret = 'a-secret-of-ours';
  const channel = await makeChannel(cp, 'WEBHOOK', {
    name: 'w',
    url: `${receiver.url}/in`,
    webhookSecret,
  });
  const facts = alertFacts();
  const { status, id } = await notify(cp, channel, facts);
  assert.equal(status, 'SUCCESS');
  const { method, headers, body } = await receiver.next();
  assert.deepEqual(
    [method, headers['content-type'], headers['webhook-id']],
    ['POST', 'application/json', id],
  );
  const parsed = JSON.parse(body) as {
    type: string;
    timestamp: string;
    data: Record<string, unknown>;
  };
  assert.deepEqual([parsed.type, parsed.timestamp], ['ALERT_FAILURE', '2026-11-21T08:30:00.000Z']);
  assert.deepEqual(
    [parsed.data['CHECK_NAME'], parsed.data['TAGS']],
    ['Checkout', ['team:web', 'critical']],
  );
  const verifier = new Webhook(Buffer.from(webhookSecret), { format: 'raw' });
  assert.deepEqual(verifier.verify(body, headers as Record<string, string>), parsed);
  assert.equal(
    headers['x-checkly-signature'],
    createHmac('sha256', webhookSecret).update(body).digest('hex'),
  );
  for (const [other, type] of [
    [locationFacts, 'LOCATION_UNSERVED'],
    [agentHealthFacts, 'LOCATION_FAULTS'],
    [{ ...agentHealthFacts, isOver: true }, 'LOCATION_FAULTS_OVER'],
    [testFacts, 'TEST'],
  ] as const) {
    await notify(cp, channel, other);
    assert.equal((JSON.parse((await receiver.next()).body) as { type: string }).type, type);
  }
});

test('a receiver that verifies what it parsed and printed again agrees with one that does not', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const channel = await makeChannel(cp, 'WEBHOOK', {
    name: 'w',
    url: receiver.url,
    webhookSecret: 's3cret',
    template: '{\n  "message" : "{{CHECK_NAME}}"\n}\n',
  });
  await notify(cp, channel);
  const { body, headers } = await receiver.next();
  assert.equal(body, '{"message":"Checkout"}');
  assert.equal(
    headers['x-checkly-signature'],
    createHmac('sha256', 's3cret')
      .update(JSON.stringify(JSON.parse(body)))
      .digest('hex'),
  );
});

test('method, address, headers, query and body are completed, with the variables of account, group and check', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver(({ headers, path, query, body }) => ({
    status: 201,
    body: JSON.stringify({ headers, path, query: [...query], body }),
  }));
  await cp.api('POST', '/v1/variables', { key: 'HOOK', value: `${receiver.url}/v1` });
  await cp.api('POST', '/v1/variables', {
    key: 'TOKEN',
    value: 'token &+/"of the account"',
    secret: true,
  });
  await cp.api('POST', '/v1/variables', { key: 'TEAM', value: 'account' });
  const { body: group } = await cp.api('POST', '/v2/check-groups', {
    name: 'g',
    environmentVariables: [
      { key: 'TEAM', value: 'group' },
      { key: 'ROOM', value: 'r1' },
    ],
  });
  const { body: check } = await cp.api('POST', '/v1/checks/api', {
    name: 'Ünïcode ☃\r\nX-Evil: 1',
    request: { method: 'GET', url: 'https://a.example' },
    groupId: group.id,
    environmentVariables: [{ key: 'TEAM', value: 'check' }],
  });
  const channel = await makeChannel(cp, 'WEBHOOK', {
    name: 'w',
    method: 'PUT',
    url: '{{HOOK}}/{{TEAM}}/{{ROOM}}?fixed={{CHECK_NAME}}',
    headers: [
      { key: 'Authorization', value: 'Bearer {{{TOKEN}}}' },
      { key: 'X-Api-Key', value: 'locked-header-value', locked: true },
      { key: 'X-Name', value: '{{CHECK_NAME}}' },
      { key: 'Content-Length', value: '3' },
      { key: 'webhook-id', value: 'forged' },
    ],
    queryParameters: [
      { key: 'key', value: 'locked query/value', locked: true },
      { key: 'type', value: '{{ALERT_TYPE}}' },
    ],
    template: '{"text":"{{{CHECK_NAME}}} {{TEAM}}","token":"{{{TOKEN}}}"}',
  });
  const facts = alertFacts();
  const about = { ...facts.check, id: String(check.id), name: String(check.name) };
  const { status, result, id } = await notify(cp, channel, { ...facts, check: about });
  assert.equal(status, 'SUCCESS', result);
  const got = await receiver.next();
  assert.deepEqual([got.method, got.path], ['PUT', '/v1/check/r1']);
  assert.deepEqual(
    [...got.query],
    [
      ['fixed', about.name],
      ['key', 'locked query/value'],
      ['type', 'ALERT_FAILURE'],
    ],
  );
  assert.equal(got.headers.authorization, 'Bearer token &+/"of the account"');
  assert.equal(got.headers['webhook-id'], id);
  assert.equal(got.headers['x-evil'], undefined);
  assert.equal(
    Buffer.from(String(got.headers['x-name']), 'latin1').toString(),
    'Ünïcode ☃ X-Evil: 1',
  );
  assert.deepEqual(JSON.parse(got.body), {
    text: `${about.name} check`,
    token: 'token &+/"of the account"',
  });
  // The receiver has echoed everything it was sent.
  assert.match(result, /^HTTP 201 Created\n/);
  for (const secret of [
    'of the account',
    'of+the+account',
    'locked-header',
    'locked query',
    'locked+query',
    'locked%20query',
  ]) {
    assert.ok(!result.includes(secret), `${secret} in ${result}`);
  }
  assert.match(result, /\[hidden\]/);
});

test('user and password in an address become a header, and are not shown', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver(({ headers }) => ({
    status: 400,
    body: String(headers.authorization),
  }));
  await cp.api('POST', '/v1/variables', { key: 'KEY', value: 'the-api-key' });
  const channel = await makeChannel(cp, 'WEBHOOK', {
    name: 'w',
    url: receiver.url.replace('http://', 'http://{{KEY}}:p%40ss-word@'),
  });
  const { body } = await cp.api('POST', `/v1/alert-channels/${channel}/test`);
  const pair = Buffer.from('the-api-key:p@ss-word').toString('base64');
  assert.equal((await receiver.next()).headers.authorization, `Basic ${pair}`);
  assert.deepEqual([body.status, body.result], ['FAILURE', 'HTTP 400 Bad Request\nBasic [hidden]']);
});

test('requests that have no body carry none', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  for (const method of ['GET', 'HEAD']) {
    const channel = await makeChannel(cp, 'WEBHOOK', {
      name: 'w',
      url: receiver.url,
      method,
      template: '{}',
    });
    assert.equal((await notify(cp, channel)).status, 'SUCCESS');
    const { body, headers } = await receiver.next();
    assert.deepEqual(
      [body, headers['content-type'], headers['content-length']],
      ['', undefined, undefined],
    );
  }
});

test('services with a known form get it without a template', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const bodyFor = async (webhookType: string) => {
    await notify(
      cp,
      await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url, webhookType }),
    );
    return JSON.parse((await receiver.next()).body) as Record<string, unknown>;
  };
  const discord = await bodyFor('WEBHOOK_DISCORD');
  assert.match(String(discord['content']), /^🔴 Check "Checkout" has failed: expected status/);
  assert.deepEqual(discord['allowed_mentions'], { parse: [] });
  const teams = await bodyFor('WEBHOOK_MSTEAMS');
  const [card] = teams['attachments'] as {
    contentType: string;
    content: { type: string; body: unknown[] };
  }[];
  assert.deepEqual(
    [teams['type'], card?.contentType, card?.content.type],
    ['message', 'application/vnd.microsoft.card.adaptive', 'AdaptiveCard'],
  );
  assert.equal((await bodyFor('WEBHOOK_ILERT'))['type'], 'ALERT_FAILURE');
});

test('a broken template is refused when it is saved, by field, and fails with its line when it got in before', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const good = { name: 'w', url: receiver.url };
  for (const [config, key] of [
    [{ ...good, template: '{\n"a": "{{#if X}}"\n}' }, 'config.template'],
    [{ ...good, template: '{{shout X}}' }, 'config.template'],
    [{ ...good, url: `${receiver.url}/{{#X}}` }, 'config.url'],
    [{ ...good, headers: [{ key: 'a', value: '{{' }] }, 'config.headers.0.value'],
    [{ ...good, headers: [{ key: 'X Key', value: 'a' }] }, 'config.headers.0.key'],
    [{ ...good, headers: [{ key: 'Schlüssel:', value: 'a' }] }, 'config.headers.0.key'],
    [
      { ...good, queryParameters: [{ key: 'a', value: '{{> x}}' }] },
      'config.queryParameters.0.value',
    ],
  ] as const) {
    const { status, body } = await cp.api('POST', '/v1/alert-channels', {
      type: 'WEBHOOK',
      config,
    });
    assert.deepEqual([status, body.attributes?.keys], [400, [key]], JSON.stringify(config));
  }
  const channel = await makeChannel(cp, 'WEBHOOK', good);
  const changed = await cp.api('PUT', `/v1/alert-channels/${channel}`, {
    config: { ...good, template: '{{' },
  });
  assert.deepEqual([changed.status, changed.body.attributes.keys], [400, ['config.template']]);
  await cp.controlPlane.services.db
    .updateTable('alert_channels')
    .set({ config_json: JSON.stringify({ ...good, template: 'a\n{{moment "gibberish" "Y"}}' }) })
    .where('id', '=', channel)
    .execute();
  const { status, result } = await notify(cp, channel);
  assert.equal(status, 'FAILURE');
  assert.match(
    result,
    /^the template of "template" cannot be completed: line 2: moment does not know/,
  );
  assert.equal(receiver.received.length, 0);
});

test('a redirect is a failure that is not tried again', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver(() => ({
    status: 302,
    headers: { location: 'http://169.254.169.254/' },
  }));
  const { status, result } = await notify(
    cp,
    await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url }),
  );
  assert.deepEqual(
    [status, result, receiver.received.length],
    ['FAILURE', 'HTTP 302 Found: redirects are not followed: give the address it leads to', 1],
  );
});

test('a private address is out of reach unless the operator allows it', async () => {
  await using cp = await startTestControlPlane();
  await using receiver = await httpReceiver();
  for (const url of [
    receiver.url,
    receiver.url.replace('127.0.0.1', 'localhost'),
    'http://169.254.169.254/latest',
  ]) {
    const { status, result } = await notify(
      cp,
      await makeChannel(cp, 'WEBHOOK', { name: 'w', url }),
    );
    assert.equal(status, 'FAILURE');
    assert.match(
      result,
      /not at a public address; the operator may allow its network with OUTGOING_ALLOWED_NETWORKS/,
    );
  }
  assert.equal(receiver.received.length, 0);
});

test('an answer without the expected text is no delivery, whatever its status', async () => {
  await using cp = await start();
  const failed = 'Webhook message delivery failed with error: HTTP error 413';
  await using receiver = await httpReceiver(({ path }) => ({ body: path === '/1' ? '1' : failed }));
  for (const [path, expectedAnswer, said] of [
    ['/1', '1', 'SUCCESS'],
    ['/1', undefined, 'SUCCESS'],
    ['/2', undefined, 'SUCCESS'],
    ['/2', 'delivery failed', 'SUCCESS'],
    ['/2', '413', 'SUCCESS'],
    // It is a digit of another number.
    ['/2', '1', 'FAILURE'],
    ['/2', '"ok"', 'FAILURE'],
  ] as const) {
    const expected = expectedAnswer === undefined ? {} : { expectedAnswer };
    const channel = await makeChannel(cp, 'WEBHOOK', {
      ...{ name: 'w', url: receiver.url + path },
      ...expected,
    });
    // A test is not sent again.
    const { status, result } = await notify(cp, channel, testFacts);
    assert.equal(status, said, `${path} ${expectedAnswer}`);
    if (said === 'FAILURE') {
      const missing = `the answer does not hold the expected "${expectedAnswer}": HTTP 200`;
      assert.ok(result.startsWith(missing), result);
      assert.match(result, /413$/);
    }
  }
});
