import assert from 'node:assert/strict';
import test from 'node:test';
import type { AssignedCheck, CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { LocationView } from '../../../control-plane/scheduling/location-view.ts';
import { readVectors } from '../../../control-plane/scheduling/serving-agents.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, FakeAgent } from '../../support/fake-agent.ts';
import { StatementCount } from '../../support/interleaving.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { seededRandom, testSeed } from '../../support/random.ts';
import { TestClock } from '../../support/test-clock.ts';

const location = 'eu-west-1';

async function ask<T>(cp: TestControlPlane, method: string, path: string, body?: unknown) {
  const { status, body: answer } = await cp.api(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(answer)}`);
  return answer as T;
}

async function vectorOf({ accountId, controlPlane: { services } }: TestControlPlane) {
  const [vector] = await readVectors(services.db, [{ accountId, location }]);
  assert.ok(vector !== undefined);
  return vector;
}

/** An agent that keeps what answers say, and asks for nothing twice. */
class Holder {
  readonly agent: FakeAgent;
  readonly held = new Map<string, AssignedCheck>();

  constructor(agent: FakeAgent) {
    this.agent = agent;
  }

  async hear(): Promise<CheckInAnswer> {
    const { agent, held } = this;
    const fields = { agentId: agent.id, snapshot: agent.snapshot, waitMs: 0 };
    const answer = await agent.call<CheckInAnswer>('check-in', checkInOf(fields, ['URL', 'TCP']));
    agent.snapshot = answer.snapshot;
    if (answer.full) held.clear();
    for (const id of answer.removals) held.delete(id);
    for (const check of answer.upserts) held.set(check.id, check);
    return answer;
  }
}

test('agents that hear of changes one by one hold what reading everything gives', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const seed = testSeed();
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  await using cp = await startTestControlPlane({
    clock: new TestClock(Date.parse('2026-11-21T08:00:00Z')),
  });
  const { services } = cp.controlPlane;
  const place = { accountId: cp.accountId, location };
  const key = await cp.locationKey(location);
  let holders = [new Holder(new FakeAgent(cp, key)), new Holder(new FakeAgent(cp, key))];
  const group = await ask<{ id: number }>(cp, 'POST', '/v1/check-groups', { name: 'group' });
  const ids: string[] = [];
  const change = async (fields: Record<string, unknown>): Promise<void> => {
    const id = pick(ids);
    if (id !== undefined) await ask(cp, 'PUT', `/v1/checks/url/${id}`, fields);
  };
  const operations: Record<string, () => Promise<unknown>> = {
    create: async () => {
      const made = await ask<{ id: string }>(cp, 'POST', '/v1/checks/url', {
        ...{ name: `check ${ids.length}`, locations: [location], frequency: 1440 },
        request: { url: 'https://a.example' },
      });
      ids.push(made.id);
    },
    rename: () => change({ name: `name ${random()}` }),
    deactivate: () => change({ activated: false }),
    activate: () => change({ activated: true }),
    'move away': () => change({ locations: ['us-east-1'] }),
    'move back': () => change({ locations: [location, 'us-east-1'] }),
    tag: () => change({ tags: ['planned'] }),
    untag: () => change({ tags: [] }),
    'join the group': () => change({ groupId: group.id }),
    delete: async () => {
      const id = pick(ids);
      if (id === undefined) return;
      ids.splice(ids.indexOf(id), 1);
      await ask(cp, 'DELETE', `/v1/checks/${id}`);
    },
    'change the group': () =>
      ask(cp, 'PUT', `/v1/check-groups/${group.id}`, {
        ...{ name: 'group', tags: random() < 0.5 ? ['planned'] : [] },
      }),
    'plan maintenance': () =>
      ask(cp, 'POST', '/v1/maintenance-windows', {
        ...{ name: 'planned', tags: ['planned'], repeatUnit: 'DAY', repeatInterval: 1 },
        ...{ startsAt: '2026-11-22T08:00:00Z', endsAt: '2026-11-22T09:00:00Z' },
        repeatEndsAt: '2026-12-22T08:00:00Z',
      }),
    'change a variable': () =>
      ask(cp, 'PUT', '/v1/variables/A', { key: 'A', value: String(random()) }),
    'make a key': () => cp.locationKey(location),
    'an agent comes': () => Promise.resolve(holders.push(new Holder(new FakeAgent(cp, key)))),
    'an agent leaves': async () => {
      if (holders.length < 2) return;
      const [first] = holders;
      holders = holders.slice(1);
      await services.hub.remove(place, first?.agent.id ?? '');
    },
  };
  await ask(cp, 'POST', '/v1/variables', { key: 'A', value: '1' });
  for (let count = 0; count < 5; count += 1) await operations['create']?.();
  let partial = 0;
  for (let step = 0; step < 80; step += 1) {
    const name = pick(Object.keys(operations)) ?? '';
    await operations[name]?.();
    // Some hear of several changes at once.
    if (random() < 0.3) continue;
    // A newcomer takes checks of those that heard before it.
    for (const holder of [...holders, ...holders]) {
      const { full, upserts } = await holder.hear();
      if (!full && upserts.length > 0) partial += 1;
    }
    const anew = new LocationView(services, place);
    const { view } = await services.hub.look(place, holders[0]?.agent.id ?? '');
    await anew.refresh(await vectorOf(cp), view.members, new Map());
    for (const { agent, held } of holders) {
      const about = `seed ${seed}, step ${step}: ${name}`;
      const expected = await anew.assemble(anew.holdingOf(agent.id).checkIds);
      assert.equal(view.holdingOf(agent.id).digest, anew.holdingOf(agent.id).digest, about);
      const byId = new Map(expected.map((check) => [check.id, check]));
      assert.deepEqual([...held.keys()].sort(), [...byId.keys()].sort(), about);
      for (const [id, check] of held) assert.deepEqual(check, byId.get(id), about);
    }
  }
  assert.ok(partial > 10, `${partial} answers had only what changed`);
});

test('the change of one check reads this check alone, unless a version is missing', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const holder = new Holder(new FakeAgent(cp, await cp.locationKey(location)));
  const [first, second] = await Promise.all(
    [1, 2].map((number) =>
      ask<{ id: string }>(cp, 'POST', '/v1/checks/url', {
        ...{ name: `check ${number}`, locations: [location], frequency: 1440 },
        request: { url: 'https://a.example' },
      }),
    ),
  );
  await holder.hear();
  const place = { accountId: cp.accountId, location };
  const { members } = (await services.hub.look(place, holder.agent.id)).view;
  const statements = new StatementCount();
  const view = new LocationView({ ...services, db: services.db.withPlugin(statements) }, place);
  await view.refresh(await vectorOf(cp), members, new Map());
  const all = statements.count;
  const { version } = await vectorOf(cp);
  await ask(cp, 'PUT', `/v1/checks/url/${first?.id}`, { name: 'renamed' });
  await ask(cp, 'DELETE', `/v1/checks/${second?.id}`);
  const known = new Map([
    [version + 1, first?.id ?? ''],
    [version + 2, second?.id ?? ''],
  ]);
  const before = view.holdingOf(holder.agent.id).state;
  const { changed } = await view.refresh(await vectorOf(cp), members, known);
  assert.ok(statements.count - all < all, `${statements.count - all} of ${all} statements`);
  assert.deepEqual([...changed], [holder.agent.id]);
  assert.deepEqual(view.holdingOf(holder.agent.id).changesSince(before), {
    upserts: [first?.id],
    removals: [second?.id],
  });
  await ask(cp, 'PUT', `/v1/checks/url/${first?.id}`, { name: 'renamed again' });
  const count = statements.count;
  await view.refresh(await vectorOf(cp), members, new Map([[version + 9, first?.id ?? '']]));
  assert.equal(statements.count - count, all, 'everything is read');
  // A database that goes back to a backup, while the process goes on.
  const { version: newest } = await vectorOf(cp);
  const rolledBack = { ...(await vectorOf(cp)), version: newest - 1 };
  await view.refresh(rolledBack, members, new Map([[newest - 1, first?.id ?? '']]));
  assert.equal(statements.count - count, 2 * all, 'everything is read again');
});

test('nothing is kept of agents that left', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const holder = new Holder(new FakeAgent(cp, await cp.locationKey(location)));
  await holder.hear();
  const place = { accountId: cp.accountId, location };
  const { view } = await services.hub.look(place, holder.agent.id);
  const before = view.holdingOf(holder.agent.id);
  await view.refresh(await vectorOf(cp), new Map(), new Map());
  assert.notEqual(view.holdingOf(holder.agent.id), before);
});
