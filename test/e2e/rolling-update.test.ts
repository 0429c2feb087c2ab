import assert from 'node:assert/strict';
import test from 'node:test';
import { assertNothingDoubled } from '../support/accounting.ts';
import { FaultProxy } from '../../proof/fault-proxy.ts';
import { deletePod, startPod, untilReady } from '../support/kubelet.ts';
import { play } from '../support/proof.ts';
import { isLong } from '../support/random.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

const updates = isLong ? 60 : 9;
const exitedWell = { code: 0, signal: null };

test(`${updates} updates of agents and control plane, one after the other, lose and double nothing`, async (t) => {
  const { tally } = await play(t, ['rolling-update'], updates);
  assert.equal(tally.late, 0, 'slots that two agents ran');
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
    () => 'no visits',
  );
  await service.fail({ kind: 'down' });
  system.controlPlane.signal('SIGTERM');
  assert.deepEqual(await system.controlPlane.exited, exitedWell);
  await system.restartControlPlane();
  const before = visits();
  await eventually(
    () => visits() > before + 3,
    () => 'no visits while it is away',
  );
  const deleting = deletePod(system, pod);
  await pod.agent.log('draining');
  await service.heal();
  assert.deepEqual(await deleting, exitedWell);
  assert.equal((await pod.agent.log('drained'))['left'], 0);
  assert.deepEqual(pod.failedLiveness, [], 'it was taken for dead');
  const afterFirst = pod.readiness.slice(pod.readiness.indexOf(200)).join(' ');
  assert.match(afterFirst, /^200( 503)?$/, 'it was ready until it was asked to end');
  const finals = system.query(`select id from check_results where result_type = 'FINAL'`);
  assert.equal(finals.length, visits(), 'a result for each visit');
  assertNothingDoubled(system.databaseFile);
});
