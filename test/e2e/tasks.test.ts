// Own process: it starts programs and a browser.
/** A new team does in the console what it has to do, with fewer clicks and fields than in Uptime Kuma. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { playOwnTasks } from '../../scripts/bench/tasks.ts';
import { taskNames } from '../../scripts/bench/tasks/own.ts';

/** Clicks and fields in Uptime Kuma 2.5: `npm run bench -- tasks`. */
const kuma: Partial<Record<keyof typeof taskNames, number>> = {
  signIn: 6,
  first: 3,
  many: 120,
  page: 20,
  incident: 11,
  maintenance: 9,
};

test('every task of a new team ends well, with fewer clicks and fields than in Uptime Kuma', async () => {
  const costs = await playOwnTasks();
  assert.deepEqual(
    costs.map(({ task }) => task),
    Object.values(taskNames),
  );
  for (const [name, most] of Object.entries(kuma)) {
    const task = taskNames[name as keyof typeof taskNames];
    const cost = costs.find((one) => one.task === task);
    assert.ok(cost !== undefined && cost.clicks + cost.fields < most, JSON.stringify(cost));
  }
});
