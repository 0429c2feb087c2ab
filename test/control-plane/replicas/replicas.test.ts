// PostgreSQL only: it starts replicas.
// Two control planes on one PostgreSQL, and single replicas of one.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { pino } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Services } from '../../../control-plane/core/services.ts';
import { LeaseLost } from '../../../control-plane/core/timers.ts';
import { openPostgres } from '../../../control-plane/db/postgres.ts';
import { inTransaction } from '../../../control-plane/db/unit.ts';
import { sweepHeartbeats } from '../../../control-plane/heartbeats/heartbeats.ts';
import {
  claimRows,
  recordOutcome,
  recordRetry,
} from '../../../control-plane/notifications/outbox-rows.ts';
import { enqueueForChannel } from '../../../control-plane/notifications/outbox.ts';
import { noteAliveAndWritten } from '../../../control-plane/reception/index.ts';
import { Replicas } from '../../../control-plane/replicas/replicas.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../../support/http-receiver.ts';
import { alertFacts, enqueue, makeChannel, recoveryFacts } from '../../support/notifications.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { samplesOf } from '../../support/probe-text.ts';
import { eventually } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const second = 1_000;
const minute = 60 * second;
/** From a ping of a heartbeat to its failure: a period of two minutes and one of grace. */
const failsAfterMs = 3 * minute;
const logger = pino({ level: 'silent' });

function startReplica(databaseUrl: string, clock?: Clock): Promise<TestControlPlane> {
  return startTestControlPlane({
    databaseUrl,
    ...(clock === undefined ? {} : { clock }),
    settings: {
      ...reachesTestServers,
      ENCRYPTION_KEY: 'a key that all replicas have, as they must',
      PUBLIC_URL: 'https://m.example',
      METRICS_PORT: '0',
    },
    requestsPerMinute: 0,
  });
}

