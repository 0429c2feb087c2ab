import assert from 'node:assert/strict';
import test from 'node:test';
import { nothingSeen } from '../support/plain.ts';
import { hour, now, setUp } from '../support/results.ts';

const request = { sslConfig: { hostname: 'shop.example' } };

test('a check is answered with every default of its request, and a change replaces the request', async () => {
  await using bench = await setUp();
  const created = await bench.cp.api('POST', '/v1/checks/ssl', { name: 'shop', request });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.deepEqual(
    [created.body.checkType, created.body.frequency, created.body.degradedResponseTime],
    ['SSL', 10, 3000],
  );
  const { sslConfig } = created.body.request;
  assert.deepEqual(
    [sslConfig.port, sslConfig.ipFamily, sslConfig.handshakeTimeoutMs, sslConfig.serverName],
    [443, 'IPv4', 10_000, null],
  );
  assert.deepEqual(sslConfig.alertDaysBeforeExpiry, 20);
  assert.equal(Object.keys(sslConfig.securityBaseline).length, 10);
  assert.deepEqual(sslConfig.securityBaseline.minTLSVersion, { value: 'TLS1.2', severity: 'fail' });
  const changed = await bench.cp.api('PUT', `/v1/checks/ssl/${created.body.id}`, {
    request: { sslConfig: { hostname: 'b.example', securityBaseline: { enabled: false } } },
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const { securityBaseline } = changed.body.request.sslConfig;
  assert.deepEqual(
    [securityBaseline.enabled, securityBaseline.minKeySizeBits.value, changed.body.frequency],
    [false, 2048, 10],
  );
});

test('what cannot be checked is refused by the name of its field', async () => {
  await using bench = await setUp();
  for (const [field, fields] of [
    ['frequency', { frequency: 0, request }],
    ['degradedResponseTime', { degradedResponseTime: 5000, maxResponseTime: 4000, request }],
    ['degradedResponseTime', { degradedResponseTime: 10_001, request }],
    ['hostname', { request: { sslConfig: { hostname: 'https://shop.example' } } }],
    ['hostname', { request: { sslConfig: { hostname: 'shop.example:8443' } } }],
    ['request.sslConfig.hostname', { request: { sslConfig: { hostname: 'db:8443' } } }],
    ['handshakeTimeoutMs', { request: { sslConfig: { hostname: 'a', handshakeTimeoutMs: 10 } } }],
    [
      'sslClientCertificateId',
      { request: { sslConfig: { hostname: 'a', clientCertificateMode: 'explicit' } } },
    ],
    [
      'request.sslClientCertificateId',
      {
        request: {
          sslConfig: { hostname: 'a', clientCertificateMode: 'explicit' },
          sslClientCertificateId: 'of-nobody',
        },
      },
    ],
    [
      'minTLSVersion',
      {
        request: {
          sslConfig: { hostname: 'a', securityBaseline: { minTLSVersion: { value: 'TLS1.1' } } },
        },
      },
    ],
    ['noRule', { request: { sslConfig: { hostname: 'a', securityBaseline: { noRule: {} } } } }],
  ] as const) {
    const { status, body } = await bench.cp.api('POST', '/v1/checks/ssl', { name: 'a', ...fields });
    assert.equal(status, 400, field);
    assert.match(JSON.stringify(body), new RegExp(field), field);
  }
});

test('a result is read in a field of its own, and its numbers are in analytics', async () => {
  await using bench = await setUp();
  const id = await bench.check('ssl', { request });
  const seen = (daysUntilExpiry: number) => ({
    ...nothingSeen,
    ...{ tlsVersion: 'TLS1.3', cipherSuite: 'TLS_AES_128_GCM_SHA256', daysUntilExpiry },
    ...{ handshakeTimeMs: 12.5, chainTrusted: true, hostnameVerified: true },
    ...{ baselineVerdict: 'pass' as const, baselineGrade: 'B' as const, failureCategory: null },
    response: { certificate: { keySizeBits: 2048 }, timingPhases: { handshake: 12.5 } },
  });
  await bench.submit(id, 'SSL', now - 2 * hour, { sslCheckResult: seen(30) });
  await bench.submit(id, 'SSL', now - hour, { sslCheckResult: seen(29) });
  const { series } = await bench.get(
    `analytics/ssl/${id}?metrics=handshakeTimeMs_p95,daysUntilExpiry_avg,keySizeBits_max,availability`,
  );
  assert.deepEqual(Object.values(series[0].data[0] as object), [12.5, 29.5, 2048, 100]);
  const { entries } = await bench.cp
    .api('GET', `/v2/check-results/${id}?checkType=SSL`)
    .then(({ body }) => body);
  assert.equal(entries.length, 2);
  assert.equal(entries[0].sslCheckResult.daysUntilExpiry, 29);
  assert.equal(entries[0].apiCheckResult, null);
});
