import assert from 'node:assert/strict';
import test from 'node:test';
import { assertEverySlotOnce, assertNothingDoubled } from '../support/accounting.ts';
import { FaultProxy } from '../../proof/fault-proxy.ts';
import { deletePod, startPod, untilReady, type Pod } from '../support/kubelet.ts';
import { isLong } from '../support/random.ts';
import {
  eventually,
  openTarget,
  slotsUntil,
  System,
  temporaryFolder,
  type CheckWire,
} from '../support/system.ts';

/** How often each agent is replaced. */
const rounds = isLong ? 2 : 1;
const exitedWell = { code: 0, signal: null };

const checkInsOf = ({ agent }: Pod): number =>
  agent.lines.filter((line) => line.includes('"msg":"checked in"')).length;

/** As a StatefulSet of one does it: the old one ends before the new one begins. */
async function replaceControlPlane(system: System, pods: readonly Pod[]): Promise<void> {
  const before = pods.map(checkInsOf);
  system.controlPlane.signal('SIGTERM');
  assert.deepEqual(await system.controlPlane.exited, exitedWell);
  await system.restartControlPlane();
  await eventually(
    () => pods.every((pod, index) => checkInsOf(pod) > (before[index] ?? 0)),
    60_000,
    () => 'agents do not come back to the new control plane',
  );
}

test('replacing every agent, and the control plane in between, loses and doubles nothing', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  let pods: Pod[] = await Promise.all([
    startPod(system, 'pod-0', key),
    startPod(system, 'pod-1', key),
  ]);
  for (const pod of pods) await untilReady(pod);
  const checks: CheckWire[] = [];
  for (let index = 0; index < 40; index += 1) {
    checks.push(
      await system.createUrlCheck(`${target.url}/ok/${index}`, {
        name: `check ${index}`,
        // The next agent makes up for a slot within this time, and a busy machine needs some.
        frequencyOffset: 30,
        privateLocations: ['here'],
      }),
    );
  }
  const gone: Pod[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const [place, old] of [...pods].entries()) {
      // A surge of one: the new agent is ready before the old one is told to go.
      const pod = await startPod(system, `pod-${round * 2 + place}`, key);
      await untilReady(pod);
      pods = pods.map((each) => (each === old ? pod : each));
      assert.deepEqual(await deletePod(system, old), exitedWell, `how ${old.name} ended`);
      gone.push(old);
    }
    if (round === 1) await replaceControlPlane(system, pods);
  }
  await eventually(
    () => slotsUntil(checks, Date.now()).size >= 80,
    60_000,
    () => 'each check has hardly had two slots',
  );
  await assertEverySlotOnce(system.databaseFile, checks, Date.now(), 60_000);
  const missed = system.runs().filter(({ state }) => state === 'MISSED');
  assert.deepEqual(missed, [], 'slots that nobody ran');
  const late = system.runs().filter(({ late_results: results }) => results > 0);
  assert.deepEqual(late, [], 'slots that two agents ran');

  assert.equal(gone.length, 2 * rounds);
  for (const { name, failedLiveness, readiness } of [...gone, ...pods]) {
    assert.deepEqual(failedLiveness, [], `${name} was taken for dead`);
    const afterFirst = readiness.slice(readiness.indexOf(200));
    assert.match(
      afterFirst.join(' '),
      /^200( 503)?$/,
      `readiness of ${name} was ${readiness.join(' ')}`,
    );
  }
  for (const { name, readiness } of pods) {
    assert.equal(readiness.at(-1), 200, `${name} serves and is not ready`);
  }
});

test('an agent that is evicted while the control plane is replaced hands in what it measured', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  // A service without a pod behind it; an agent waits for its return for a limited time only.
  await using service = await FaultProxy.start(Number(new URL(system.baseUrl).port));
  const pod = await startPod(system, 'pod', key, { CONTROL_PLANE_URL: service.url });
  await untilReady(pod);
  for (let index = 0; index < 10; index += 1) {
    await system.createUrlCheck(`${target.url}/ok/${index}`, {
      name: `check ${index}`,
      privateLocations: ['here'],
    });
  }
  const visits = (): number => [...target.visits.values()].reduce((sum, count) => sum + count, 0);
  await eventually(
    () => visits() >= 10,
    60_000,
    () => 'no visits',
  );
  await service.fail({ kind: 'down' });
  system.controlPlane.signal('SIGTERM');
  assert.deepEqual(await system.controlPlane.exited, exitedWell);
  await system.restartControlPlane();
  const before = visits();
  await eventually(
    () => visits() > before + 3,
    60_000,
    () => 'no visits while it is away',
  );
  const deleting = deletePod(system, pod);
  await pod.agent.log('draining');
  await service.heal();
  assert.deepEqual(await deleting, exitedWell);
  assert.equal((await pod.agent.log('drained'))['left'], 0);
  const finals = system.query(`select id from check_results where result_type = 'FINAL'`);
  assert.equal(finals.length, visits(), 'a result for each visit');
  assertNothingDoubled(system.databaseFile);
});
