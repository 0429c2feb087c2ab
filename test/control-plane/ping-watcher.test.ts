/** Two installations: one pings a heartbeat monitor of the other while it can write. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from 'kysely';
import pino from 'pino';
import { eventually, temporaryFolder } from '../../proof/system.ts';
import { passTime, startTestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

test('a heartbeat of another installation is pinged while the database takes writes, and only then', async () => {
  using folder = temporaryFolder();
  const watching = await startTestControlPlane();
  await using stack = new AsyncDisposableStack();
  const heartbeat = { period: 1, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' };
  const made = await watching.api('POST', '/v1/checks/heartbeat', { name: 'main', heartbeat });
  const { id, heartbeat: wire } = made.body as { id: string; heartbeat: { pingUrl: string } };
  const pings = async (): Promise<number> => {
    const { body } = await watching.api('GET', `/v1/checks/heartbeats/${id}/events`);
    return (body as { events: unknown[] }[]).flatMap(({ events }) => events).length;
  };
  const clock = new TestClock(Date.now());
  const lines: string[] = [];
  const watched = stack.use(
    await startTestControlPlane({
      ...{ clock, file: join(folder.path, 'watched.db') },
      settings: { HEARTBEAT_URL: wire.pingUrl },
      logger: pino({ level: 'warn' }, { write: (line) => lines.push(line) }),
    }),
  );
  const { db } = watched.controlPlane.services;
  const failed = async (): Promise<number> => {
    const metric = await watched.controlPlane.services.metrics.timerFailures.get();
    const ofPings = metric.values.find(({ labels }) => labels['operation'] === 'ping-watcher');
    return ofPings?.value ?? 0;
  };

  await passTime(clock, 61_000);
  await eventually(
    async () => (await pings()) === 1,
    () => 'it was pinged',
  );

  await sql`pragma query_only = on`.execute(db);
  await passTime(clock, 61_000);
  await eventually(
    async () => (await failed()) === 1,
    () => 'it could not write',
  );
  assert.equal(await pings(), 1);

  await sql`pragma query_only = off`.execute(db);
  await passTime(clock, 61_000);
  await eventually(
    async () => (await pings()) === 2,
    () => 'it was pinged again',
  );

  await watching[Symbol.asyncDispose]();
  await passTime(clock, 61_000);
  await eventually(
    async () => (await failed()) === 2,
    () => 'nobody took the ping',
  );
  const said = lines.filter((line) => line.includes('HEARTBEAT_URL')).join();
  assert.match(said, /the heartbeat at HEARTBEAT_URL took no ping: ECONNREFUSED/);
  assert.ok(!said.includes(new URL(wire.pingUrl).pathname), 'its token is in the log');
});
