// PostgreSQL in the long tier: test-sessions.test.ts and newest-operations.test.ts run its statements on both.
/** The broker of test results: who may connect, what they may ask for, and what they get again. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import test from 'node:test';
import mqtt from 'mqtt-packet';
import { WebSocket } from 'ws';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../../support/fake-agent.ts';
import { eventually } from '../../support/system.ts';
import { connectToBroker, topicsOf } from '../../support/result-client.ts';

const location = 'eu-west-1';

async function startSession(cp: TestControlPlane, suiteId: string, jobs = 1) {
  const { status, body } = await cp.api('POST', '/v1/test-sessions/run', {
    ...{ name: 'shop', runLocation: location },
    checkRunJobs: Array.from({ length: jobs }, (_, index) => ({
      ...{ checkType: 'URL', logicalId: `c${index}`, name: `Shop ${index}` },
      ...{ request: { url: 'https://a.example/' }, sourceInfo: { checkRunSuiteId: suiteId } },
    })),
  });
  assert.equal(status, 202, JSON.stringify(body));
  return body as { testSessionId: string; sequenceIds: Record<string, string> };
}

async function openSocket(cp: TestControlPlane, address?: string): Promise<WebSocket> {
  const headers = address === undefined ? {} : { 'x-forwarded-for': address };
  const socket = new WebSocket(cp.url.replace('http', 'ws'), 'mqtt', { headers });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return socket;
}

const connectPacket = (cp: TestControlPlane, clientId: string) =>
  mqtt.generate({
    ...{ cmd: 'connect', clientId, protocolVersion: 4, protocolId: 'MQTT', clean: true },
    ...{ keepalive: 60, username: cp.accountId, password: Buffer.from(cp.apiKey) },
  });

test('only a live key of the account connects', async () => {
  await using cp = await startTestControlPlane();
  const refused = { code: 5 };
  const wrong = { accountId: cp.accountId, apiKey: `${cp.apiKey}x` };
  await assert.rejects(connectToBroker(cp.url, wrong), refused);
  const foreign = { accountId: cp.accountId, apiKey: await cp.foreignKey() };
  await assert.rejects(connectToBroker(cp.url, foreign), refused);
  const elsewhere = { accountId: randomUUID(), apiKey: cp.apiKey };
  await assert.rejects(connectToBroker(cp.url, elsewhere), refused);
  const { body: key } = await cp.api('POST', '/v1/api-keys', { name: 'ci', role: 'READ_RUN' });
  await using client = await connectToBroker(cp.url, { ...cp, apiKey: key.rawKey });
  assert.equal((await cp.api('DELETE', `/v1/api-keys/${key.id}`)).status, 204);
  await client.closed;
});

test('an upgrade that the broker does not serve is refused as any other', async () => {
  await using cp = await startTestControlPlane();
  const socket = new WebSocket(cp.url.replace('http', 'ws'), 'chat');
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    { statusCode: number },
  ];
  assert.equal(response.statusCode, 400);
  socket.on('error', () => undefined);
  socket.terminate();
});

test('a client subscribes to topics of its own account alone, and publishes nothing', async () => {
  await using cp = await startTestControlPlane();
  await using client = await connectToBroker(cp.url, cp);
  const suiteId = randomUUID();
  for (const filter of [
    topicsOf(randomUUID(), suiteId),
    '#',
    '+/+/ad-hoc-check-results/+/+/+/+',
    `account/${cp.accountId}/other/${suiteId}/+/+/+`,
    '$SYS/#',
  ]) {
    const [granted] = await client.mqtt.subscribeAsync(filter).catch(() => [{ qos: 128 }]);
    assert.equal(granted?.qos, 128, filter);
  }
  client.mqtt.publish(`account/${cp.accountId}/ad-hoc-check-results/${suiteId}/a/b/result`, '{}');
  await client.closed;
});

test('nothing of another account is delivered, whatever its suite is called', async () => {
  await using cp = await startTestControlPlane();
  const foreignKey = await cp.foreignKey();
  const { body: accounts } = await cp.api('GET', '/v1/accounts', undefined, {
    authorization: `Bearer ${foreignKey}`,
  });
  const foreign = { accountId: accounts[0].id as string, apiKey: foreignKey };
  await using stranger = await connectToBroker(cp.url, foreign);
  await using owner = await connectToBroker(cp.url, cp);
  const suiteId = randomUUID();
  await stranger.mqtt.subscribeAsync(topicsOf(foreign.accountId, suiteId));
  await owner.mqtt.subscribeAsync(topicsOf(cp.accountId, suiteId));
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  await startSession(cp, suiteId);
  for (const run of (await agent.checkIn()).jobs) await agent.submit(resultOfJob(run));
  await owner.ends(1);
  assert.deepEqual(stranger.messages, []);
});

test('a client that comes back gets every end again', async () => {
  await using cp = await startTestControlPlane();
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  const suiteId = randomUUID();
  const { sequenceIds } = await startSession(cp, suiteId, 60);
  for (let submitted = 0; submitted < 60;) {
    const { jobs } = await agent.checkIn();
    await agent.submit(...jobs.map((run) => resultOfJob(run)));
    submitted += jobs.length;
  }
  for (let times = 0; times < 2; times += 1) {
    await using client = await connectToBroker(cp.url, cp);
    await client.mqtt.subscribeAsync(topicsOf(cp.accountId, suiteId));
    const ends = await client.ends(60);
    assert.deepEqual(
      new Set(ends.map((end) => end.sequenceId)),
      new Set(Object.values(sequenceIds)),
    );
    assert.equal(ends.length, 60);
  }
});

test('a client that pings or unsubscribes is answered, and stays', async () => {
  await using cp = await startTestControlPlane();
  const socket = await openSocket(cp);
  const unsubscriptions = [topicsOf(cp.accountId, randomUUID())];
  const answers = [];
  for (const packet of [
    connectPacket(cp, 'calm'),
    mqtt.generate({ cmd: 'pingreq' }),
    mqtt.generate({ cmd: 'unsubscribe', messageId: 7, unsubscriptions }),
    mqtt.generate({ cmd: 'pingreq' }),
  ]) {
    socket.send(packet);
    const [answer] = (await Promise.race([once(socket, 'message'), once(socket, 'close')])) as [
      Buffer,
    ];
    answers.push(answer[0]);
  }
  assert.deepEqual(answers, [0x20, 0xd0, 0xb0, 0xd0], 'CONNACK, PINGRESP, UNSUBACK, PINGRESP');
  socket.terminate();
});

test('a flood, a packet that is too large and a client without CONNECT are disconnected', async () => {
  await using cp = await startTestControlPlane();
  const flooding = await openSocket(cp);
  flooding.send(connectPacket(cp, 'flood'));
  await once(flooding, 'message');
  const flooded = once(flooding, 'close');
  for (let count = 0; count < 1_000; count += 1) flooding.send(mqtt.generate({ cmd: 'pingreq' }));
  await flooded;

  const large = await openSocket(cp);
  const largeClosed = once(large, 'close');
  large.send(Buffer.alloc(100_000, 'x'));
  await largeClosed;

  const pieces = await openSocket(cp);
  const piecesClosed = once(pieces, 'close');
  // A CONNECT that announces 200 MB, in frames that are small enough.
  pieces.send(Buffer.from([0x10, 0x80, 0x80, 0x80, 0x60]));
  for (let count = 0; count < 10; count += 1) pieces.send(Buffer.alloc(8_000, 0));
  await piecesClosed;

  // Subscribes to nothing, and unsubscribes from nothing.
  for (const malformed of [
    [0x82, 2, 0, 1],
    [0xa2, 2, 0, 1],
  ]) {
    const empty = await openSocket(cp);
    empty.send(connectPacket(cp, 'empty'));
    await once(empty, 'message');
    const answered = Promise.race([once(empty, 'message'), once(empty, 'close')]);
    empty.send(Buffer.from(malformed));
    await answered;
    empty.terminate();
  }

  const nameless = await openSocket(cp);
  const namelessClosed = once(nameless, 'close');
  nameless.send(mqtt.generate({ cmd: 'pingreq' }));
  await namelessClosed;
});

test('an account has so many connections, and others are served', async () => {
  await using cp = await startTestControlPlane();
  const sockets: WebSocket[] = [];
  let accepted = 0;
  for (let count = 0; count < 250; count += 1) {
    const socket = await openSocket(cp);
    socket.send(connectPacket(cp, `client-${count}`));
    const [answer] = (await once(socket, 'message')) as [Buffer];
    if (answer[3] === 0) accepted += 1;
    sockets.push(socket);
  }
  assert.equal(accepted, 200);
  const foreignKey = await cp.foreignKey();
  const { body: accounts } = await cp.api('GET', '/v1/accounts', undefined, {
    authorization: `Bearer ${foreignKey}`,
  });
  await using other = await connectToBroker(cp.url, {
    ...{ accountId: accounts[0].id as string, apiKey: foreignKey },
  });
  assert.equal(other.mqtt.connected, true);
  for (const socket of sockets) socket.terminate();
});

test('strangers that say nothing keep no client out, from one address or from many', async () => {
  await using cp = await startTestControlPlane({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
  const isOpen = (socket: WebSocket): boolean => socket.readyState === WebSocket.OPEN;
  const lone = await openSocket(cp, '192.0.2.200');
  const sockets: WebSocket[] = [];
  const strangers = async (count: number, addressOf: (index: number) => string) => {
    for (let index = 0; index < count; index += 1) {
      sockets.push(await openSocket(cp, addressOf(index)));
    }
  };
  // The client shares this address with them: its own is the one of the proxy, too.
  await strangers(300, () => '127.0.0.1');
  await using shared = await connectToBroker(cp.url, cp);
  await eventually(
    () => sockets.filter(isOpen).length === 49,
    () => `${sockets.filter(isOpen).length} of one address are open`,
  );
  await strangers(400, (index) => `192.0.2.${index % 8}`);
  await using other = await connectToBroker(cp.url, cp);
  await eventually(
    () => sockets.filter(isOpen).length === 198,
    () => `${sockets.filter(isOpen).length} are open`,
  );
  assert.ok(shared.mqtt.connected && other.mqtt.connected);
  assert.ok(isOpen(lone), 'those of crowded addresses go first');
  for (const socket of [lone, ...sockets]) socket.terminate();
});
