import assert from 'node:assert/strict';
import test from 'node:test';
import { listLocationStates } from '../../control-plane/fleet/store.ts';
import { standsOf } from '../../control-plane/scheduling/index.ts';
import { ownRows } from '../../control-plane/db/own-rows.ts';
import { toWire } from '../../control-plane/scheduling/private-locations/store.ts';
import type { FleetAgent, LocationState } from '@monitor/shared/contract/fleet.ts';
import { locationKey } from '../support/fake-control-plane.ts';
import { checkInOf, FakeAgent } from '../support/fake-agent.ts';
import { StatementCount } from '../support/interleaving.ts';
import { hour, iso, minute, now, setUp, type Bench } from '../support/results.ts';
import { eventually } from '../support/system.ts';

async function agentAt(bench: Bench, location: string): Promise<FakeAgent> {
  return new FakeAgent(bench.cp, await bench.cp.locationKey(location));
}

const until = (stand: () => Promise<LocationState | undefined>, state: string) =>
  eventually(
    async () => (await stand())?.state === state,
    () => state,
  );

const agentsOf = async (bench: Bench) => (await bench.get('agents')) as FleetAgent[];
const statesOf = async (bench: Bench) => (await bench.get('location-states')) as LocationState[];

test('an agent is listed with what it last said of itself', async () => {
  await using bench = await setUp();
  const agent = await agentAt(bench, 'eu-west-1');
  await agent.call(
    'check-in',
    checkInOf(
      {
        agentId: agent.id,
        hostName: `node-7\n\u202e<b>`,
        running: 3,
        outbox: { depth: 7, oldestAt: now - minute, droppedTotal: 2 },
        clock: { sentAt: now, offsetMs: 12.5, uncertaintyMs: 3.5 },
      },
      ['URL'],
      ['2026.04'],
    ),
  );
  const [listed] = await agentsOf(bench);
  assert.deepEqual(
    { ...listed, startedAt: '', capabilities: listed?.capabilities.runtimes },
    {
      id: agent.id,
      location: 'eu-west-1',
      hostName: 'node-7 <b>',
      version: '0.1.0',
      isServing: true,
      startedAt: '',
      lastSeenAt: iso(now),
      goneAt: null,
      running: 3,
      capacity: { light: 10, heavy: 1 },
      outbox: { depth: 7, oldestAt: iso(now - minute), droppedTotal: 2 },
      clockOffsetMs: 12.5,
      clockUncertaintyMs: 3.5,
      load: null,
      capabilities: ['2026.04'],
    },
  );
});

test('an agent that left is listed as gone for a day', async () => {
  await using bench = await setUp();
  const agent = await agentAt(bench, 'eu-west-1');
  await agent.checkIn();
  await agent.call('goodbye', { agentId: agent.id }, 204);
  await eventually(
    async () => (await agentsOf(bench))[0]?.goneAt !== null,
    () => 'gone',
  );
  const [gone] = await agentsOf(bench);
  assert.deepEqual([gone?.isServing, gone?.goneAt], [false, iso(now)]);
  bench.clock.advance(25 * hour);
  assert.deepEqual(await agentsOf(bench), []);
});

test('a location says whether it is served, since when, and how many checks need it', async () => {
  await using bench = await setUp();
  await bench.check('url', { locations: ['eu-west-1', 'us-east-1'] });
  await bench.check('tcp', { locations: ['eu-west-1'], activated: false });
  const { body } = await bench.cp.api('POST', '/v1/private-locations', {
    name: 'Office',
    slugName: 'office',
  });
  const agent = await agentAt(bench, 'eu-west-1');
  await agent.checkIn();
  await eventually(
    async () => (await statesOf(bench)).some((one) => one.servedSince !== null),
    () => 'served',
  );
  const brief = (await statesOf(bench)).map((one) => [
    one.name,
    one.location,
    one.privateLocationId,
    one.checkCount,
    one.agentCount,
    one.servedSince,
  ]);
  assert.deepEqual(brief, [
    ['Ireland', 'eu-west-1', null, 1, 1, iso(now)],
    ['N. Virginia', 'us-east-1', null, 1, 0, null],
    ['Office', 'office', (body as { id: string }).id, 0, 0, null],
  ]);
});

