import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { boundedLabel } from '../../../control-plane/observability/metrics.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent } from '../../support/fake-agent.ts';
import { samplesOf } from '../../support/probe-text.ts';

const name = (tail: string): string => `monitor_control_plane_${tail}`;

async function scrape({ controlPlane }: TestControlPlane): Promise<Map<string, number>> {
  const response = await fetch(`http://127.0.0.1:${controlPlane.metricsPort}/metrics`);
  assert.equal(response.status, 200);
  // On PostgreSQL, metrics of the process name the replica.
  const text = (await response.text()).replace(/,?replica="[^"]+"/g, '');
  return samplesOf(text.replaceAll('{,', '{').replaceAll('{}', ''));
}

const start = (settings: Record<string, string> = {}, file?: string) =>
  startTestControlPlane({
    settings: { METRICS_PORT: '0', ...settings },
    requestsPerMinute: 0,
    ...(file === undefined ? {} : { file }),
  });

test('nothing is served on the port of the API, nor anywhere without METRICS_PORT', async () => {
  await using cp = await startTestControlPlane();
  assert.equal(cp.controlPlane.metricsPort, null);
  assert.equal((await fetch(`${cp.url}/metrics`)).status, 404);
});

test('with a token, only those who send it are answered', async () => {
  await using cp = await start({ METRICS_TOKEN: 'open-sesame' });
  const ask = async (authorization?: string) => {
    const url = `http://127.0.0.1:${cp.controlPlane.metricsPort}/metrics`;
    return (await fetch(url, { headers: authorization === undefined ? {} : { authorization } }))
      .status;
  };
  assert.deepEqual(
    [await ask(), await ask('Bearer open-sesam'), await ask('Bearer open-sesame')],
    [401, 401, 200],
  );
});

test('requests are counted by operation and status, whatever their path', async () => {
  await using cp = await start();
  await cp.api('GET', `/v1/checks/${randomUUID()}`);
  await cp.api('GET', `/v1/checks/${randomUUID()}`);
  await cp.api('GET', '/v1/private-locations');
  for (const path of ['/a', '/b', '/c']) await (await fetch(cp.url + path)).text();
  const samples = await scrape(cp);
  const requests = [...samples].filter(([series]) =>
    series.startsWith(name('http_requests_total')),
  );
  assert.deepEqual(
    requests.map(([series, count]) => [series.slice(name('http_requests_total').length), count]),
    [
      ['{route="getCheck",method="GET",status="404"}', 2],
      ['{route="listPrivateLocations",method="GET",status="200"}', 1],
      ['{route="other",method="GET",status="404"}', 3],
    ],
  );
  assert.equal(samples.get(`${name('http_request_duration_seconds_count')}{route="getCheck"}`), 2);
});

test('what agents hand in and report is counted', async () => {
  await using cp = await start();
  const key = await cp.locationKey('eu-central-1');
  const headers = { authorization: `Bearer ${key}` };
  const answer = await cp.api(
    'POST',
    '/v1/agent/results',
    { agentId: randomUUID(), items: [{ kind: 'x' }] },
    headers,
  );
  assert.equal(answer.status, 200);
  const events = Array.from({ length: 3 }, (_none, index) => ({ code: `CODE_${index}`, count: 2 }));
  const report = { agentId: randomUUID(), version: '1', events };
  assert.equal((await cp.api('POST', '/v1/agent/reports', report, headers)).status, 204);
  const samples = await scrape(cp);
  assert.equal(
    samples.get(`${name('ingested_items_total')}{kind="unreadable",outcome="refused"}`),
    1,
  );
  assert.equal(samples.get(name('ingest_duration_seconds_count')), 1);
  assert.equal(samples.get(`${name('agent_errors_total')}{code="CODE_1"}`), 2);
});

test('codes that agents make up do not make metrics without end', () => {
  const label = boundedLabel(3);
  assert.deepEqual(['a', 'b', 'c', 'd', 'a', 'e'].map(label), [
    'a',
    'b',
    'c',
    'other',
    'a',
    'other',
  ]);
});

test('metrics show locations, checks, notifications and the database as they are', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-metrics-'));
  try {
    await using cp = await start({}, join(folder, 'control-plane.db'));
    const { services } = cp.controlPlane;
    const made = await cp.api('POST', '/v1/private-locations', {
      name: 'Office',
      slugName: 'office',
    });
    assert.equal(made.status, 201);
    const check = {
      name: 'a',
      frequency: 60,
      privateLocations: ['office'],
      request: { url: 'http://a.example' },
    };
    assert.equal((await cp.api('POST', '/v1/checks/url', check)).status, 201);
    await new FakeAgent(cp, await cp.locationKey('office')).checkIn();
    await services.db
      .insertInto('outbox')
      .values({
        ...{ id: randomUUID(), account_id: cp.accountId, kind: 'CHANNEL', alert_channel_id: null },
        ...{ ordering_key: null, content_json: '{}', attempts: 2 },
        next_attempt_at: services.clock.now() + 3_600_000,
        created_at: services.clock.now() - 60_000,
      })
      .execute();
    const samples = await scrape(cp);
    const place = `account_id="${cp.accountId}",location="office"`;
    assert.equal(samples.get(`${name('location_agents')}{${place}}`), 1);
    assert.equal(samples.get(name('deliveries_pending')), 1);
    assert.equal(samples.get(name('deliveries_retrying')), 1);
    const oldest = samples.get(name('deliveries_oldest_seconds')) ?? 0;
    assert.ok(oldest >= 60 && oldest < 120, String(oldest));
    assert.equal(samples.get(`${name('checks')}{check_type="URL",activated="true"}`), 1);
    assert.ok((samples.get(`${name('database_size_bytes')}{file="main"}`) ?? 0) > 0);
    assert.ok((samples.get(name('commit_writes_count')) ?? 0) > 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
