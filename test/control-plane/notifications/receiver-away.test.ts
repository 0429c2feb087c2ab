// PostgreSQL in the long tier: outbox-sender.test.ts and ingest-races.test.ts run its statements on both.
/** The other side is away for an hour, as a mail server is that is replaced. The clock moves by itself. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import test from 'node:test';
import { channels } from '../../../control-plane/notifications/channels/index.ts';
import { maxPauseMs } from '../../../control-plane/notifications/attempt.ts';
import { pausesOfMail } from '../../../control-plane/notifications/mailer.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../../support/http-receiver.ts';
import { mailServer } from '../../support/mail-server.ts';
import {
  alertFacts,
  enqueue,
  makeChannel,
  notify,
  recordWhen,
} from '../../support/notifications.ts';
import { TestClock } from '../../support/test-clock.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const hour = 3_600_000;

const checkNumber = (index: number) => ({
  ...alertFacts().check,
  id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
});

/** Resets every connection until it is told where to lead, and counts how many are open. */
async function door(): Promise<
  AsyncDisposable & { port: number; leadTo(port: number): void; mostOpen(): number }
> {
  let target: number | null = null;
  let open = 0;
  let mostOpen = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    client.on('error', () => undefined);
    if (target === null) {
      client.resetAndDestroy();
      return;
    }
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    const behind = connect(target, '127.0.0.1');
    behind.on('error', () => client.destroy());
    for (const socket of [client, behind]) sockets.add(socket);
    client.once('close', () => {
      open -= 1;
      behind.destroy();
    });
    client.pipe(behind).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    leadTo(port) {
      target = port;
    },
    mostOpen: () => mostOpen,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a mail server that is away for an hour gets everything once, in order, a few at a time', async () => {
  const clock = new TestClock(now);
  await using mail = await mailServer();
  await using way = await door();
  const { port } = new URL(mail.url);
  await using cp = await startTestControlPlane({
    clock,
    settings: { ...reachesTestServers, SMTP_URL: mail.url.replace(port, String(way.port)) },
    requestsPerMinute: 0,
  });
  const { services } = cp.controlPlane;
  await using receiver = await httpReceiver();
  const webhook = await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  const mails = await Promise.all(
    [1, 2, 3, 4].map((index) => makeChannel(cp, 'EMAIL', { address: `ops${index}@team.example` })),
  );
  const heads: string[] = [];
  const followers: string[] = [];
  for (const [index, channel] of mails.entries()) {
    const facts = alertFacts({ check: checkNumber(index) });
    heads.push(await enqueue(services, cp.accountId, channel, facts));
    followers.push(await enqueue(services, cp.accountId, channel, facts));
  }
  let awayMs = 0;
  for (const [index, pause] of pausesOfMail.entries()) {
    for (const id of heads)
      await recordWhen(services, id, ({ attempts }) => attempts === index + 1);
    // What goes elsewhere does not wait.
    assert.equal((await notify(cp, webhook)).status, 'SUCCESS');
    const untilBackMs = Math.max(0, Math.min(pause, hour - awayMs));
    clock.advance(untilBackMs);
    awayMs += untilBackMs;
    if (awayMs === hour) way.leadTo(Number(port));
    clock.advance(pause - untilBackMs);
  }
  for (const id of [...heads, ...followers]) {
    await recordWhen(services, id, ({ status }) => status === 'SUCCESS');
  }
  assert.equal(awayMs, hour);
  assert.ok(way.mostOpen() <= 4, String(way.mostOpen()));
  const arrived = mails.map((_channel, index) =>
    mail.received
      .filter(({ to }) => to.includes(`ops${index + 1}@team.example`))
      .map(({ headers }) => /^<([^@]+)@/.exec(headers.get('message-id') ?? '')?.[1]),
  );
  assert.deepEqual(
    arrived,
    heads.map((id, index) => [id, followers[index]]),
  );
});

test('a receiver that is away for an hour costs its own notifications, each with a reason', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({
    clock,
    settings: reachesTestServers,
    requestsPerMinute: 0,
  });
  const { services } = cp.controlPlane;
  await using way = await door();
  await using receiver = await httpReceiver();
  const channel = await makeChannel(cp, 'WEBHOOK', {
    name: 'w',
    url: `http://127.0.0.1:${way.port}/`,
  });
  const ids: string[] = [];
  for (let index = 0; index < 12; index += 1) {
    const facts = alertFacts({ check: checkNumber(index) });
    ids.push(await enqueue(services, cp.accountId, channel, facts));
  }
  type RecordTest = Parameters<typeof recordWhen>[2];
  // What became due before its timer was set, or waits for the next look, needs the clock to move.
  const recordInTime = (id: string, test: RecordTest) =>
    recordWhen(services, id, (record) => {
      clock.advance(1);
      return test(record);
    });
  for (let made = 1; made <= 6; made += 1) {
    for (const id of ids) await recordInTime(id, ({ attempts }) => attempts === made);
    if (made < 6) clock.advance(20_000);
  }
  for (const id of ids) {
    const { status, result } = await recordWhen(services, id, () => true);
    assert.equal(status, 'FAILURE');
    assert.match(String(result), /connection was (reset|closed)/);
  }
  clock.advance(hour);
  way.leadTo(Number(new URL(receiver.url).port));
  const later = await Promise.all(
    ids.map((_id, index) =>
      enqueue(services, cp.accountId, channel, alertFacts({ check: checkNumber(index) })),
    ),
  );
  for (const id of later) await recordInTime(id, ({ status }) => status === 'SUCCESS');
  assert.equal(receiver.received.length, later.length);
  assert.ok(way.mostOpen() <= 8, String(way.mostOpen()));
});

test('what was written while the clock was ahead is sent once it is right again', async () => {
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({
    clock,
    settings: reachesTestServers,
    requestsPerMinute: 0,
  });
  const { services } = cp.controlPlane;
  await using receiver = await httpReceiver((_request, index) => ({
    status: index === 0 ? 503 : 200,
  }));
  const channel = await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  clock.setWall(now + 300 * hour);
  const tried = await enqueue(services, cp.accountId, channel, alertFacts());
  await recordWhen(services, tried, ({ attempts }) => attempts === 1);
  services.outbox.onWake(() => {});
  const never = randomUUID();
  const other = alertFacts({ check: checkNumber(2) });
  await enqueue(services, cp.accountId, channel, other, never);
  clock.setWall(now);
  clock.advance(30_000);
  for (const id of [tried, never]) {
    await recordWhen(services, id, ({ status }) => status === 'SUCCESS');
  }
  assert.equal(receiver.received.length, 3);
});

test('no channel pauses for longer than what counts as a clock that was ahead', () => {
  for (const [type, { pausesMs }] of Object.entries(channels)) {
    assert.ok(Math.max(...pausesMs) <= maxPauseMs, type);
  }
});
