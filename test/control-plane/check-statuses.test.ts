import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { FakeAgent, resultOf } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  await agent.checkIn();
  const { body } = await cp.api('POST', '/v1/checks/url', {
    name: 'before',
    locations: ['eu-west-1'],
    frequency: 1,
    request: { url: 'https://a.example' },
  });
  return { clock, cp, agent, id: body.id as string };
}

const read = async (cp: TestControlPlane, id: string) =>
  (await cp.api('GET', `/v1/check-statuses/${id}`)).body;

test('whatever changes what a status shows is seen at the next read', async () => {
  const { cp, agent, id } = await setUp();
  await using _cp = cp;
  assert.equal(await read(cp, id), null);
  await agent.submit(resultOf(id, { scheduledFor: start, hasFailures: true }));
  assert.equal((await read(cp, id)).hasFailures, true);
  await agent.submit(resultOf(id, { scheduledFor: start + 60_000, startedAt: start + 60_000 }));
  assert.equal((await read(cp, id)).hasFailures, false);

  await cp.api('PUT', `/v1/checks/url/${id}`, { name: 'after' });
  assert.equal((await read(cp, id)).name, 'after');
  await cp.api('PUT', `/v1/checks/url/${id}`, { locations: ['eu-west-1', 'us-east-1'] });
  assert.deepEqual((await read(cp, id)).unservedLocations, ['us-east-1']);
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'g' });
  await cp.api('PUT', `/v1/checks/url/${id}`, { groupId: group.id });
  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'g', locations: ['ap-south-1'] });
  assert.deepEqual((await read(cp, id)).unservedLocations, ['ap-south-1']);

  const foreign = await cp.foreignKey();
  const headers = { authorization: `Bearer ${foreign}` };
  assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`, undefined, headers)).status, 404);
  await cp.api('DELETE', `/v1/checks/${id}`);
  assert.equal((await cp.api('GET', `/v1/check-statuses/${id}`)).status, 404);
});

test('a read that a write overtakes is not remembered', async () => {
  const { clock, cp, agent, id } = await setUp();
  await using _cp = cp;
  clock.advance(60 * 60_000);
  await agent.submit(resultOf(id, { scheduledFor: start }));
  for (let round = 1; round <= 30; round += 1) {
    const at = start + round * 60_000;
    const hasFailures = round % 2 === 1;
    await Promise.all([
      ...Array.from({ length: 5 }, () => read(cp, id)),
      agent.submit(resultOf(id, { scheduledFor: at, startedAt: at, hasFailures })),
      ...Array.from({ length: 5 }, () => read(cp, id)),
    ]);
    assert.equal((await read(cp, id)).hasFailures, hasFailures, `round ${round}`);
  }
});
