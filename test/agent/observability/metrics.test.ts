import assert from 'node:assert/strict';
import test from 'node:test';
import { Registry } from 'prom-client';
import { createMetrics as ofAgent } from '../../../agent/observability/metrics.ts';
import { createMetrics as ofControlPlane } from '../../../control-plane/observability/metrics.ts';

test('only counters have names that end as those of counters', async () => {
  for (const create of [ofAgent, ofControlPlane]) {
    const registry = new Registry();
    create(registry, '0.0.0');
    const metrics = await registry.getMetricsAsJSON();
    assert.ok(metrics.some(({ name }) => name === 'nodejs_active_handles'));
    // The registry names types in words here, whatever its declaration says.
    const misnamed = metrics.filter(
      ({ name, type }) => name.endsWith('_total') && String(type) !== 'counter',
    );
    assert.deepEqual(
      misnamed.map(({ name }) => name),
      [],
    );
  }
});
