// PostgreSQL in the long tier: agents.test.ts, prune-results.test.ts, prune-artifacts.test.ts, accounts.test.ts,
// scheduling-by-runtime.test.ts and check-results/pages.test.ts run its statements on both.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'node:test';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { sha256Base64 } from '../support/artifact-api.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { locationKey } from '../support/fake-control-plane.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../support/keyed-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;

async function setUp(settings: Record<string, string> = {}) {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock, settings });
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 1 },
    request: { url: 'https://a.example' },
  });
  return {
    clock,
    cp,
    check: body as SlotCheck,
    [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose](),
  };
}

test('an agent that asks without end gets retry-after; other agents are not affected', async () => {
  await using stage = await setUp({ REQUESTS_PER_MINUTE: '1' });
  const { clock, cp } = stage;
  const runaway = await KeyedAgent.open(cp, 'eu-west-1');
  const calls = async (agent: KeyedAgent, count: number) => {
    const statuses: number[] = [];
    for (let call = 0; call < count; call += 1) {
      const answer = await agent.call('goodbye', { agentId: agent.id });
      statuses.push(answer.status);
      if (answer.status === 429) assert.equal(answer.headers.get('retry-after'), '60');
    }
    return statuses;
  };
  // One check-in has been made. A busy agent has ten times what a key of the API has.
  const statuses = await calls(runaway, 12);
  assert.deepEqual(
    [statuses.slice(0, 9).every((status) => status === 204), new Set(statuses.slice(9))],
    [true, new Set([429])],
  );
  const neighbour = await KeyedAgent.open(cp, 'eu-west-1');
  assert.deepEqual(await calls(neighbour, 1), [204]);
  clock.advance(minute);
  assert.deepEqual(await calls(runaway, 1), [204]);

  // A key that makes up agents has the limit of a hundred of them.
  const { status } = await runaway.call('goodbye', { agentId: randomUUID() });
  assert.equal(status, 204);
  let passed = 0;
  for (; passed < 1_000; passed += 1) {
    const answer = await runaway.call('goodbye', { agentId: randomUUID() });
    if (answer.status === 429) break;
  }
  assert.ok(passed > 90 && passed < 100, `${passed} calls`);
});

test('keys that are none are counted by address, and a good key from there is served', async () => {
  await using stage = await setUp({ REQUESTS_PER_MINUTE: '20' });
  const { cp } = stage;
  const wrong = { authorization: `Bearer ${locationKey}` };
  const statuses: number[] = [];
  for (let call = 0; call < 30; call += 1) {
    statuses.push((await cp.api('POST', '/v1/agent/goodbye', {}, wrong)).status);
    statuses.push((await cp.api('GET', '/ping/not-a-token-of-anybody')).status);
  }
  assert.deepEqual(new Set(statuses.slice(0, 20)), new Set([401, 404]));
  assert.deepEqual(new Set(statuses.slice(20)), new Set([429]));
  await KeyedAgent.open(cp, 'eu-west-1');
  const { rawKey } = await createApiKey(cp.controlPlane.services, cp.accountId, { name: 'good' });
  const good = { authorization: `Bearer ${rawKey}` };
  assert.equal((await cp.api('GET', '/v1/accounts/me', undefined, good)).status, 200);
});

test('a flood of pings costs a commit a second, is limited by its token and loses no ping', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const make = async (): Promise<string> => {
    const heartbeat = { period: 1, periodUnit: 'hours', grace: 0, graceUnit: 'minutes' };
    const { body } = await cp.api('POST', '/v1/checks/heartbeat', { name: 'h', heartbeat });
    return body.heartbeat.pingUrl as string;
  };
  const [flooded, other] = [await make(), await make()];
  const { db } = cp.controlPlane.services;
  const events = () => db.selectFrom('heartbeat_events').select('happened_at').execute();
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => (await fetch(flooded)).status),
  );
  assert.equal(statuses.filter((status) => status === 200).length, 120);
  assert.equal(statuses.filter((status) => status === 429).length, 80);
  assert.deepEqual((await events()).length, 1);
  assert.equal((await fetch(other)).status, 200);
  clock.advance(minute);
  // The last of the flood was recorded when its second was over, with the time at which it came.
  while ((await events()).length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(new Set((await events()).map((event) => event.happened_at)), new Set([start]));
  assert.equal((await fetch(flooded)).status, 200);
});

