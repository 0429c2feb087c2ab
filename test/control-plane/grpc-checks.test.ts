import assert from 'node:assert/strict';
import test from 'node:test';
import { createApiKey } from '../../control-plane/accounts/index.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { FakeAgent } from '../support/fake-agent.ts';
import { nothingSeen } from '../support/plain.ts';
import { hour, now, setUp } from '../support/results.ts';

const place = { url: 'orders.example', port: 50_051 };
const requestOf = (grpcConfig: Record<string, unknown>, further = {}) => ({
  ...{ ...place, ...further },
  grpcConfig,
});
const health = requestOf({ mode: 'HEALTH' });
const protoContent = `syntax = "proto3";
package shop.v1;
message GetRequest { string order_id = 1; }
message Order { string order_id = 1; }
service Orders {
  rpc Get(GetRequest) returns (Order);
  rpc Watch(stream GetRequest) returns (Order);
}`;
const byFile = {
  method: '/shop.v1.Orders/Get',
  serviceDefinition: 'PROTO_FILE',
  protoContent,
  message: '{"orderId": "A-1"}',
};

test('a check is answered with every default of its mode, and without the fields of the other', async () => {
  await using bench = await setUp();
  const body = { name: 'orders', request: health };
  const made = await bench.cp.api('POST', '/v1/checks/grpc', body);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(
    [made.body.checkType, made.body.degradedResponseTime, made.body.maxResponseTime],
    ['GRPC', 10_000, 20_000],
  );
  const common = { tls: true, metadata: [], storeResponseBody: true, encoding: 'PROTOBUF' };
  assert.deepEqual(made.body.request, {
    ...{ ...place, ipFamily: 'IPv4', skipSSL: false, timeout: 60, assertions: [] },
    grpcConfig: { mode: 'HEALTH', ...common, service: '' },
  });
  const changed = await bench.cp.api('PUT', `/v1/checks/grpc/${made.body.id}`, {
    request: requestOf({ method: 'shop.v1.Orders/Get' }, { port: '{{PORT}}', timeout: 180 }),
  });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.equal(changed.body.request.port, '{{PORT}}');
  assert.deepEqual(changed.body.request.grpcConfig, {
    ...{ mode: 'BEHAVIOR', ...common, method: 'shop.v1.Orders/Get' },
    ...{ serviceDefinition: 'REFLECTION', message: '' },
  });
  const back = await bench.cp.api('PUT', `/v1/checks/grpc/${made.body.id}`, {
    request: requestOf({ mode: 'HEALTH', serviceDefinition: 'REFLECTION', method: '' }),
  });
  assert.equal('serviceDefinition' in back.body.request.grpcConfig, false);
  const read = await bench.cp.api('GET', `/v1/checks/${made.body.id}`);
  assert.deepEqual(read.body.request, back.body.request);
});

test('labels of the health are stored as numbers, and metadata keys in lower case', async () => {
  await using bench = await setUp();
  const source = 'GRPC_HEALTHCHECK_STATUS';
  const assertions = [{ source, comparison: 'NOT_EQUALS', target: 'NOT_SERVING' }];
  const metadata = [{ key: 'Authorization', value: 'Bearer {{TOKEN}}' }];
  const request = { ...requestOf({ mode: 'HEALTH', metadata }), assertions };
  const made = await bench.cp.api('POST', '/v1/checks/grpc', { name: 'orders', request });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.equal(made.body.request.assertions[0].target, '2');
  assert.deepEqual(made.body.request.grpcConfig.metadata, [
    { key: 'authorization', value: 'Bearer {{TOKEN}}', locked: false },
  ]);
});

