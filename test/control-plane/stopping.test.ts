import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';
import { checkInOf } from '../support/fake-agent.ts';

test('an agent that polls while the control plane stops gets an error, not an empty assignment', async () => {
  const world = await startTestControlPlane();
  const key = await world.locationKey('eu-central-1');
  const authorization = { authorization: `Bearer ${key}` };
  await world.api('POST', '/v1/checks/url', {
    name: 'check',
    locations: ['eu-central-1'],
    request: { url: 'https://example.com' },
  });
  const checkIn = (fields: object) =>
    world.api('POST', '/v1/agent/check-in', checkInOf(fields, ['URL']), authorization);
  const first = await checkIn({});
  assert.equal(first.body.upserts.length, 1);
  const snapshot = first.body.snapshot as string;
  const { hub } = world.controlPlane.services;
  const changed = hub.changed.bind(hub);
  const { promise: waits, resolve: begins } = Promise.withResolvers<void>();
  hub.changed = (...given) => {
    begins();
    return changed(...given);
  };
  const waiting = checkIn({ snapshot, waitMs: 20_000 });
  await waits;
  const begun = performance.now();
  await world[Symbol.asyncDispose]();
  const answer = await waiting;
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '1');
  assert.ok(performance.now() - begun < 4_000, 'the connection held up the end');
});

test('a connection that is kept alive does not hold up the end', async () => {
  const world = await startTestControlPlane();
  for (let request = 0; request < 5; request += 1) await world.api('GET', '/v1/checks');
  const begun = performance.now();
  await world[Symbol.asyncDispose]();
  assert.ok(performance.now() - begun < 4_000);
});
