import assert from 'node:assert/strict';
import test from 'node:test';
import parse from 'parse-prometheus-text-format';
import { prometheusRoutes } from '@monitor/shared/contract/prometheus.ts';
import { RollUp } from '../../control-plane/analytics/roll-up.ts';
import { fiveRuns, hour, minute, now, setUp, type Bench } from '../support/results.ts';

const path = '/v1/prometheus/metrics';

async function scrape(bench: Bench, at = path, key = bench.cp.apiKey): Promise<string> {
  const response = await fetch(bench.cp.url + at, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return response.text();
}

type Shown = Record<string, unknown>;

/** Samples of a metric without the labels that all of a check have. */
function samplesOf(text: string, name: string): Shown[] {
  const family = parse(text).find((one) => one.name === name);
  return (family?.metrics ?? []).map(({ labels = {}, value, ...rest }) => {
    const { check_id: _id, check_type: _type, ...others } = labels;
    return { ...others, ...(value === undefined ? rest : { value: Number(value) }) };
  });
}

async function withResults(): Promise<Bench & AsyncDisposable> {
  const bench = await setUp();
  await fiveRuns(bench);
  while (await new RollUp(bench.cp.controlPlane.services).run());
  return bench;
}

test('a scrape says how checks are, in a form that a parser of the format understands', async () => {
  await using bench = await withResults();
  const text = await scrape(bench);
  for (const { name, help, type, metrics } of parse(text)) {
    assert.match(name, /^monitor_[a-z_]+$/);
    assert.ok(help.length > 5 && metrics.length > 0);
    assert.ok(['GAUGE', 'SUMMARY'].includes(type), `${name}: ${type}`);
  }
  assert.ok(text.endsWith('\n'));
  assert.deepEqual(samplesOf(text, 'monitor_check_info'), [
    { name: 'url', group: '', tags: 'shop', activated: 'true', muted: 'true', value: 1 },
  ]);
  assert.deepEqual(samplesOf(text, 'monitor_check_status'), [
    { name: 'url', status: 'passing', value: 1 },
    { name: 'url', status: 'degraded', value: 0 },
    { name: 'url', status: 'failing', value: 0 },
  ]);
  assert.deepEqual(samplesOf(text, 'monitor_check_success_ratio'), [{ name: 'url', value: 0.8 }]);
  assert.deepEqual(
    samplesOf(text, 'monitor_check_results').filter((sample) => sample['value'] !== 0),
    [
      { name: 'url', location: 'eu-west-1', status: 'passing', value: 3 },
      { name: 'url', location: 'eu-west-1', status: 'failing', value: 1 },
      { name: 'url', location: 'us-east-1', status: 'passing', value: 1 },
    ],
  );
  // Of the hour that runs and the one before: the failure of half an hour ago.
  // The parser drops the labels of summaries, hence by line.
  const times = text
    .split('\n')
    .filter((line) => line.startsWith('monitor_check_response_time_seconds'))
    .map((line) => line.replace(/check_id=.*check_type="url",?/, ''));
  assert.deepEqual(times, [
    'monitor_check_response_time_seconds{quantile="0.5"} 1',
    'monitor_check_response_time_seconds{quantile="0.9"} 1',
    'monitor_check_response_time_seconds{quantile="0.95"} 1',
    'monitor_check_response_time_seconds{quantile="0.99"} 1',
    'monitor_check_response_time_seconds_sum{} 1',
    'monitor_check_response_time_seconds_count{} 1',
  ]);
  assert.deepEqual(samplesOf(text, 'monitor_check_last_run_timestamp_seconds'), [
    { name: 'url', value: (now - 0.4 * hour) / 1000 },
  ]);
});

test('private locations say how many runs wait and are under way', async () => {
  await using bench = await setUp();
  const { accountId, controlPlane } = bench.cp;
  const { db } = controlPlane.services;
  await bench.cp.api('POST', '/v1/private-locations', { name: 'Office', slugName: 'office' });
  const id = await bench.check('url', { locations: [], privateLocations: ['office'] });
  await db
    .insertInto('jobs')
    .values({
      id: 'job',
      account_id: accountId,
      check_id: id,
      location: 'office',
      run_id: 'run',
      source: 'SCHEDULE',
      slot_location: 'office',
      scheduled_for: null,
      attempt: 1,
      sequence_started_at: null,
      not_before: now - 90_000,
      expires_at: now + hour,
      agent_id: null,
      lease_until: null,
      created_at: now,
    })
    .execute();
  const text = await scrape(bench);
  const [queued, inflight] = samplesOf(text, 'monitor_private_location_check_runs');
  assert.deepEqual(
    [queued, inflight].map((sample) => [sample?.['state'], sample?.['value']]),
    [
      ['queued', 1],
      ['inflight', 0],
    ],
  );
  assert.equal(samplesOf(text, 'monitor_private_location_oldest_queued_seconds')[0]?.['value'], 90);
});

test('names that need it are escaped', async () => {
  await using bench = await setUp();
  const name = 'a "quoted" \\ name\nin two lines';
  await bench.check('url', { name });
  const text = await scrape(bench);
  assert.ok(text.includes('name="a \\"quoted\\" \\\\ name\\nin two lines"'), text);
  assert.equal(text.split('\n').filter((line) => line.startsWith('monitor_check_info')).length, 1);
});

test('existing scrape configurations find it under the account, and only under their own', async () => {
  await using bench = await withResults();
  const { accountId, api, foreignKey } = bench.cp;
  const compatible = `/accounts/${accountId}/v2/prometheus/metrics`;
  assert.equal(await scrape(bench, compatible), await scrape(bench));
  const key = await foreignKey();
  const foreign = await api('GET', compatible, undefined, { authorization: `Bearer ${key}` });
  assert.equal(foreign.status, 404);
  assert.equal(await scrape(bench, path, key), '');
});

test('a scrape is at most a minute old, and a key may make fifty a minute', async () => {
  await using bench = await setUp();
  const first = await scrape(bench);
  assert.equal(first, '');
  await bench.check('url');
  assert.equal(await scrape(bench), first);
  bench.clock.advance(minute);
  assert.match(await scrape(bench), /monitor_check_info\{/);
  for (let count = 1; count < 50; count += 1) await scrape(bench);
  assert.equal((await bench.cp.api('GET', path)).status, 429);
});

test('the description of the operation names every metric there is', async () => {
  await using bench = await withResults();
  await bench.cp.api('POST', '/v1/private-locations', { name: 'Office', slugName: 'office' });
  await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'job',
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
  });
  const { description } = prometheusRoutes.getPrometheusMetrics;
  const found = parse(await scrape(bench)).map(({ name }) => name);
  assert.ok(found.length > 8);
  for (const name of found) assert.ok(description.includes(`\`${name}\``), name);
});