/** Both with clocks that stand at the same moment. */
async function twoReplicas() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  const clocks = [new TestClock(start), new TestClock(start)] as const;
  const one = stack.use(await startReplica(database.url, clocks[0]));
  const other = stack.use(await startReplica(database.url, clocks[1]));
  const all = [one, other].map(({ controlPlane }) => controlPlane.services);
  const meet = async () => {
    for (const { replicas } of [...all, ...all]) await replicas.beat();
  };
  await meet();
  const opened = stack.move();
  return {
    ...{ one, other, clocks, database, meet },
    services: all as [Services, Services],
    /** In steps of two seconds, with a sign of life of each. */
    async pass(ms: number, which: readonly TestClock[] = clocks) {
      for (let passed = 0; passed < ms; passed += 2 * second) {
        for (const clock of which) clock.advance(2 * second);
        for (const [index, { replicas }] of all.entries()) {
          const clock = clocks[index];
          if (clock !== undefined && which.includes(clock)) await replicas.beat();
        }
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function makeHeartbeat(cp: TestControlPlane, name = 'nightly') {
  const { body } = await cp.api('POST', '/v1/checks/heartbeat', {
    name,
    heartbeat: { period: 2, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
  });
  const { id, heartbeat } = body as { id: string; heartbeat: { pingUrl: string } };
  const path = new URL(heartbeat.pingUrl).pathname;
  return { id, ping: (at: TestControlPlane) => fetch(at.url + path) };
}

const failuresOf = ({ db }: Services) =>
  db.selectFrom('heartbeat_events').select('check_id').where('state', '=', 'FAILING').execute();

const gapsOf = ({ db }: Services) =>
  db.selectFrom('reception_gaps').select(['cause', 'lost_ms']).execute();

test('a notification is one request, whichever replica enqueues it, and in order', async () => {
  await using replicas = await twoReplicas();
  await using receiver = await httpReceiver();
  const { one, services } = replicas;
  const channel = await makeChannel(one, 'WEBHOOK', { name: 'w', url: receiver.url });
  const { check } = alertFacts();
  const pairs: [failure: string, recovery: string][] = [];
  await Promise.all(
    Array.from({ length: 30 }, async (_none, index) => {
      const own = { ...check, id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` };
      const at = services[index % 2 === 0 ? 0 : 1];
      pairs.push([
        await enqueue(at, one.accountId, channel, alertFacts({ check: own })),
        await enqueue(at, one.accountId, channel, recoveryFacts({ check: own })),
      ]);
    }),
  );
  const left = () => services[0].db.selectFrom('outbox').selectAll().execute();
  await eventually(
    async () => {
      for (const clock of replicas.clocks) clock.advance(second);
      return (await left()).length === 0;
    },
    () => 'the outbox is not empty',
  );
  const ids = receiver.received.map(({ headers }) => String(headers['webhook-id']));
  assert.deepEqual(ids.toSorted(), pairs.flat().toSorted());
  for (const [failure, recovery] of pairs) {
    assert.ok(ids.indexOf(failure) < ids.indexOf(recovery), 'a recovery overtook its failure');
  }
});

test('claims of a replica that died are taken over, and what it writes later is left out', async () => {
  await using replicas = await twoReplicas();
  await using receiver = await httpReceiver();
  const { one, services, clocks } = replicas;
  const [{ db, newId }] = services;
  const channel = await makeChannel(one, 'WEBHOOK', { name: 'w', url: receiver.url });
  const now = clocks[0].now();
  const id = newId();
  // In one transaction: nobody else sees the row before it is claimed.
  const claimed = await inTransaction(db, async (unit) => {
    const envelope = { id, accountId: one.accountId, now };
    await enqueueForChannel(unit, channel, alertFacts(), envelope);
    const rows = await unit.selectFrom('outbox').selectAll().execute();
    return claimRows(unit, rows, { replicaId: 'dead', now, until: now + 40 * second });
  });
  const [row] = claimed;
  assert.ok(row !== undefined);
  await replicas.pass(38 * second);
  assert.equal(receiver.received.length, 0);
  await replicas.pass(4 * second);
  assert.equal((await receiver.next()).headers['webhook-id'], id);
  const outcome = { status: 'SUCCESS', result: 'late', attempts: 1, configJson: null } as const;
  assert.equal(await inTransaction(db, (unit) => recordOutcome(unit, row, outcome)), false);
  const retry = { attempts: 1, nextAttemptAt: now, result: 'late' };
  assert.equal(await inTransaction(db, (unit) => recordRetry(unit, row, retry)), false);
});

test('a row that is added while its head is deleted comes next', async () => {
  await using replicas = await twoReplicas();
  await using receiver = await httpReceiver(() => ({ instead: 'silence' }));
  const { one, services } = replicas;
  const [{ db, newId }] = services;
  const channel = await makeChannel(one, 'WEBHOOK', { name: 'w', url: receiver.url });
  const enqueueOne = (at: Services) =>
    inTransaction(at.db, async (unit) => {
      const id = newId();
      // In the future: no sender takes part.
      const envelope = { id, accountId: one.accountId, now: start + minute };
      await enqueueForChannel(unit, channel, alertFacts(), envelope);
      return id;
    });
  const headId = await enqueueOne(services[0]);
  const head = await db
    .selectFrom('outbox')
    .selectAll()
    .where('id', '=', headId)
    .executeTakeFirstOrThrow();
  const isDeleted = Promise.withResolvers<void>();
  const mayCommit = Promise.withResolvers<void>();
  const deleting = inTransaction(db, async (unit) => {
    const outcome = { status: 'SUCCESS', result: '', attempts: 1, configJson: null } as const;
    assert.equal(await recordOutcome(unit, head, outcome), true);
    isDeleted.resolve();
    await mayCommit.promise;
  });
  await isDeleted.promise;
  const adding = enqueueOne(services[1]);
  const waits = () =>
    db
      .selectFrom('pg_locks' as never)
      .selectAll()
      .where('locktype' as never, '=', 'advisory' as never)
      .where('granted' as never, '=', false as never)
      .execute();
  await eventually(
    async () => (await waits()).length === 1,
    () => 'the new row does not wait for the lock of its key',
  );
  mayCommit.resolve();
  await deleting;
  const id = await adding;
  const rows = await db.selectFrom('outbox').select(['id', 'comes_next']).execute();
  assert.deepEqual(rows, [{ id, comes_next: 1 }]);
});

test('a test of a channel is answered with its outcome by the replica that was asked', async () => {
  await using replicas = await twoReplicas();
  await using receiver = await httpReceiver();
  const { one, other } = replicas;
  const channel = await makeChannel(one, 'WEBHOOK', { name: 'w', url: receiver.url });
  for (const asked of [one, other, one, other]) {
    const { body } = await asked.api('POST', `/v1/alert-channels/${channel}/test`, {});
    assert.deepEqual(
      [body.status, receiver.received.at(-1)?.headers['webhook-id']],
      ['SUCCESS', body.id],
    );
  }
  assert.equal(receiver.received.length, 4);
});

test('a replica sends what another one put into the outbox for it, while its own clock stands still', async () => {
  await using replicas = await twoReplicas();
  await using receiver = await httpReceiver();
  const { one, other } = replicas;
  const [asked, sending] = replicas.services;
  const channel = await makeChannel(one, 'WEBHOOK', { name: 'w', url: receiver.url });
  const envelope = { id: randomUUID(), accountId: one.accountId, now: start };
  await inTransaction(asked.db, (unit) =>
    enqueueForChannel(unit, channel, alertFacts(), {
      ...envelope,
      forReplica: sending.replicas.id,
    }),
  );
  asked.outbox.wake();
  await eventually(
    () => {
      // Only the clock of the replica that sends the message of the bus.
      replicas.clocks[0].advance(20);
      return receiver.received.length > 0;
    },
    () => 'the other replica did not look into the outbox',
  );
  assert.equal(receiver.received[0]?.headers['webhook-id'], envelope.id);
  assert.equal(other.controlPlane.services.clock.now(), start);
});

test('a status page that was changed at one replica is read again by the other', async () => {
  await using replicas = await twoReplicas();
  const { one, other, clocks } = replicas;
  const page = { name: 'Before', url: 'shop', cards: [] };
  const made = await one.api('POST', '/v1/status-pages', page);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const title = async (cp: TestControlPlane): Promise<string | undefined> => {
    const answer = await fetch(`${cp.url}/status/shop`);
    return /<title>.* – (.*)<\/title>/.exec(await answer.text())?.[1];
  };
  assert.deepEqual([await title(one), await title(other)], ['Before', 'Before']);
  const id = String((made.body as { id: unknown }).id);
  const changed = await one.api('PUT', `/v1/status-pages/${id}`, { ...page, name: 'After' });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.equal(await title(one), 'After');
  assert.equal(await title(other), 'Before', 'its clock stands still');
  clocks[0].advance(20);
  await eventually(
    async () => (await title(other)) === 'After',
    () => 'the other replica shows what it read before',
  );
});

test('30 missed pings are 30 failures, and pings that arrive at both replicas are two', async () => {
  await using replicas = await twoReplicas();
  const { one, other, services } = replicas;
  const heartbeats = await Promise.all(
    Array.from({ length: 30 }, (_none, index) => makeHeartbeat(one, `h-${index}`)),
  );
  for (const { ping } of heartbeats) {
    const answers = await Promise.all([ping(one), ping(other)]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
  }
  // Whether the other one could take a ping until the deadline is known a moment later.
  await replicas.pass(failsAfterMs + 2 * second);
  await Promise.all(services.map(sweepHeartbeats));
  assert.deepEqual(await failuresOf(services[0]), []);
  await replicas.pass(8 * second);
  await eventually(
    async () => {
      await Promise.all(services.map(sweepHeartbeats));
      return (await failuresOf(services[0])).length >= 30;
    },
    () => 'not every missed ping is a failure',
  );
  await Promise.all(services.map(sweepHeartbeats));
  const failed = (await failuresOf(services[0])).map((event) => event.check_id);
  assert.deepEqual(failed.toSorted(), heartbeats.map(({ id }) => id).toSorted());
});

test('a replica that starts beside another one moves no deadline and waits for nothing', async () => {
  await using database = await createTestDatabase();
  const clock = new TestClock(start);
  await using one = await startReplica(database.url, clock);
  const { ping } = await makeHeartbeat(one);
  await ping(one);
  const { services } = one.controlPlane;
  const deadline = () => services.db.selectFrom('heartbeats').select('fails_at').execute();
  const before = await deadline();
  assert.equal(services.replicas.isColdStart, true);
  assert.equal(services.reception.isGracePeriodOver(), false, 'nobody was there before');
  clock.advance(90 * second);
  // The first of them began while the clock was moved.
  for (const { replicas } of [services, services]) await replicas.beat();
  {
    await using other = await startReplica(database.url, clock);
    const { replicas, reception } = other.controlPlane.services;
    assert.deepEqual([replicas.isColdStart, reception.isGracePeriodOver()], [false, true]);
    await services.replicas.beat();
    assert.deepEqual([replicas.aliveCount(), services.replicas.aliveCount()], [2, 2]);
  }
  await services.replicas.beat();
  assert.equal(services.replicas.aliveCount(), 1, 'the other one ended');
  assert.deepEqual(await deadline(), before);
  assert.deepEqual(await gapsOf(services), []);
});

test('the time without any replica is recorded once, by the first that starts', async () => {
  await using database = await createTestDatabase();
  const clock = new TestClock(start);
  {
    await using one = await startReplica(database.url, clock);
    const { ping } = await makeHeartbeat(one);
    await ping(one);
  }
  clock.advance(40 * second);
  await using first = await startReplica(database.url, clock);
  await using later = await startReplica(database.url, clock);
  const { services } = first.controlPlane;
  assert.deepEqual(await gapsOf(services), [{ cause: 'down', lost_ms: 40 * second }]);
  const [row] = await services.db.selectFrom('heartbeats').select('fails_at').execute();
  assert.equal(row?.fails_at, start + failsAfterMs + 40 * second);
  for (const { controlPlane } of [first, later]) {
    assert.equal(controlPlane.services.reception.isGracePeriodOver(), false);
    assert.equal(controlPlane.services.reception.since(start), 0);
  }
});

test('a replica that stood still beside another one moves no deadline; both do so once', async () => {
  await using replicas = await twoReplicas();
  const { one, services, clocks } = replicas;
  const { ping } = await makeHeartbeat(one);
  await ping(one);
  const deadline = () => services[0].db.selectFrom('heartbeats').select('fails_at').execute();
  const before = await deadline();
  await replicas.pass(40 * second, [clocks[1]]);
  clocks[0].freeze(40 * second);
  assert.equal(services[0].reception.hasReadAll(), false);
  await services[0].reception.recorded();
  await replicas.pass(4 * second);
  assert.equal(services[0].reception.hasReadAll(), true);
  assert.deepEqual(await gapsOf(services[0]), []);
  assert.deepEqual(await deadline(), before);

  for (const clock of clocks) clock.freeze(40 * second);
  await Promise.all(services.map(({ reception }) => reception.recorded()));
  const [gap, ...more] = await gapsOf(services[0]);
  assert.deepEqual([gap?.cause, more], ['stopped', []]);
  assert.ok(Math.abs((gap?.lost_ms ?? 0) - 40 * second) < 2 * second, String(gap?.lost_ms));
  await replicas.meet();
  for (const { reception } of services) assert.equal(reception.since(start) < 50 * second, true);
});

test('a ping that a silent replica may have lost is not missed', async () => {
  await using replicas = await twoReplicas();
  const { one, services, clocks } = replicas;
  const [early, late] = [await makeHeartbeat(one), await makeHeartbeat(one, 'later')];
  await early.ping(one);
  await replicas.pass(minute);
  await late.ping(one);
  await replicas.pass(minute - 6 * second);
  // The first one stands still beyond one deadline, and is back before the other.
  await replicas.pass(72 * second, [clocks[1]]);
  await sweepHeartbeats(services[1]);
  assert.deepEqual(await failuresOf(services[1]), []);
  clocks[0].advance(72 * second);
  await replicas.pass(minute + 2 * second);
  await sweepHeartbeats(services[1]);
  assert.deepEqual(await failuresOf(services[1]), []);
  await replicas.pass(failsAfterMs + 6 * second);
  await sweepHeartbeats(services[1]);
  assert.equal((await failuresOf(services[1])).length, 2, 'jobs that are dead are found');
});

test('a gap that both replicas noticed is recorded once; a database away from one of them is none', async () => {
  await using replicas = await twoReplicas();
  const { services } = replicas;
  const [one] = services;
  const away = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
  one.writes.noteFailure(away);
  await replicas.pass(20 * second);
  one.writes.noteRoom();
  await noteAliveAndWritten(one);
  assert.equal(one.writes.problem, null);
  await one.reception.recorded();
  assert.deepEqual(await gapsOf(one), []);

  const to = one.clock.now();
  for (const [index, { reception }] of services.entries()) {
    // The monotonic clock has fractions.
    const lostMs = 20_000.25 + index * 300;
    reception.note([{ cause: 'disk-full', from: to - lostMs, to, lostMs, stepMs: 0 }]);
  }
  await Promise.all(services.map(({ reception }) => reception.recorded()));
  await replicas.meet();
  const gaps = await gapsOf(one);
  assert.deepEqual(
    gaps.map(({ cause }) => cause),
    ['disk-full'],
  );
  for (const { reception } of services) assert.ok(reception.since(to - 20 * second) < second);
});

function startSingle(db: Services['db'], clock: Clock): Replicas {
  return new Replicas({
    ...{ db, clock, logger, version: 'test', url: 'http://127.0.0.1:1', id: randomUUID() },
  });
}

const nobody = {
  noticePause: () => {},
  minAbsenceMs: 2 * second,
  aliveBefore: () => Promise.resolve(null),
  onAbsence: () => Promise.resolve(),
  onBeat: () => Promise.resolve(),
};

test('a lease has one holder; another replica takes it over when that one ends, dies or stands still', async () => {
  await using database = await createTestDatabase();
  await using db = openPostgres({
    url: database.url,
    connections: 4,
    isPrepared: true,
    applicationName: 'monitor/test',
  });
  const clocks = [1, 2, 3].map(() => new TestClock(start));
  const [one, two, three] = clocks.map((clock) => startSingle(db, clock));
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const names = ['prune', 'sample'];
  const holders = () => [one, two, three].map((each) => names.map((name) => each.holds(name)));
  for (const each of [one, two, three]) {
    await each.start(nobody);
    await each.want(names);
  }
  assert.deepEqual(holders(), [
    [true, true],
    [false, false],
    [false, false],
  ]);
  await inTransaction(db, (unit) => one.keep(unit, 'prune'));
  await one[Symbol.asyncDispose]();
  await two.beat();
  assert.deepEqual([two.holds('prune'), two.holds('sample')], [true, true]);

  // The second one stands still, in the middle of an operation.
  for (const clock of [clocks[0], clocks[2]]) clock?.advance(9 * second);
  await three.beat();
  assert.equal(three.holds('prune'), false);
  for (const clock of [clocks[0], clocks[2]]) clock?.advance(2 * second);
  await three.beat();
  assert.equal(three.holds('prune'), true);
  clocks[1]?.freeze(11 * second);
  assert.equal(two.holds('prune'), false);
  await assert.rejects(
    inTransaction(db, (unit) => two.keep(unit, 'prune')),
    LeaseLost,
  );
  await two.beat();
  assert.equal(two.holds('prune'), false);

  // The holder of the lease holds up nobody, and nobody takes it meanwhile.
  await inTransaction(db, async (unit) => {
    await three.keep(unit, 'prune');
    clocks[1]?.advance(20 * second);
    // The first of them began while the clock was moved.
    for (const each of [two, two]) await each.beat();
    assert.deepEqual([two.holds('prune'), two.holds('sample')], [false, true]);
  });
  for (const each of [two, three]) await each[Symbol.asyncDispose]();
});

test('limits are shared by the replicas that are alive', async () => {
  await using replicas = await twoReplicas();
  const [first] = replicas.services;
  assert.deepEqual(
    [32, 8, 1].map((limit) => first.replicas.share(limit)),
    [16, 4, 1],
  );
  assert.equal(first.replicas.shareOfLimit(), 1 / 2);
  await replicas.pass(12 * second, [replicas.clocks[0]]);
  assert.deepEqual([first.replicas.share(32), first.replicas.shareOfLimit()], [32, 1]);
});

test('metrics about the stored state are exported once, those of the process by each replica', async () => {
  await using replicas = await twoReplicas();
  const scraped = await Promise.all(
    [replicas.one, replicas.other].map(async ({ controlPlane }) => {
      const response = await fetch(`http://127.0.0.1:${controlPlane.metricsPort}/metrics`);
      return [...samplesOf(await response.text()).keys()];
    }),
  );
  const withPrefix = (prefix: string) =>
    scraped.map((names) => names.filter((name) => name.startsWith(prefix)).length);
  assert.deepEqual(withPrefix('monitor_control_plane_deliveries_pending').toSorted(), [0, 1]);
  assert.deepEqual(withPrefix('monitor_control_plane_commit_failures_total{replica='), [1, 1]);
});
