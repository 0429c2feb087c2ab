import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { claimRows } from '../../../control-plane/notifications/outbox-rows.ts';
import { startOutboxSender } from '../../../control-plane/notifications/outbox-sender.ts';
import { readConfig } from '../../../control-plane/core/config.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { httpReceiver, reachesTestServers } from '../../support/http-receiver.ts';
import {
  alertFacts,
  enqueue,
  makeChannel,
  notify,
  recordWhen,
  recoveryFacts,
} from '../../support/notifications.ts';
import { runsOnPostgres } from '../../support/postgres.ts';
import { StopAfter } from '../../support/interleaving.ts';
import { TestClock } from '../../support/test-clock.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

function start(settings: Record<string, string> = {}) {
  const clock = new TestClock(now);
  return startTestControlPlane({
    clock,
    settings: { ...reachesTestServers, ...settings },
    requestsPerMinute: 0,
  }).then((cp) => Object.assign(cp, { clock, services: cp.controlPlane.services }));
}

const webhook = (cp: TestControlPlane, url: string) =>
  makeChannel(cp, 'WEBHOOK', { name: 'w', url });

const outboxOf = (cp: TestControlPlane) =>
  cp.controlPlane.services.db.selectFrom('outbox').selectAll().orderBy('seq').execute();

test('a webhook is tried six times, 20 seconds apart, with the same id, and then has failed', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver((_request, index) =>
    index % 2 === 0 ? { status: 500 + index, body: 'oh' } : { instead: 'close' },
  );
  const channel = await webhook(cp, receiver.url);
  const id = await enqueue(cp.services, cp.accountId, channel, alertFacts());
  for (let made = 1; made <= 5; made += 1) {
    const record = await recordWhen(cp.services, id, ({ attempts }) => attempts === made);
    assert.equal(record.status, 'IN_PROGRESS');
    const [row] = await outboxOf(cp);
    assert.equal(row?.next_attempt_at, now + made * 20_000);
    cp.clock.advance(20_000);
  }
  const record = await recordWhen(cp.services, id, ({ status }) => status !== 'IN_PROGRESS');
  assert.deepEqual(
    [record.status, record.attempts, record.result],
    ['FAILURE', 6, 'the connection was closed before the answer'],
  );
  assert.deepEqual(
    receiver.received.map(({ headers }) => headers['webhook-id']),
    Array.from({ length: 6 }, () => id),
  );
  assert.deepEqual(await outboxOf(cp), []);
});

test('a receiver that recovers gets it once, and the record says how often it was tried', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver((_request, index) => ({
    status: index < 2 ? 503 : 204,
  }));
  const channel = await webhook(cp, receiver.url);
  const id = await enqueue(cp.services, cp.accountId, channel, alertFacts());
  for (const made of [1, 2]) {
    await recordWhen(cp.services, id, ({ attempts }) => attempts === made);
    cp.clock.advance(20_000);
  }
  const record = await recordWhen(cp.services, id, ({ status }) => status === 'SUCCESS');
  assert.deepEqual([record.attempts, record.result], [3, 'HTTP 204 No Content']);
  const listed = await cp.api('GET', '/v1/alert-notifications');
  assert.deepEqual(
    [listed.body[0].id, listed.body[0].status, listed.body[0].notificationResult],
    [id, 'SUCCESS', 'HTTP 204 No Content'],
  );
});

test('a service that asks for time gets it, and in the end it was rate limited', async () => {
  await using receiver = await httpReceiver(() => ({
    status: 429,
    headers: { 'retry-after': '90' },
  }));
  await using cp = await start({ PAGERDUTY_EVENTS_URL: receiver.url });
  const channel = await makeChannel(cp, 'PAGERDUTY', { serviceKey: 'key-of-the-service' });
  const id = await enqueue(cp.services, cp.accountId, channel, alertFacts());
  for (const [made, waits] of [
    [1, 90_000],
    [2, 90_000],
    [3, 90_000],
    [4, 180_000],
    [5, 300_000],
  ] as const) {
    await recordWhen(cp.services, id, ({ attempts }) => attempts === made);
    const [row] = await outboxOf(cp);
    assert.equal((row?.next_attempt_at ?? 0) - cp.clock.now(), waits);
    cp.clock.advance(waits);
  }
  const record = await recordWhen(cp.services, id, ({ status }) => status !== 'IN_PROGRESS');
  assert.deepEqual([record.status, record.attempts], ['RATE_LIMITED', 6]);
});

