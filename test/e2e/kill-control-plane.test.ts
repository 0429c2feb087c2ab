import test from 'node:test';
import { assertEverySlotOnce } from '../support/accounting.ts';
import { makeChecks, moment } from '../support/killing.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { openTarget, System, temporaryFolder } from '../support/system.ts';

const kills = isLong ? 50 : 8;

test(`${kills} kills of the control plane lose and double nothing`, async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const agent = system.startAgent('agent', key);
  await agent.log('checked in');
  const checks = await makeChecks(system, target.url, 10);
  for (let kill = 0; kill < kills; kill += 1) {
    await moment(random);
    await system.controlPlane.kill9();
    await system.restartControlPlane();
  }
  const slots = await assertEverySlotOnce(system.databaseFile, checks, Date.now(), 90_000);
  t.diagnostic(`${slots} slots, each with exactly one FINAL`);
});
