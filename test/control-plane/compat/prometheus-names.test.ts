// PostgreSQL in the long tier: prometheus.test.ts and lock-checks.test.ts run its statements on both.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import parse from 'parse-prometheus-text-format';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { withExistingNames } from '../../../control-plane/compat/prometheus-names.ts';
import { hour, minute, now, setUp, type Bench } from '../../support/results.ts';

async function scrape(bench: Bench): Promise<string> {
  const response = await fetch(`${bench.cp.url}/v1/prometheus/metrics`, {
    headers: { authorization: `Bearer ${bench.cp.apiKey}` },
  });
  assert.equal(response.status, 200);
  return response.text();
}

async function withRuns(settings: Record<string, string>): Promise<Bench & AsyncDisposable> {
  const bench = await setUp({ settings });
  const id = await bench.check('url', { tags: ['team:shop', 'plain', 'check_id:stolen'] });
  const run = (at: number, responseTime: number, hasFailures = false) =>
    bench.submit(id, 'URL', at, { responseTime, hasFailures });
  await run(now - 2 * hour, 9_000);
  // `now` begins an hour.
  bench.clock.advance(10 * minute);
  await run(now + minute, 20);
  await run(now + 2 * minute, 400);
  await run(now + 3 * minute, 4_000, true);
  while (await new RollUp(bench.cp.controlPlane.services).run());
  return bench;
}

test('without the setting a scrape has our names only', async () => {
  await using bench = await withRuns({});
  const names = parse(await scrape(bench)).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => !name.startsWith('monitor_') || name.includes('_hour_')),
    [],
  );
});

test('with it, existing dashboards find theirs besides: of this hour as counters and histograms', async () => {
  await using bench = await withRuns({ PROMETHEUS_EXISTING_NAMES: 'on' });
  await bench.cp.api('POST', '/v1/private-locations', { name: 'Office', slugName: 'office' });
  const text = await scrape(bench);
  const families = new Map(parse(text).map((family) => [family.name, family]));
  assert.ok(families.has('monitor_check_status'));
  const results = families.get('checkly_check_result_total');
  assert.equal(results?.type, 'COUNTER');
  const counted = results.metrics.map(({ labels, value }) => [labels?.['status'], Number(value)]);
  assert.deepEqual(counted, [
    ['passing', 2],
    ['degraded', 0],
    ['failing', 1],
  ]);
  const { labels = {} } = results.metrics[0] ?? {};
  assert.deepEqual(
    [labels['team'], labels['plain'], labels['tags'], labels['muted']],
    ['shop', undefined, 'team:shop,plain,check_id:stolen', 'false'],
  );
  assert.notEqual(labels['check_id'], 'stolen');
  const times = families.get('checkly_url_monitor_timing_seconds');
  assert.equal(times?.type, 'HISTOGRAM');
  const total = (suffix: string, le = '') => {
    const start = `checkly_url_monitor_timing_seconds${suffix}{`;
    const line = text
      .split('\n')
      .find((one) => one.startsWith(start) && one.includes('type="total"') && one.includes(le));
    return Number(line?.split(' ').at(-1));
  };
  assert.deepEqual([total('_count'), total('_sum')], [3, 4.42]);
  const upTo = ['0.01', '0.025', '0.5', '5', '+Inf'];
  assert.deepEqual(
    upTo.map((le) => total('_bucket', `le="${le}"`)),
    [0, 1, 2, 3, 3],
  );
  const ofLocations = families.get('checkly_private_location_queue_size');
  assert.deepEqual(
    ofLocations?.metrics.map((one) => [one.labels?.['private_location_slug_name'], one.value]),
    [['office', '0']],
  );
});

test('the table of the document has each name of the code', () => {
  const document = readFileSync(
    join(import.meta.dirname, '../../../control-plane/compat/README.md'),
    'utf8',
  );
  for (const { name } of withExistingNames([])) {
    const isThere = document.includes(`\`${name}\``) || name.includes('tcp_check');
    assert.ok(isThere, `${name} is not in control-plane/compat/README.md`);
  }
});
