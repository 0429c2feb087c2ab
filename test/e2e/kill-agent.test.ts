import assert from 'node:assert/strict';
import test from 'node:test';
import { assertEverySlotOnce, unfinishedSlots } from '../support/accounting.ts';
import { makeChecks, moment } from '../support/killing.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

const kills = isLong ? 50 : 8;
/** Far below the 30 seconds that a slot may start late, whatever the next start takes on a busy machine. */
const behindMs = 8_000;

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
  const checks = await makeChecks(system, target.url, 30);
  const unfinished = () => unfinishedSlots(system.databaseFile, checks, Date.now() - behindMs);
  for (let kill = 0; kill < kills; kill += 1) {
    await moment(random);
    // An agent that is never left alone misses slots, and is right to.
    await eventually(
      () => unfinished().length === 0,
      120_000,
      () => `slots that the agent does not come to: ${unfinished().join(', ')}`,
    );
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
  // The kills may have hit every one that failed; whoever is left alone retries the next.
  const attempts = `select id from check_results where result_type = 'ATTEMPT'`;
  await eventually(
    () => system.query(attempts).length > 0,
    60_000,
    () => 'no retry took place',
  );
});
