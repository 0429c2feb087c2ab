import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';
import { checkInOf } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

/** Its clock stands still: connections that must be cut off before it can end would hold it up for ever. */
const startWithoutTime = () => startTestControlPlane({ clock: new TestClock(Date.now()) });

test('an agent that polls while the control plane stops gets an error, not an empty assignment', async () => {
  const world = await startWithoutTime();
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
  await world[Symbol.asyncDispose]();
  const answer = await waiting;
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '1');
});

test('a connection that is kept alive does not hold up the end', async () => {
  const world = await startWithoutTime();
  for (let request = 0; request < 5; request += 1) await world.api('GET', '/v1/checks');
  await world[Symbol.asyncDispose]();
});

test('a control plane that has ended keeps no timer, for which its process would have to wait', async () => {
  const clock = new TestClock(Date.now());
  const world = await startTestControlPlane({ clock });
  await world.api('GET', '/v1/checks');
  assert.notEqual(clock.pending, 0);
  await world[Symbol.asyncDispose]();
  assert.equal(clock.pending, 0);
});