test('what cannot be called is refused by the name of its field, with the place', async () => {
  await using bench = await setUp();
  const refusals: [field: string, words: RegExp, request: object][] = [
    ['url', /without scheme/, requestOf({ mode: 'HEALTH' }, { url: 'http://a.example' })],
    ['port', /port/, requestOf({ mode: 'HEALTH' }, { port: 'many' })],
    ['timeout', /180/, requestOf({ mode: 'HEALTH' }, { timeout: 181 })],
    ['method', /is required/, requestOf({})],
    ['method', /package\.Service\/Method/, requestOf({ method: 'Get' })],
    ['method', /must be empty/, requestOf({ mode: 'HEALTH', method: 'a.B/C' })],
    ['service', /must be empty/, requestOf({ method: 'a.B/C', service: 'a.B' })],
    ['encoding', /must be PROTOBUF/, requestOf({ mode: 'HEALTH', encoding: 'FLATBUFFERS' })],
    [
      'metadata',
      /set by gRPC itself/,
      requestOf({ mode: 'HEALTH', metadata: [{ key: 'Grpc-Timeout', value: '1S' }] }),
    ],
    [
      'metadata',
      /base64/,
      requestOf({ mode: 'HEALTH', metadata: [{ key: 'a-bin', value: 'no base64!' }] }),
    ],
    [
      'message',
      /must be JSON: Unexpected token '}'/,
      requestOf({ method: 'a.B/C', message: '{"orderId": }' }),
    ],
    ['message', /colour/, requestOf({ ...byFile, message: '{"colour": "red"}' })],
    [
      'method',
      /Watch takes a stream of requests/,
      requestOf({ ...byFile, method: 'shop.v1.Orders/Watch' }),
    ],
    ['method', /it has Get, Watch/, requestOf({ ...byFile, method: 'shop.v1.Orders/Put' })],
    ['protoContent', /is required/, requestOf({ ...byFile, protoContent: '' })],
    [
      'protoContent',
      /line 3/,
      requestOf({ ...byFile, protoContent: `${protoContent.slice(0, 35)}\nmessage {` }),
    ],
    [
      'protoContent',
      /it imports .*google\/api\/http\.proto/,
      requestOf({ ...byFile, protoContent: `import "google/api/http.proto";\n${protoContent}` }),
    ],
    [
      'target',
      /0 to 16/,
      {
        ...health,
        assertions: [{ source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: '17' }],
      },
    ],
  ];
  for (const [field, words, request] of refusals) {
    const { status, body } = await bench.cp.api('POST', '/v1/checks/grpc', { name: 'a', request });
    const said = JSON.stringify(body);
    assert.equal(status, 400, said);
    assert.match(said, words);
    assert.ok(said.includes(field), `${field} is not named in ${said}`);
  }
  const templated = requestOf({ ...byFile, message: '{"orderId": {{ID}}}' });
  const { status } = await bench.cp.api('POST', '/v1/checks/grpc', {
    name: 'a',
    request: templated,
  });
  assert.equal(status, 201);
});

test('keys that may not write do not see the metadata that holds credentials', async () => {
  await using bench = await setUp();
  const metadata = [
    { key: 'authorization', value: 'Bearer s3cret' },
    { key: 'tenant', value: 'a' },
  ];
  const request = requestOf({ mode: 'HEALTH', metadata });
  const made = await bench.cp.api('POST', '/v1/checks/grpc', { name: 'orders', request });
  const { controlPlane, accountId } = bench.cp;
  const key = { name: 'reader', role: 'READ_ONLY' as const };
  const { rawKey } = await createApiKey(controlPlane.services, accountId, key);
  const { body } = await bench.cp.api('GET', `/v1/checks/${made.body.id}`, undefined, {
    authorization: `Bearer ${rawKey}`,
  });
  assert.deepEqual(
    body.request.grpcConfig.metadata.map(({ value }: { value: string }) => value),
    ['', 'a'],
  );
});

test('a result is read in a field of its own, and the whole call is what analytics count', async () => {
  await using bench = await setUp();
  const id = await bench.check('grpc', { request: health });
  const seen = (total: number) => {
    const timingPhases = { dns: 1, connect: total - 1, total };
    return {
      ...nothingSeen,
      ...{ grpcStatusCode: 0, healthStatus: 1, timingPhases },
      response: { grpcStatusCode: 0, healthStatus: 1, timingPhases },
    };
  };
  await bench.submit(id, 'GRPC', now - 2 * hour, { grpcCheckResult: seen(10) });
  await bench.submit(id, 'GRPC', now - hour, { grpcCheckResult: seen(20) });
  const { series } = await bench.get(
    `analytics/grpc-checks/${id}?metrics=total_avg,connect_max,dns_avg,availability`,
  );
  assert.deepEqual(Object.values(series[0].data[0] as object), [15, 19, 1, 100]);
  const { body: figures } = await bench.cp.api('POST', '/v1/analytics/checks', { checkIds: [id] });
  assert.equal(figures[0].total_avg, 15);
  const { body } = await bench.cp.api('GET', `/v2/check-results/${id}`);
  assert.equal(body.entries[0].grpcCheckResult.healthStatus, 1);
});

test('an agent of a build without the type is not assigned such a check', async () => {
  await using cp = await startTestControlPlane();
  const { status, body } = await cp.api('POST', '/v1/checks/grpc', {
    ...{ name: 'orders', request: health, locations: ['eu-west-1'], frequency: 1 },
  });
  assert.equal(status, 201, JSON.stringify(body));
  const key = await cp.locationKey('eu-west-1');
  const [older, newer] = [new FakeAgent(cp, key), new FakeAgent(cp, key)];
  assert.deepEqual((await older.checkIn(['URL', 'TCP'])).upserts, []);
  const { upserts } = await newer.checkIn(['URL', 'TCP', 'GRPC']);
  assert.deepEqual(
    upserts.map(({ id }) => id),
    [body.id],
  );
});
