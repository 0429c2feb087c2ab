// SQLite only: it fills the file of a database.
/** A disk that is full, as the database reports it: it may have no more pages. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../control-plane/core/config.ts';
import { startOutboxSender } from '../../control-plane/notifications/outbox-sender.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../support/http-receiver.ts';
import { withLeases } from '../support/leased-runs.ts';
import { enqueue, alertFacts, makeChannel, recordWhen } from '../support/notifications.ts';
import { Bench, minute, now } from '../support/results.ts';
import { TestClock } from '../support/test-clock.ts';

async function openBench() {
  const lines: { msg: string }[] = [];
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({
    clock,
    logger,
    settings: reachesTestServers,
    requestsPerMinute: 0,
  });
  const { db } = cp.controlPlane.services;
  const execute = (text: string) => {
    const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] };
    return db.executeQuery({
      sql: text,
      parameters: [],
      query,
      queryId: { queryId: text },
    } as never);
  };
  const said = (pattern: RegExp) => lines.filter(({ msg }) => pattern.test(msg)).length;
  return {
    bench: new Bench(clock, cp),
    cp,
    clock,
    said,
    fill: async () => {
      // Pages that are free inside of the file are no room either.
      await execute('create table ballast (content blob)');
      await execute('pragma max_page_count = 1');
      for (const bytes of [50_000, 500, 50]) {
        const add = () => execute(`insert into ballast values (zeroblob(${bytes}))`);
        while (
          await add().then(
            () => true,
            () => false,
          )
        );
      }
    },
    free: () => execute('pragma max_page_count = 1000000'),
    [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose](),
  };
}

const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

test('a full disk refuses results with 503, loses none that it took, and lets people read', async () => {
  await using world = await openBench();
  const { bench, cp, clock, said } = world;
  const checkId = await bench.check('url');
  const results = Array.from({ length: 40 }, (_, index) =>
    bench.result(checkId, 'URL', now - (40 - index) * minute),
  );
  const key = await cp.locationKey('eu-west-1');
  const items = await withLeases(cp.controlPlane.services, cp.accountId, results);
  const submit = (some: unknown[]) =>
    cp.api(
      'POST',
      '/v1/agent/results',
      { agentId: cp.accountId, items: some },
      {
        authorization: `Bearer ${key}`,
      },
    );
  const taken = await submit(items.slice(0, 5));
  assert.equal(taken.status, 200);
  await world.fill();

  for (let round = 0; round < 20; round += 1) {
    const refused = await submit(items.slice(5));
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '15');
    assert.match(String(refused.body.message), /the disk of the control plane is full/);
  }
  assert.equal(said(/the disk is full/), 1);
  assert.equal(said(/failed/), 0);
  const stored = async () => {
    const page = await cp.api('GET', `/v1/check-results/${checkId}?limit=100`);
    assert.equal(page.status, 200);
    return (page.body as unknown[]).length;
  };
  assert.equal(await stored(), 5);
  for (const path of ['/-/readiness', '/health']) {
    const probe = await fetch(cp.url + path);
    assert.equal(probe.status, 200);
    assert.match(await probe.text(), /disk of the control plane is full/);
  }

  await world.free();
  assert.equal((await submit(items.slice(5))).status, 200);
  assert.equal(await stored(), 40);
  // At once, not after a time in which nothing failed.
  clock.advance(1_000);
  for (let turn = 0; said(/takes writes again/) === 0 && turn < 2_000; turn += 1) await settle();
  assert.equal(said(/takes writes again/), 1);
  assert.equal(await (await fetch(`${cp.url}/health`)).text(), '{"status":"ok"}');
});

test('what was delivered while the disk is full is not sent again, and recorded once it can be', async () => {
  await using world = await openBench();
  const { cp, clock } = world;
  const { services } = cp.controlPlane;
  await using receiver = await httpReceiver();
  const channel = await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  let isFull = true;
  let refusals = 0;
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  const commits = {
    run: (work: Parameters<typeof services.commits.run>[0]) => {
      if (!isFull) return services.commits.run(work);
      refusals += 1;
      return Promise.reject(full);
    },
  } as never;
  await using _deliveries = startOutboxSender({
    services: { ...services, commits },
    config: readConfig(reachesTestServers),
  });
  const id = await enqueue(services, cp.accountId, channel, alertFacts());
  for (let round = 1; round <= 3; round += 1) {
    while (refusals < round) await settle();
    clock.advance(5_000);
  }
  isFull = false;
  clock.advance(5_000);
  const record = await recordWhen(services, id, ({ status }) => status !== 'IN_PROGRESS');
  assert.deepEqual([record.status, record.attempts], ['SUCCESS', 1]);
  assert.equal(receiver.received.length, 1);
});