test('what a location may store is bounded, said with 429, and nothing of it is lost', async () => {
  await using stage = await setUp({ RESULTS_PER_HOUR: '10', FILES_PER_HOUR: '1' });
  const { clock, cp, check } = stage;
  clock.advance(30 * minute);
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  const other = await KeyedAgent.open(cp, 'us-east-1');
  const artifacts = ['a', 'b'].map((name) => ({
    ...{ name, type: 'log' as const, contentType: 'text/plain', size: 1, withheld: null },
  }));
  const items = slotsOf(check, clock.now())
    .slice(0, 12)
    .map((slot) => agent.result(check.id, slot, { artifacts }));
  await agent.handIn(...items.slice(0, 9));
  const refused = await agent.call('results', { agentId: agent.id, items: items.slice(9) });
  assert.equal(refused.status, 429);
  assert.match(String(refused.body.message), /quota of the location eu-west-1 .*RESULTS_PER_HOUR/);
  assert.equal(refused.headers.get('retry-after'), '720');
  assert.equal((await other.handIn(null))[0]?.outcome, 'refused');
  clock.advance(720_000);
  const outcomes = await agent.handIn(...items.slice(9));
  assert.deepEqual(new Set(outcomes.map(({ outcome }) => outcome)), new Set(['accepted']));

  const upload = (name: string) =>
    agent.call(`artifacts/${items[0]?.id ?? ''}/${name}`, 'x', 'PUT', {
      'content-type': 'text/plain',
      digest: `sha-256=${sha256Base64(Buffer.from('x'))}`,
    });
  const first = await upload('a');
  assert.equal(first.status, 204, JSON.stringify(first.body));
  const second = await upload('b');
  assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '3600']);
  clock.advance(60 * minute);
  assert.equal((await upload('b')).status, 204);
});

test('a list of results is of a bounded size, says what it leaves out, and each can be read', async () => {
  await using stage = await setUp();
  const { clock, cp, check } = stage;
  clock.advance(60 * minute);
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  const large = randomBytes(900_000).toString('base64');
  const slots = slotsOf(check, clock.now()).slice(0, 20);
  for (const slot of slots) {
    const apiCheckResult = {
      ...{ assertions: [], request: { large }, response: null, requestError: null },
      ...{ jobLog: { setup: [], request: [], teardown: [] }, jobAssets: null, pcapDataUrl: null },
      networkDiagnostics: null,
    };
    const [outcome] = await agent.handIn(agent.result(check.id, slot, { apiCheckResult }));
    assert.equal(outcome?.outcome, 'accepted', outcome?.reason);
  }
  interface Listed {
    id: string;
    apiCheckResult: unknown;
    detailsOmitted?: true;
  }
  const sizeOf = (value: unknown) => JSON.stringify(value).length;
  const v1 = (await cp.api('GET', `/v1/check-results/${check.id}?limit=100`)).body as Listed[];
  const v2 = (await cp.api('GET', `/v2/check-results/${check.id}?limit=100`)).body as {
    entries: Listed[];
  };
  for (const list of [v1, v2.entries]) {
    assert.equal(list.length, slots.length);
    assert.ok(sizeOf(list) < 17_000_000, `${sizeOf(list)} bytes`);
    const whole = list.filter(({ apiCheckResult }) => apiCheckResult !== null);
    assert.ok(whole.length >= 10, `${whole.length} whole`);
    // The newest are whole; the others say that they are not.
    assert.deepEqual(
      list.map(({ detailsOmitted }) => detailsOmitted === true),
      list.map((_entry, index) => index >= whole.length),
    );
  }
  const { body } = await cp.api('GET', `/v1/check-results/${check.id}/${v1.at(-1)?.id ?? ''}`);
  assert.equal(
    (body as { apiCheckResult: { request: { large: string } } }).apiCheckResult.request.large,
    large,
  );
});
