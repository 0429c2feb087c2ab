import assert from 'node:assert/strict';
import test from 'node:test';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { lockChecks } from '../../../control-plane/checks/lock-checks.ts';
import { sweepHeartbeats } from '../../../control-plane/heartbeats/heartbeats.ts';
import { expireJobs } from '../../../control-plane/results/expire-jobs.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { untilEndedOrWaiting } from '../../support/interleaving.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../../support/keyed-agent.ts';
import { minute, now } from '../../support/results.ts';
import { TestClock } from '../../support/test-clock.ts';

const location = 'eu-west-1';

async function setUp() {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock });
  const create = async (type: string, fields: Record<string, unknown>) => {
    const { status, body } = await cp.api('POST', `/v1/checks/${type}`, { name: type, ...fields });
    assert.equal(status, 201, JSON.stringify(body));
    return body as SlotCheck & { heartbeat: { pingUrl: string } };
  };
  const { body: group } = await cp.api('POST', '/v1/check-groups', { name: 'group' });
  const url = await create('url', {
    groupId: group.id,
    ...{ locations: [location], frequency: 1, request: { url: 'https://a.example' } },
  });
  const heartbeat = await create('heartbeat', {
    heartbeat: { period: 1, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
  });
  return { cp, clock, url, heartbeat, group: group as { id: number } };
}

type Bench = Awaited<ReturnType<typeof setUp>>;

/** Asserts that the work waits while the check is locked, and ends afterwards. */
async function assertWaits(
  cp: TestControlPlane,
  checkId: string,
  name: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const { db } = cp.controlPlane.services;
  const running = await db.transaction().execute(async (unit) => {
    await lockChecks(unit, [checkId]);
    const promise = work();
    if (await untilEndedOrWaiting(unit, promise)) {
      await promise;
      assert.fail(`${name} does not wait`);
    }
    return { promise };
  });
  await running.promise;
}

/** What decides on a check. Timers look at their own clock, so that those of the control plane find nothing. */
const works: Record<string, (bench: Bench, agent: KeyedAgent) => () => Promise<unknown>> = {
  'storing a result': ({ url, clock }, agent) => {
    const [slot = 0] = slotsOf(url, clock.now());
    return () => agent.handIn(agent.result(url.id, slot, { hasFailures: true }));
  },
  'evaluating due alerts': ({ cp, clock }) => {
    const { services } = cp.controlPlane;
    return () =>
      evaluateDueAlerts({ ...services, clock: new TestClock(clock.now() + 60 * minute) });
  },
  'a ping':
    ({ heartbeat }) =>
    () =>
      fetch(heartbeat.heartbeat.pingUrl),
  'a missed ping': ({ cp, clock }) => {
    const { services } = cp.controlPlane;
    return () => sweepHeartbeats({ ...services, clock: new TestClock(clock.now() + 60 * minute) });
  },
  'the end of abandoned runs': ({ cp, clock }) => {
    const { services } = cp.controlPlane;
    return () => expireJobs({ ...services, clock: new TestClock(clock.now() + 60 * minute) });
  },
  'a change of its group':
    ({ cp, group }) =>
    () =>
      cp.api('PUT', `/v1/check-groups/${group.id}`, { name: 'group', muted: true }),
  'a change':
    ({ cp, url }) =>
    () =>
      cp.api('PUT', `/v1/checks/url/${url.id}`, { activated: false }),
  'a deletion':
    ({ cp, url }) =>
    () =>
      cp.api('DELETE', `/v1/checks/${url.id}`),
};

test('a transaction that decides on a check waits for its lock', async () => {
  const bench = await setUp();
  const { cp, clock, url, heartbeat } = bench;
  await using _cp = cp;
  const agent = await KeyedAgent.open(cp, location);
  clock.advance(4 * minute);
  for (const [name, make] of Object.entries(works)) {
    const checkId = name.endsWith('ping') ? heartbeat.id : url.id;
    if (name === 'the end of abandoned runs') {
      const slot = slotsOf(url, clock.now())[1] ?? 0;
      await agent.handIn(agent.result(url.id, slot, { resultType: 'ATTEMPT' }));
    }
    if (name === 'evaluating due alerts') {
      await cp.controlPlane.services.db
        .updateTable('alert_states')
        .set({ wake_at: clock.now() + 30 * minute })
        .where('check_id', '=', url.id)
        .execute();
    }
    await assertWaits(cp, checkId, name, make(bench, agent));
  }
  assert.equal((await cp.api('GET', `/v1/checks/${url.id}`)).status, 404);
});
