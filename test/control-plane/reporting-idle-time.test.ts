// PostgreSQL in the long tier: agents.test.ts and reporting-levels.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { hour, minute, now, setUp, unix } from '../support/results.ts';

test('an error budget is of the time that a check was active', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { muted: true });
  await bench.submit(id, 'URL', now);
  bench.clock.advance(30 * minute);
  await bench.submit(id, 'URL', now + 30 * minute, { hasFailures: true });
  bench.clock.advance(30 * minute);
  const activate = async (activated: boolean) => {
    const { status } = await bench.cp.api('PUT', `/v1/checks/url/${id}`, { activated });
    assert.equal(status, 200);
  };
  const budget = async () => {
    const query = `from=${unix(now)}&to=${unix(now + 10 * hour)}&target=90`;
    const [row] = await bench.get(`reporting?${query}`);
    const { downtimeMinutes, errorBudget } = row.aggregate.slo;
    return [downtimeMinutes, errorBudget.allowedMinutes];
  };
  // An hour, half of whose results failed.
  assert.deepEqual(await budget(), [30, 6]);
  await activate(false);
  bench.clock.advance(8 * hour);
  assert.deepEqual(await budget(), [30, 6]);
  await activate(true);
  bench.clock.advance(hour);
  assert.deepEqual(await budget(), [60, 12]);
});