test('a recovery waits for its failure, and nothing else does', async () => {
  await using cp = await start();
  let isBroken = true;
  await using slow = await httpReceiver(({ body }) => ({
    status: isBroken && body.includes('"CHECK_NAME":"Checkout"') ? 500 : 200,
  }));
  await using good = await httpReceiver();
  const channel = await webhook(cp, slow.url);
  const other = await webhook(cp, good.url);
  const { check } = alertFacts();
  const another = { ...check, id: '00000000-0000-4000-8000-00000000000b', name: 'Search' };
  const first = await enqueue(cp.services, cp.accountId, channel, alertFacts());
  await recordWhen(cp.services, first, ({ attempts }) => attempts === 1);
  const second = await enqueue(cp.services, cp.accountId, channel, recoveryFacts());
  const third = await enqueue(cp.services, cp.accountId, channel, alertFacts({ check: another }));
  const fourth = await enqueue(cp.services, cp.accountId, other, recoveryFacts());
  for (const id of [third, fourth])
    await recordWhen(cp.services, id, ({ status }) => status === 'SUCCESS');
  const waiting = await recordWhen(cp.services, second, () => true);
  assert.deepEqual([waiting.status, waiting.attempts], ['IN_PROGRESS', 0]);
  isBroken = false;
  // The sender may still be about to wait, for a time that one step would have passed.
  for (const id of [first, second]) {
    await recordWhen(cp.services, id, ({ status }) => {
      cp.clock.advance(1_000);
      return status === 'SUCCESS';
    });
  }
  const order = slow.received.map(({ headers }) => headers['webhook-id']);
  assert.deepEqual(order, [first, third, first, second]);
});