test('never connected, connected, stopped and refused are four states, and a refusal says when, why and from where', async () => {
  await using bench = await setUp();
  const made = await bench.cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Office', slugName: 'office' },
  });
  const { id, keys } = made.body as { id: string; keys: { id: string; rawKey: string }[] };
  const [key] = keys;
  assert.ok(key);
  const stand = async () => {
    const [found] = (await statesOf(bench)).filter(({ location }) => location === 'office');
    const own = (await bench.get(`private-locations/${id}`)) as LocationState;
    assert.deepEqual(own.lastRefusal, found?.lastRefusal);
    assert.equal(own.state, found?.state);
    return found;
  };
  assert.equal((await stand())?.state, 'NEVER_CONNECTED');
  const agent = new FakeAgent(bench.cp, key.rawKey);
  await agent.checkIn();
  await until(stand, 'CONNECTED');
  // The key of an agent where people call is no refused agent.
  const authorization = `Bearer ${key.rawKey}`;
  assert.equal((await bench.cp.api('GET', '/v1/checks', undefined, { authorization })).status, 401);
  await agent.call('goodbye', { agentId: agent.id }, 204);
  await until(stand, 'STOPPED');
  assert.equal((await stand())?.lastRefusal, null);
  bench.clock.advance(minute);
  await bench.cp.api('DELETE', `/v1/private-locations/${id}/keys/${key.id}`);
  await agent.call('check-in', checkInOf({ agentId: agent.id }), 401);
  const refused = await stand();
  assert.equal(refused?.state, 'REFUSED');
  const { at, because, from, maskedKey } = refused.lastRefusal ?? {};
  assert.equal(at, iso(bench.clock.now()));
  assert.match(because ?? '', /the key was deleted/);
  assert.match(from ?? '', /127\.0\.0\.1/);
  assert.equal(maskedKey, `pl_…${key.rawKey.slice(-4)}`);
  // A key that nobody ever had is no agent of anybody.
  await new FakeAgent(bench.cp, locationKey).call('check-in', checkInOf({}), 401);
  assert.deepEqual(await stand(), refused);
  const { rawKey } = (await bench.cp.api('POST', `/v1/private-locations/${id}/keys`)).body as {
    rawKey: string;
  };
  bench.clock.advance(minute);
  await new FakeAgent(bench.cp, rawKey).checkIn();
  await until(stand, 'CONNECTED');
});

test('a visit that waits, a batch of no results and a file of nobody leave no trace', async () => {
  await using bench = await setUp();
  const agent = await agentAt(bench, 'eu-west-1');
  const before = [await statesOf(bench), await agentsOf(bench)];
  const held = agent.call<{ snapshot: string }>(
    'check-in',
    checkInOf({ agentId: agent.id, waitMs: 1_500, snapshot: '' }),
  );
  let isHeld = true;
  void held.then(() => (isHeld = false));
  await eventually(
    () => bench.clock.pending > 0,
    () => 'the visit waits',
  );
  assert.equal(isHeld, true);
  assert.deepEqual(await agent.handIn(), []);
  while (isHeld) {
    bench.clock.advance(1_500);
    await new Promise(setImmediate);
  }
  assert.equal((await held).snapshot, '');
  assert.deepEqual([await statesOf(bench), await agentsOf(bench)], before);
});

test('a poll that waits while its key is deleted is a refusal at once', async () => {
  await using bench = await setUp();
  const made = await bench.cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Office', slugName: 'office' },
  });
  const { id, keys } = made.body as { id: string; keys: { id: string; rawKey: string }[] };
  const agent = new FakeAgent(bench.cp, keys[0]?.rawKey ?? '');
  const { snapshot } = await agent.checkIn();
  const waiting = agent.call(
    'check-in',
    checkInOf({ agentId: agent.id, snapshot, waitMs: 20_000 }, ['URL', 'TCP', 'DNS', 'ICMP']),
    401,
  );
  await bench.cp.api('DELETE', `/v1/private-locations/${id}/keys/${keys[0]?.id ?? ''}`);
  let isOver = false;
  void waiting.finally(() => (isOver = true)).catch(() => undefined);
  let passedMs = 0;
  await eventually(
    () => {
      bench.clock.advance(100);
      passedMs += 100;
      return isOver;
    },
    () => 'the poll is answered',
  );
  await waiting;
  assert.ok(passedMs < 20_000, `the refusal came after ${passedMs} ms`);
  const [office] = (await statesOf(bench)).filter(({ location }) => location === 'office');
  assert.match(office?.lastRefusal?.because ?? '', /the key was deleted/);
});

