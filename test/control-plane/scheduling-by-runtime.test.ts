import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { sweepSlots } from '../../control-plane/results/sweep-slots.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { FakeAgent } from '../support/fake-agent.ts';
import { temporaryFolder } from '../support/system.ts';
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

test('browser checks and their jobs are for the agents with a browser, until none is left', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const [bare, full] = [await newAgent(), await newAgent()];
  const asBare = () => bare.checkIn(types, ['2026.04']);
  const asFull = () => full.checkIn(types, ['2026.04'], ['chromium']);
  await asBare();
  await asFull();
  const ids = [await make('browser'), await make('browser'), await make('browser')];
  const idle = await asBare();
  assert.deepEqual([idle.upserts, idle.jobs], [[], []]);
  const busy = await asFull();
  assert.deepEqual(busy.upserts.map(({ id }) => id).sort(), ids.toSorted());
  assert.equal(busy.jobs.length, 3);
  await full.call('release', { agentId: full.id, jobIds: busy.jobs.map(({ id }) => id) }, 204);
  await full.call('goodbye', { agentId: full.id }, 204);
  const last = await asBare();
  assert.deepEqual(
    [last.upserts.length, last.jobs.length],
    [3, 3],
    'their runs say what is missing',
  );
  bare.snapshot = null;
  full.snapshot = null;
  const before = await asFull();
  assert.equal(before.upserts.length, 3);
  assert.deepEqual((await asBare()).upserts, []);
});

test('an agent that has found a browser is given browser checks at its next check-in', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const [one, other] = [await newAgent(), await newAgent()];
  await one.checkIn(types, ['2026.04'], ['chromium']);
  await other.checkIn(types, ['2026.04']);
  for (let count = 0; count < 12; count += 1) await make('browser');
  assert.equal((await other.checkIn(types, ['2026.04'])).upserts.length, 0);
  assert.ok((await other.checkIn(types, ['2026.04'], ['chromium'])).upserts.length > 0);
});

test('a session that no agent can run ends at once and says why', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const agent = await newAgent();
  await agent.checkIn(types, ['2026.04']);
  const id = await make('browser', { runtimeId: '2025.04' });
  const { body } = await cp.api('POST', '/v2/check-sessions/trigger', {
    target: { checkId: [id] },
  });
  const session = body.sessions[0].checkSessionId as string;
  const { body: ended } = await cp.api('GET', `/v2/check-sessions/${session}`);
  assert.equal(ended.status, 'FAILED');
  const [result] = ended.results;
  assert.deepEqual([result.hasErrors, result.hasFailures], [true, false]);
  const read = await cp.api('GET', `/v1/check-results/${id}/${result.checkResultId as string}`);
  assert.match(
    read.body.browserCheckResult.errors[0].message as string,
    /^no agent of eu-west-1 has the runtime 2025\.04; install it with/,
  );
  const status = await cp.api('GET', `/v1/check-statuses/${id}`);
  assert.deepEqual([status.body.hasErrors, status.body.hasFailures], [true, false]);
});

test('a session goes to the location whose agents can run it', async () => {
  const { cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const near = await newAgent();
  const far = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  await near.checkIn(types, ['2026.04']);
  await far.checkIn(types, ['2025.04']);
  const locations = ['eu-west-1', 'us-east-1'];
  const id = await make('browser', { runtimeId: '2025.04', locations });
  await far.checkIn(types, ['2025.04']);
  const { body } = await cp.api('POST', '/v2/check-sessions/trigger', {
    target: { checkId: [id] },
  });
  assert.deepEqual(body.sessions[0].runLocations, ['us-east-1']);
  assert.equal((await far.checkIn(types, ['2025.04'])).jobs.length, 1);
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

test('a location whose agents run monitors only says so for a check of code', async () => {
  const { clock, cp, newAgent, make } = await setUp();
  await using _cp = cp;
  const uptime = await newAgent();
  const monitors = ['URL', 'TCP', 'DNS', 'ICMP'];
  await uptime.checkIn(monitors, []);
  const [api, url] = [await make('api'), await make('url')];
  const { upserts } = await uptime.checkIn(monitors, []);
  assert.deepEqual(
    upserts.map(({ id }) => id),
    [url],
  );
  for (let step = 0; step < 60; step += 1) {
    clock.advance(10_000);
    await uptime.checkIn(monitors, []);
  }
  await sweepSlots(cp.controlPlane.services);
  const { body } = await cp.api('GET', `/v1/check-runs/${api}`);
  const reasons = (body as { missedReason: string }[]).map(({ missedReason }) => missedReason);
  assert.ok(reasons.length > 0);
  assert.deepEqual([...new Set(reasons)], ['type-not-served']);
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
  using folder = temporaryFolder();
  const clock = new TestClock(start);
  const file = join(folder.path, 'control-plane.db');
  const first = await startTestControlPlane({ clock, file });
  await new FakeAgent(first, await first.locationKey('eu-west-1')).checkIn(types, ['2025.04']);
  await first[Symbol.asyncDispose]();
  await using cp = await startTestControlPlane({ clock, file });
  const [member] = cp.controlPlane.services.hub.members(first.accountId, 'eu-west-1');
  assert.deepEqual([...(member?.runtimes ?? [])], ['2025.04']);
});
