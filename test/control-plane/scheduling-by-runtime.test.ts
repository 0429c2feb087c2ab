import assert from 'node:assert/strict';
import test from 'node:test';
import { restoreAgents } from '../../control-plane/operations/restore-agents.ts';
import { sweepSlots } from '../../control-plane/operations/sweep-slots.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { FakeAgent } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const types = ['URL', 'API', 'BROWSER'];

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const newAgent = async () => new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const make = async (path: string, fields: Record<string, unknown> = {}): Promise<string> => {
    const { status, body } = await cp.api('POST', `/v1/checks/${path}`, {
      name: path,
      locations: ['eu-west-1'],
      frequency: 1,
      ...(path === 'browser'
        ? { script: 'page' }
        : { request: { method: 'GET', url: 'https://a.example' } }),
      ...fields,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return (body as { id: string }).id;
  };
  return { clock, cp, newAgent, make };
}

test('checks go to the agents that have their runtime', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const [older, newer, bare] = [await newAgent(), await newAgent(), await newAgent()];
  const named = await make('browser', { runtimeId: '2025.04' });
  const either = await make('browser', { runtimeId: null });
  const scripted = await make('api', { runtimeId: '2026.04', localSetupScript: 'request.url' });
  await older.checkIn(types, ['2025.04']);
  await newer.checkIn(types, ['2026.04']);
  await bare.checkIn(types, []);
  const assigned = async (agent: FakeAgent, runtimes: string[]) => {
    agent.snapshot = null;
    return (await agent.checkIn(types, runtimes)).upserts.map(({ id }) => id);
  };
  const ofOlder = await assigned(older, ['2025.04']);
  const ofNewer = await assigned(newer, ['2026.04']);
  assert.deepEqual(await assigned(bare, []), []);
  assert.ok(ofOlder.includes(named) && !ofNewer.includes(named));
  assert.ok(ofNewer.includes(scripted) && !ofOlder.includes(scripted));
  assert.equal([...ofOlder, ...ofNewer].filter((id) => id === either).length, 1);
});

test('an agent that gets a runtime is given its checks at its next check-in', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const agent = await newAgent();
  const id = await make('browser', { runtimeId: '2025.04' });
  assert.deepEqual((await agent.checkIn(types, ['2026.04'])).upserts, []);
  const { upserts, epoch } = await agent.checkIn(types, ['2026.04', '2025.04']);
  assert.deepEqual(
    upserts.map((check) => check.id),
    [id],
  );
  const { removals, ...after } = await agent.checkIn(types, ['2026.04']);
  assert.deepEqual(removals, [id]);
  assert.ok(after.epoch > epoch);
});

test('a job is leased only to an agent that knows its check type and has its runtime', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const [light, older, newer] = [await newAgent(), await newAgent(), await newAgent()];
  await light.checkIn(['URL']);
  const browser = await make('browser', { runtimeId: '2025.04' });
  const url = await make('url', { request: { url: 'https://a.example' } });
  const jobs = async (agent: FakeAgent, ...abilities: [string[], string[]]) =>
    (await agent.checkIn(...abilities)).jobs.map(({ check }) => check.id);
  assert.deepEqual(await jobs(light, ['URL'], []), [url]);
  assert.deepEqual(await jobs(newer, types, ['2026.04']), []);
  assert.deepEqual(await jobs(older, types, ['2025.04']), [browser]);
});

test('many jobs for a runtime that nobody here has do not hold up the others', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const agent = await newAgent();
  await agent.checkIn(types, ['2026.04']);
  const waiting = await make('browser', { runtimeId: '2025.04' });
  const { db, newId } = cp.controlPlane.services;
  const template = await db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  assert.equal(template.check_id, waiting);
  const many = Array.from({ length: 250 }, () => ({ ...template, id: newId(), run_id: newId() }));
  await db.insertInto('jobs').values(many).execute();
  const url = await make('url', { request: { url: 'https://a.example' } });
  const { jobs } = await agent.checkIn(types, ['2026.04']);
  assert.deepEqual(
    jobs.map(({ check }) => check.id),
    [url],
  );
});

test('a slot that no agent has the runtime for is missed with that reason', async () => {
  const { clock, cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const agent = await newAgent();
  await agent.checkIn(types, ['2026.04']);
  const named = await make('browser', { runtimeId: '2025.04' });
  const fits = await make('browser', { runtimeId: '2026.04' });
  for (let step = 0; step < 60; step += 1) {
    clock.advance(10_000);
    await agent.checkIn(types, ['2026.04']);
  }
  await sweepSlots(cp.controlPlane.services);
  const reasons = async (id: string) => {
    const { body } = await cp.api('GET', `/v1/check-runs/${id}`);
    const missed = body as { missedReason: string }[];
    return [...new Set(missed.map(({ missedReason }) => missedReason))];
  };
  assert.deepEqual(await reasons(named), ['no-runtime']);
  assert.deepEqual(await reasons(fits), ['not-run']);
});

test('the default runtime of the account counts where check and group name none', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const agent = await newAgent();
  const id = await make('browser', { runtimeId: null });
  await cp.controlPlane.services.db
    .updateTable('accounts')
    .set({ runtime_id: '2025.04' })
    .execute();
  assert.deepEqual((await agent.checkIn(types, ['2026.04'])).upserts, []);
  const { upserts } = await agent.checkIn(types, ['2025.04']);
  assert.deepEqual(
    upserts.map((check) => check.id),
    [id],
  );
});

test('after a restart, agents are expected back with the runtimes they had', async () => {
  const { cp, newAgent } = await setUp();
  await using _cp = cp;
  const agent = await newAgent();
  await agent.checkIn(types, ['2025.04']);
  const { services } = cp.controlPlane;
  services.hub.close();
  await restoreAgents(services);
  const [member] = services.hub.members(cp.accountId, 'eu-west-1');
  assert.deepEqual([...(member?.runtimes ?? [])], ['2025.04']);
});