test('an agent that was not heard of any more is lost', async () => {
  await using bench = await setUp();
  const agent = await agentAt(bench, 'eu-west-1');
  await agent.checkIn();
  const stand = async () =>
    (await statesOf(bench)).find(({ location }) => location === 'eu-west-1');
  await until(stand, 'CONNECTED');
  bench.clock.advance(10 * minute);
  await until(stand, 'LOST');
});

test('runs that wait for an agent are counted, with the age of the oldest', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { locations: ['us-east-1'] });
  await bench.cp.api('POST', '/v2/check-sessions/trigger', { target: { checkId: [id] } });
  const before = (await statesOf(bench)).find(({ location }) => location === 'us-east-1');
  assert.ok((before?.waitingRuns ?? 0) >= 1);
  bench.clock.advance(5_000);
  const after = (await statesOf(bench)).find(({ location }) => location === 'us-east-1');
  assert.equal(after?.oldestWaitingSeconds, 5);
});

test('twelve locations are read in as many statements as one, and each as by itself', async () => {
  await using bench = await setUp();
  const { accountId, controlPlane } = bench.cp;
  const { db } = controlPlane.services;
  /** With an agent that is overloaded, a check whose runs end with errors, and a key that was refused. */
  const addLocation = async (slugName: string): Promise<void> => {
    const made = await bench.cp.api('POST', '/v1/private-locations', { name: slugName, slugName });
    const { keys } = made.body as { keys: { id: string; rawKey: string }[] };
    const agent = new FakeAgent(bench.cp, keys[0]?.rawKey ?? '');
    await agent.checkIn();
    await db
      .updateTable('agents')
      .set({ overloaded_since: now, load_json: null })
      .where('id', '=', agent.id)
      .execute();
    await db
      .updateTable('location_keys')
      .set({ refused_at: now - minute, refused_because: 'DELETED' })
      .where('location', '=', slugName)
      .execute();
    const checkId = await bench.check('url', { locations: [], privateLocations: [slugName] });
    const place = { account_id: accountId, location: slugName, since: now - 2 * hour };
    const kinds = [{ code: 'CONFIG_INVALID', runs: 9, message: slugName }];
    await db
      .insertInto('error_streaks')
      .values({
        ...{ ...place, check_id: checkId, noted_at: now - 2 * hour, last_at: now, runs: 9 },
        kinds_json: JSON.stringify(kinds),
      })
      .execute();
    await db.insertInto('location_error_streaks').values(place).execute();
  };
  const count = async () => {
    const statements = new StatementCount();
    const counted = db.withPlugin(statements);
    const rows = await ownRows(counted, 'private_locations', accountId)
      .orderBy('created_at')
      .execute();
    const agents = await db.selectFrom('agents').select('id').execute();
    const all = new Set(agents.map(({ id }) => id));
    const stands = await standsOf(counted, () => 1);
    const wire = await toWire(counted, rows, () => all, true);
    const states = await listLocationStates(
      counted,
      accountId,
      now,
      () => 1,
      () => hour * 1_000,
    );
    return { statements: statements.count, rows, all, stands, wire, states };
  };
  await addLocation('first');
  const one = await count();
  for (let index = 0; index < 11; index += 1) await addLocation(`more-${index}`);
  const twelve = await count();
  assert.equal(twelve.statements, one.statements);
  assert.equal(twelve.stands.size, 12);
  for (const state of twelve.states) {
    assert.deepEqual(
      [state.state, state.overloadedSince, state.faults.length],
      ['CONNECTED', iso(now), 1],
    );
    assert.equal(state.faults[0]?.message, state.location);
    assert.equal(state.lastRefusal?.at, iso(now - minute));
  }
  for (const [index, row] of twelve.rows.entries()) {
    const [alone] = await toWire(db, [row], () => twelve.all, true);
    assert.deepEqual(twelve.wire[index], alone);
    assert.deepEqual(
      [alone?.agentCount, alone?.keys.length, alone?.slugName],
      [1, 1, row.slug_name],
    );
  }
});