test('a host that does not answer takes part of the places, and others are served', async () => {
  await using cp = await start();
  await using silent = await httpReceiver(() => ({ instead: 'silence' }));
  await using good = await httpReceiver();
  const { check } = alertFacts();
  const stuck = await Promise.all([1, 2, 3].map(() => webhook(cp, silent.url)));
  const fine = await webhook(cp, good.url);
  for (let index = 0; index < 80; index += 1) {
    const own = { ...check, id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` };
    await enqueue(cp.services, cp.accountId, stuck[index % 3] ?? 0, alertFacts({ check: own }));
  }
  const { status } = await notify(cp, fine);
  assert.equal(status, 'SUCCESS');
  assert.ok(silent.received.length <= 8, String(silent.received.length));
});

test('a row that makes no sense fails once', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const channel = await webhook(cp, receiver.url);
  for (const content of ['{not json', 'null', '{"kind":"alert"}', '{}', '[]', '"x"']) {
    const id = cp.services.newId();
    await cp.services.commits.run(async (unit) => {
      await unit
        .insertInto('alert_notifications')
        .values({
          id,
          account_id: cp.accountId,
          type: 'WEBHOOK',
          status: 'IN_PROGRESS',
          config_json: '{}',
          result: null,
          sent_at: now,
          check_type: 'URL',
          check_id: id,
          check_alert_id: null,
          alert_channel_id: channel,
          check_result_id: null,
        })
        .execute();
      await unit
        .insertInto('outbox')
        .values({
          id,
          account_id: cp.accountId,
          kind: 'CHANNEL',
          alert_channel_id: channel,
          ordering_key: 'k',
          content_json: content,
          attempts: 0,
          next_attempt_at: now,
          created_at: now,
        })
        .execute();
    });
    cp.services.outbox.wake();
    const record = await recordWhen(cp.services, id, ({ status }) => status !== 'IN_PROGRESS');
    assert.deepEqual([record.status, record.attempts], ['FAILURE', 1], content);
  }
  assert.equal(receiver.received.length, 0);
  assert.equal((await notify(cp, channel)).status, 'SUCCESS');
});

test('a channel that is deleted takes what it was to be sent with it', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver(() => ({ status: 500 }));
  const channel = await webhook(cp, receiver.url);
  const id = await enqueue(cp.services, cp.accountId, channel, alertFacts());
  await recordWhen(cp.services, id, ({ attempts }) => attempts === 1);
  assert.equal((await cp.api('DELETE', `/v1/alert-channels/${channel}`)).status, 204);
  assert.deepEqual(await outboxOf(cp), []);
  const record = await recordWhen(cp.services, id, ({ status }) => status === 'FAILURE');
  assert.match(record.result ?? '', /the channel was deleted/);
});

test('a retry uses the channel as it has become, and the record shows with what it was sent', async () => {
  await using cp = await start();
  await using broken = await httpReceiver(() => ({ status: 500 }));
  await using good = await httpReceiver();
  const channel = await webhook(cp, broken.url);
  const id = await enqueue(cp.services, cp.accountId, channel, alertFacts());
  await recordWhen(cp.services, id, ({ attempts }) => attempts === 1);
  await cp.api('PUT', `/v1/alert-channels/${channel}`, { config: { name: 'w', url: good.url } });
  cp.clock.advance(20_000);
  const record = await recordWhen(cp.services, id, ({ status }) => status === 'SUCCESS');
  assert.equal(
    (
      JSON.parse(cp.services.secrets.decryptStored(record.config_json, record.account_id)) as {
        url: string;
      }
    ).url,
    good.url,
  );
});

test('an outcome that cannot be written down leaves the row, which is sent again with the same id', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const channel = await webhook(cp, receiver.url);
  const failing = {
    ...cp.services,
    commits: { run: () => Promise.reject(new Error('the disk is gone')) } as never,
  };
  const config = readConfig(reachesTestServers);
  let id: string;
  {
    // In the place of the real one, which no longer hears of what is new.
    await using _broken = startOutboxSender({ services: failing, config });
    id = await enqueue(cp.services, cp.accountId, channel, alertFacts());
    await receiver.next();
    assert.equal((await outboxOf(cp)).length, 1);
  }
  await using _again = startOutboxSender({ services: cp.services, config });
  await recordWhen(cp.services, id, ({ status }) => status === 'SUCCESS');
  assert.deepEqual(
    receiver.received.map(({ headers }) => headers['webhook-id']),
    [id, id],
  );
});

test('a process that is killed between sending and writing down sends again after its start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'deliveries-'));
  try {
    const operator = new Operator(folder, {
      ...reachesTestServers,
      PUBLIC_URL: 'https://m.example',
    });
    const { rawKey: key } = await operator.json<{ rawKey: string }>(
      'keys',
      'create',
      '--name',
      'test',
    );
    await using serving = await operator.serve();
    await using receiver = await httpReceiver(async (_request, index) => {
      if (index === 0) await serving.kill9();
      return {};
    });
    const ask = async (url: string, path: string, body: unknown) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.ok(response.ok, await response.clone().text());
      return (await response.json()) as { id: number };
    };
    const { id } = await ask(serving.url, '/v1/alert-channels', {
      type: 'WEBHOOK',
      config: { name: 'w', url: receiver.url },
    });
    await assert.rejects(ask(serving.url, `/v1/alert-channels/${id}/test`, {}));
    await using _again = await operator.serve();
    const [first, second] = [await receiver.next(), await receiver.next()];
    assert.equal(first.headers['webhook-id'], second.headers['webhook-id']);
    assert.equal(first.body, second.body);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const ofOneSender = {
  skip:
    runsOnPostgres && 'the first sender of the process asks every second there, and would send too',
};

test(
  'stopping waits for what is on its way, and leaves what does not end for the next start',
  ofOneSender,
  async () => {
    await using cp = await start();
    await using silent = await httpReceiver(() => ({ instead: 'silence' }));
    const ends = Promise.withResolvers<void>();
    await using slow = await httpReceiver(() => ends.promise.then(() => ({})));
    const channels = [await webhook(cp, silent.url), await webhook(cp, slow.url)] as const;
    // In the place of the real ones, which no longer hear of what is new.
    const deliveries = startOutboxSender({
      services: cp.services,
      config: readConfig(reachesTestServers),
    });
    const stuck = await enqueue(cp.services, cp.accountId, channels[0], alertFacts());
    const fine = await enqueue(cp.services, cp.accountId, channels[1], alertFacts());
    await Promise.all([silent.next(), slow.next()]);
    const stopped = deliveries[Symbol.asyncDispose]();
    const late = await enqueue(cp.services, cp.accountId, channels[1], recoveryFacts());
    ends.resolve();
    await recordWhen(cp.services, fine, ({ status }) => status === 'SUCCESS');
    cp.clock.advance(5_000);
    await stopped;
    const left = await outboxOf(cp);
    assert.deepEqual(
      left.map(({ id, attempts }) => [id, attempts]),
      [
        [stuck, 0],
        [late, 0],
      ],
    );
  },
);

test('an account whose receivers never answer holds up no other account', async () => {
  await using cp = await start();
  await using stack = new AsyncDisposableStack();
  for (let index = 0; index < 10; index += 1) {
    const silent = stack.use(await httpReceiver(() => ({ instead: 'silence' })));
    const channel = await webhook(cp, silent.url);
    for (let count = 0; count < 6; count += 1) {
      const { check } = alertFacts();
      const facts = alertFacts({ check: { ...check, id: randomUUID() } });
      await enqueue(cp.services, cp.accountId, channel, facts);
    }
  }
  await using receiver = await httpReceiver();
  const authorization = `Bearer ${await cp.foreignKey()}`;
  const body = { type: 'WEBHOOK', config: { name: 'w', url: receiver.url } };
  const { body: channel } = await cp.api('POST', '/v1/alert-channels', body, { authorization });
  const { account_id: other } = await cp.services.db
    .selectFrom('alert_channels')
    .select('account_id')
    .where('id', '=', channel.id)
    .executeTakeFirstOrThrow();
  const id = await enqueue(cp.services, other, channel.id, alertFacts());
  await recordWhen(cp.services, id, ({ status }) => status === 'SUCCESS');
  const left = await outboxOf(cp);
  assert.deepEqual(
    left.map(({ attempts }) => attempts),
    new Array<number>(60).fill(0),
    'before the first of the silent ones is given up',
  );
});

test(
  'a claim whose answer comes after it may have ended is not used',
  { skip: !runsOnPostgres && 'there are no claims: one process sends' },
  async () => {
    await using cp = await start();
    await using receiver = await httpReceiver();
    const channel = await webhook(cp, receiver.url);
    const { services } = cp;
    const own = new TestClock(now);
    const stop = new StopAfter(1, ({ kind }) => kind === 'UpdateQueryNode');
    const claiming = { ...services, clock: own, db: services.db.withPlugin(stop) };
    {
      // In the place of the real one, which no longer hears of what is new.
      await using _frozen = startOutboxSender({
        services: claiming,
        config: readConfig(reachesTestServers),
      });
      await enqueue(services, cp.accountId, channel, alertFacts());
      await stop.reached;
      // Another replica finds the claim ended, and sends.
      const at = now + 120_000;
      const claimed = await claimRows(services.db, await outboxOf(cp), {
        replicaId: 'another',
        ...{ now: at, until: at + 60_000 },
      });
      assert.equal(claimed.length, 1);
      own.freeze(120_000);
      stop.release();
    }
    assert.equal(receiver.received.length, 0);
  },
);
