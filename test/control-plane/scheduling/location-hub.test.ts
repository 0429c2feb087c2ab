// PostgreSQL in the long tier: agent-boundary.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import type { CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { Bus } from '../../../control-plane/core/bus.ts';
import { keyOfPlace, readVectors } from '../../../control-plane/scheduling/serving-agents.ts';
import { LocationHub } from '../../../control-plane/scheduling/location-hub.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, FakeAgent } from '../../support/fake-agent.ts';
import { StatementCount } from '../../support/interleaving.ts';
import { eventually } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

test('locations that are notified together are read in a few statements', async () => {
  await using cp = await startTestControlPlane();
  const { services } = cp.controlPlane;
  const statements = new StatementCount();
  const clock = new TestClock(Date.now());
  const replicaId = 'beside';
  const { logger } = services;
  using bus = new Bus({ clock, logger, replicaId, listener: null });
  const db = services.db.withPlugin(statements);
  const hub = new LocationHub({ ...services, db, clock, bus, replicaId });
  for (let index = 0; index < 1_000; index += 1) hub.notify(cp.accountId, `location-${index}`);
  await hub.idle();
  hub.close();
  assert.ok(statements.count > 0 && statements.count <= 4, `${statements.count}`);
});

test('the versions of some locations are those among the versions of all', async () => {
  await using cp = await startTestControlPlane();
  for (const location of ['eu-west-1', 'us-east-1', 'eu-central-1']) {
    await new FakeAgent(cp, await cp.locationKey(location)).checkIn();
  }
  const { db } = cp.controlPlane.services;
  const all = new Map((await readVectors(db)).map((vector) => [keyOfPlace(vector), vector]));
  const places = ['us-east-1', 'nowhere', 'eu-west-1'].map((location) => ({
    ...{ accountId: cp.accountId, location },
  }));
  for (const asked of [[], places.slice(0, 1), places]) {
    const expected = asked.flatMap((place) => all.get(keyOfPlace(place)) ?? []);
    const found = await readVectors(db, asked);
    assert.deepEqual(
      found.toSorted((one, other) => (one.location < other.location ? 1 : -1)),
      expected.toSorted((one, other) => (one.location < other.location ? 1 : -1)),
    );
  }
});

test('in a large location the agents that lost checks to a newcomer are notified a moment later', async () => {
  const clock = new TestClock(Date.parse('2026-11-21T08:00:00Z'));
  await using cp = await startTestControlPlane({ clock });
  for (let index = 0; index < 150; index += 1) {
    const made = await cp.api('POST', '/v1/checks/url', {
      ...{ name: `check ${index}`, locations: ['eu-west-1'], frequency: 1440 },
      request: { url: 'https://a.example' },
    });
    assert.equal(made.status, 201);
  }
  const key = await cp.locationKey('eu-west-1');
  const held = new Map<string, Set<string>>();
  const hear = async (agent: FakeAgent, waitMs: number): Promise<void> => {
    const fields = { agentId: agent.id, snapshot: agent.snapshot, waitMs };
    const answer = await agent.call<CheckInAnswer>('check-in', checkInOf(fields, ['URL']));
    agent.snapshot = answer.snapshot;
    const holds = answer.full ? new Set<string>() : (held.get(agent.id) ?? new Set());
    for (const { id } of answer.upserts) holds.add(id);
    for (const id of answer.removals) holds.delete(id);
    held.set(agent.id, holds);
  };
  const holdings = (): number => [...held.values()].reduce((sum, { size }) => sum + size, 0);
  const agents = Array.from({ length: 110 }, () => new FakeAgent(cp, key));
  await Promise.all(agents.map((agent) => hear(agent, 0)));
  for (let round = 0; round < 8; round += 1) {
    await Promise.all(agents.map((agent) => hear(agent, 0)));
  }
  assert.equal(holdings(), 150);
  const polls = agents.map((agent) => hear(agent, 20_000));
  // Which checks a newcomer takes depends on their ids; one in four takes none.
  const taken = async (): Promise<number> => {
    const newcomer = new FakeAgent(cp, key);
    await hear(newcomer, 0);
    return held.get(newcomer.id)?.size ?? 0;
  };
  while ((await taken()) === 0);
  await eventually(
    () => {
      clock.advance(500);
      return holdings() === 150;
    },
    () => `${holdings()} holdings of 150 checks`,
  );
  clock.advance(20_000);
  await Promise.all(polls);
  assert.equal(new Set([...held.values()].flatMap((holds) => [...holds])).size, 150);
});

test('two agents that check in as one are named, and an agent that started again is not', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  await using cp = await startTestControlPlane({ logger });
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const start = Date.parse('2026-11-21T08:00:00Z');
  const hear = (startedAt: number): Promise<unknown> =>
    agent.call('check-in', checkInOf({ agentId: agent.id, startedAt }, ['URL']));
  const named = (): number => lines.filter((line) => line.includes('check in as one')).length;
  for (const startedAt of [0, 0, 1, 1, 2, 1, 2, 3, 3]) await hear(start + startedAt);
  assert.equal(named(), 0);
  for (let turn = 0; turn < 6; turn += 1) await hear(start + (turn % 2));
  assert.equal(named(), 1);
});
