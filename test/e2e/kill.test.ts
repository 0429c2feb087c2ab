import assert from 'node:assert/strict';
import test from 'node:test';
import { assertEverySlotOnce } from '../support/accounting.ts';
import { seededRandom, testSeed } from '../support/random.ts';
import { openTarget, System, temporaryFolder, type CheckWire } from '../support/system.ts';

const kills = 50;

/** A moment between two kills: long enough for a start, short enough to hit everything else. */
function moment(random: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50 + random() * 1_200));
}

async function makeChecks(system: System, targetUrl: string): Promise<CheckWire[]> {
  const checks: CheckWire[] = [];
  for (let index = 0; index < 12; index += 1) {
    const isFailing = index % 4 === 0;
    checks.push(
      await system.createUrlCheck(`${targetUrl}/${isFailing ? 'fail' : 'ok'}/${index}`, {
        name: `check ${index}`,
        privateLocations: ['here'],
        ...(isFailing
          ? { retryStrategy: { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 2 } }
          : {}),
      }),
    );
  }
  return checks;
}

test(`${kills} kills of the agent lose and double nothing`, async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  let agent = system.startAgent('agent', key);
  await agent.log('checked in');
  const checks = await makeChecks(system, target.url);
  for (let kill = 0; kill < kills; kill += 1) {
    await moment(random);
    await agent.kill9();
    agent = system.startAgent('agent', key);
    // Half of the kills may come before the agent has even started.
    if (random() < 0.5) await agent.log('agent has started');
  }
  await agent.log('checked in');
  const slots = await assertEverySlotOnce(system.databaseFile, checks, Date.now(), 60_000);
  t.diagnostic(`${slots} slots, each with exactly one FINAL`);
  assert.deepEqual(
    system.runs().filter(({ state }) => state === 'MISSED'),
    [],
  );
  const [retries] = system.query<{ attempts: number }>(
    `select count(*) as attempts from check_results where result_type = 'ATTEMPT'`,
  );
  assert.ok((retries?.attempts ?? 0) > 0, 'retries took place');
});

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
  const checks = await makeChecks(system, target.url);
  for (let kill = 0; kill < kills; kill += 1) {
    await moment(random);
    await system.controlPlane.kill9();
    await system.restartControlPlane();
  }
  const slots = await assertEverySlotOnce(system.databaseFile, checks, Date.now(), 90_000);
  t.diagnostic(`${slots} slots, each with exactly one FINAL`);
});
