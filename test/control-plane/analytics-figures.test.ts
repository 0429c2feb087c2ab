// PostgreSQL in the long tier: analytics-types.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';
import { minute, now, setUp } from '../support/results.ts';

test('the figures of checks of any type are there before and after they are rolled up', async () => {
  await using bench = await setUp();
  const checkIds: string[] = [];
  for (const [path, type] of [
    ['url', 'URL'],
    ['tcp', 'TCP'],
    ['dns', 'DNS'],
  ] as const) {
    const id = await bench.check(path);
    await bench.submit(id, type, now - 90 * minute, { responseTime: 120 });
    await bench.submit(id, type, now - 89 * minute, { responseTime: 120 });
    checkIds.push(id);
  }
  const figures = async () => {
    const { body } = await bench.cp.api('POST', '/v1/analytics/checks', { checkIds });
    return (body as { availability: number; responseTime_p95: number }[]).map(
      ({ availability, responseTime_p95: p95 }) => [availability, Math.round(p95)],
    );
  };
  const expected = checkIds.map(() => [100, 120]);
  assert.deepEqual(await figures(), expected);
  while (await new RollUp(bench.cp.controlPlane.services).run());
  assert.deepEqual(await figures(), expected);
});
