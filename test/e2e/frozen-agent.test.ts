import assert from 'node:assert/strict';
import test from 'node:test';
import { assertNothingDoubled } from '../support/accounting.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

test('a frozen agent that wakes up doubles nothing', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const agents = [system.startAgent('one', key), system.startAgent('two', key)];
  for (const agent of agents) await agent.log('checked in');
  const checks = [];
  for (let index = 0; index < 10; index += 1) {
    checks.push(
      await system.createUrlCheck(`${target.url}/ok/${index}`, {
        name: `check ${index}`,
        privateLocations: ['here'],
      }),
    );
  }
  const share = () =>
    system.query<{ agents: number }>(
      `select count(*) as agents from agents where gone_at is null`,
    )[0]?.agents;
  assert.equal(share(), 2);
  agents[0]?.signal('SIGSTOP');
  await eventually(
    () => share() === 1,
    60_000,
    () => 'the frozen agent still counts as serving',
  );
  const takenOverAt = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  agents[0]?.signal('SIGCONT');
  await eventually(
    () => share() === 2,
    60_000,
    () => 'the woken agent did not come back',
  );
  await new Promise((resolve) => setTimeout(resolve, 11_000));
  assertNothingDoubled(system.databaseFile);
  const missed = system
    .runs()
    .filter(({ state, scheduled_for: slot }) => state === 'MISSED' && (slot ?? 0) > takenOverAt);
  assert.deepEqual(missed, [], 'slots after the takeover that nobody ran');
});
