import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { runsOnPostgres } from '../../support/postgres.ts';
import { TestClock } from '../../support/test-clock.ts';

async function probe(url: string, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${url}${path}`);
  return { status: response.status, body: await response.json() };
}

test('health probes need no key and are not counted', async () => {
  await using world = await startTestControlPlane({ requestsPerMinute: 1 });
  for (const path of ['/-/readiness', '/-/liveness', '/health', '/-/readiness']) {
    assert.deepEqual(await probe(world.url, path), { status: 200, body: { status: 'ok' } }, path);
  }
});

test('without its database a control plane is alive but not ready', async () => {
  const clock = new TestClock(Date.now());
  const world = await startTestControlPlane({ clock });
  await world.controlPlane.services.db.destroy();
  if (runsOnPostgres) {
    // A failover takes a moment, and all replicas would lose their visitors.
    assert.equal((await probe(world.url, '/-/readiness')).status, 200);
    clock.advance(10_000);
  }
  assert.deepEqual(await probe(world.url, '/-/readiness'), {
    status: 503,
    body: { status: 'the database does not answer' },
  });
  assert.equal((await probe(world.url, '/-/liveness')).status, 200);
  await world[Symbol.asyncDispose]();
});

test('a database that went away before the first probe has been away as long', async () => {
  const clock = new TestClock(Date.now());
  const world = await startTestControlPlane({ clock });
  await world.controlPlane.services.db.destroy();
  clock.advance(10_000);
  assert.equal((await probe(world.url, '/-/readiness')).status, 503);
  await world[Symbol.asyncDispose]();
});
