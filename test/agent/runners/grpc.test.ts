import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Metadata, ServerCredentials, status } from '@grpc/grpc-js';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import { grpcMonitor } from '@monitor/shared/contract/checks/grpc.ts';
import type { GrpcResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import { runGrpc } from '../../../agent/runners/grpc.ts';
import type { Observation, RunnerContext } from '../../../agent/runners/runner.ts';
import { makeAuthority, type Authority } from '../../support/certificates.ts';
import { grpcServer } from '../../support/grpc-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { http2Server, rawServer, tcpServer, tlsServer } from '../../support/servers.ts';

interface Seen {
  observation: Observation;
  verdict: Verdict;
  response: Partial<GrpcResponse>;
  failure: Observation['failure'];
}

interface Further {
  request?: Record<string, unknown>;
  assertions?: unknown[];
  check?: Record<string, unknown>;
  context?: Partial<RunnerContext>;
}

async function look(
  port: number | string,
  config: Record<string, unknown>,
  { request = {}, assertions = [], check = {}, context = {} }: Further = {},
): Promise<Seen> {
  const definition = definitionOf(
    'GRPC',
    { url: 'localhost', port, grpcConfig: { tls: false, ...config }, assertions, ...request },
    check,
  );
  const observation = await runGrpc(definition, runnerContext(60_000, {}, context));
  const { evidence: _evidence, requests: _requests, ...measured } = observation;
  const verdict = judge(grpcMonitor.judging, definition, { ...measured });
  return {
    ...{ observation, verdict, failure: observation.failure },
    response: observation.response ?? {},
  };
}

const health = { mode: 'HEALTH' };
const get = { method: 'shop.v1.Orders/Get', message: '{"orderId":"A-1"}' };
const shop = ['money.proto', 'shop.proto']
  .map((name) => readFileSync(join(import.meta.dirname, '../../support/grpc', name), 'utf8'))
  .map((text, index) =>
    index === 0 ? text : text.replace(/^(syntax|package|import "money).*$/gm, ''),
  )
  .join('\n')
  .replace(/import "google.*/, '')
  .replace('package shop.v1;', 'package shop.v1;\nimport "google/protobuf/timestamp.proto";');
const byFile = { ...get, serviceDefinition: 'PROTO_FILE', protoContent: shop };
const codeOf = ({ failure, response }: Seen) => [failure?.code ?? null, response.grpcStatusCode];

test('a server that serves passes, and one that does not fails', async () => {
  await using server = await grpcServer({
    health: { '': 'SERVING', 'shop.v1.Orders': 'NOT_SERVING' },
  });
  const whole = await look(server.port, health);
  assert.deepEqual([whole.verdict.hasFailures, whole.verdict.reason], [false, null]);
  const { timingPhases, resolvedIp, ...shown } = whole.response;
  assert.deepEqual(shown.metadata?.map(({ key }) => key).includes('content-type'), true);
  assert.deepEqual(
    { ...shown, metadata: [] },
    {
      ...{ grpcMode: 'HEALTH', host: 'localhost', port: server.port, ipFamily: 'IPv4' },
      ...{ grpcMethod: 'grpc.health.v1.Health/Check', truncated: false, metadata: [] },
      ...{ grpcStatusCode: 0, grpcStatusMessage: 'OK', healthStatus: 1 },
      ...{ healthStatusLabel: 'SERVING', discoveredMethods: [], requestError: null },
      responseMessage: '{"status":"SERVING"}',
    },
  );
  assert.equal(resolvedIp, '127.0.0.1');
  const { dns = 0, connect = 0, total = 0 } = timingPhases ?? {};
  assert.ok(connect > 0 && Math.abs(dns + connect - total) < 0.001);
  assert.equal(whole.observation.responseTime, total);

  const orders = await look(server.port, { ...health, service: 'shop.v1.Orders' });
  assert.equal(orders.verdict.reason, 'shop.v1.Orders is NOT_SERVING');
  assert.equal(orders.failure, null);
});

test('an unknown service has status 3 and keeps code 5, and an assertion may expect either', async () => {
  await using server = await grpcServer({ health: { '': 'SERVING' } });
  const config = { ...health, service: 'nobody' };
  const seen = await look(server.port, config);
  assert.deepEqual([seen.response.healthStatus, seen.response.grpcStatusCode], [3, 5]);
  assert.equal(seen.verdict.reason, 'nobody is SERVICE_UNKNOWN');
  const expected = await look(server.port, config, {
    assertions: [
      { source: 'GRPC_HEALTHCHECK_STATUS', comparison: 'EQUALS', target: 'SERVICE_UNKNOWN' },
    ],
  });
  assert.equal(expected.verdict.reason, null);
  const byCode = await look(server.port, config, {
    assertions: [{ source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: '5' }],
  });
  assert.equal(byCode.verdict.reason, 'nobody is SERVICE_UNKNOWN');
});

test('a server without a health service fails with a sentence', async () => {
  await using server = await grpcServer();
  const { verdict, response, failure } = await look(server.port, health);
  assert.match(verdict.reason ?? '', /^the server has no health service: .*UNIMPLEMENTED \(12\)/);
  assert.deepEqual([response.healthStatus, failure], [null, null]);
});

for (const version of ['v1', 'v1alpha'] as const) {
  test(`a method is called by reflection ${version}, with imports of other files`, async () => {
    await using server = await grpcServer({ reflection: [version] });
    const seen = await look(server.port, get, {
      assertions: [
        { source: 'GRPC_RESPONSE', comparison: 'EQUALS', property: '$.orderId', target: 'A-1' },
        { source: 'GRPC_RESPONSE', comparison: 'EQUALS', property: '$.openItems', target: '0' },
        {
          ...{ source: 'GRPC_RESPONSE', comparison: 'EQUALS', property: '$.state' },
          target: 'STATE_PAID',
        },
        {
          ...{ source: 'TEXT_BODY', comparison: 'EQUALS', property: '"currency":"(\\w+)"' },
          target: 'EUR',
        },
        {
          ...{ source: 'GRPC_METADATA', comparison: 'CONTAINS', property: 'Content-Type' },
          target: 'grpc',
        },
        { source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: '0' },
        { source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '60000' },
      ],
    });
    assert.equal(seen.verdict.reason, null);
    assert.deepEqual(JSON.parse(seen.response.responseMessage ?? ''), {
      ...{ orderId: 'A-1', state: 'STATE_PAID', placedAt: '2023-11-14T22:13:20Z' },
      ...{ total: { currency: 'EUR', cents: '9007199254740993' }, openItems: 0, tags: [] },
    });
    assert.deepEqual(seen.response.discoveredMethods, [
      ...['shop.v1.Orders/Get', 'shop.v1.Orders/Watch', 'shop.v1.Orders/Upload'],
    ]);
  });
}

test('a method is called by an uploaded file, also with a leading slash and an empty message', async () => {
  await using server = await grpcServer();
  const seen = await look(server.port, { ...byFile, method: `/${get.method}`, message: '' });
  assert.equal(seen.verdict.reason, null);
  assert.equal(seen.response.grpcMethod, get.method);
  assert.match(seen.response.responseMessage ?? '', /"cents":"9007199254740993"/);
  assert.deepEqual(seen.response.discoveredMethods, []);
});

test('metadata and messages are completed with variables', async () => {
  let asked = '';
  await using server = await grpcServer({
    get(call, answer) {
      asked = call.request.orderId;
      const trailers = new Metadata();
      trailers.set('served-by', 'a');
      answer(null, {}, trailers);
    },
  });
  const seen = await look(
    '{{PORT}}',
    {
      ...byFile,
      message: '{"orderId": "{{ORDER}}"}',
      metadata: [
        { key: 'Authorization', value: 'Bearer {{TOKEN}}' },
        { key: 'twice', value: '1' },
        { key: 'twice', value: '2' },
        { key: 'raw-bin', value: 'AQI=' },
      ],
    },
    {
      context: {
        environment: [
          { key: 'PORT', value: String(server.port), secret: false },
          { key: 'ORDER', value: 'B-2', secret: false },
          { key: 'TOKEN', value: 's3cret', secret: true },
        ],
      },
      assertions: [
        { source: 'GRPC_METADATA', comparison: 'EQUALS', property: 'Served-By', target: 'a' },
      ],
    },
  );
  assert.equal(seen.verdict.reason, null);
  assert.equal(asked, 'B-2');
  const [metadata] = server.seen;
  assert.deepEqual(metadata?.get('authorization'), ['Bearer s3cret']);
  assert.deepEqual(metadata.get('twice'), ['1, 2']);
  assert.deepEqual(metadata.get('raw-bin'), [Buffer.from([1, 2])]);
});

test('a status of the server is an answer, which an assertion may expect', async () => {
  await using server = await grpcServer({
    get(_call, answer) {
      answer({ code: status.PERMISSION_DENIED, details: 'not yöu' });
    },
  });
  const seen = await look(server.port, byFile);
  assert.equal(seen.verdict.reason, 'the server answered PERMISSION_DENIED (7): not yöu');
  assert.deepEqual([seen.failure, seen.response.requestError], [null, null]);
  assert.equal(seen.response.grpcStatusMessage, 'not yöu');
  const expected = await look(server.port, byFile, {
    assertions: [{ source: 'GRPC_STATUS_CODE', comparison: 'EQUALS', target: '7' }],
  });
  assert.equal(expected.verdict.reason, null);
});

test('the responses of a stream are one list, up to its end', async () => {
  const watch = { ...byFile, method: 'shop.v1.Orders/Watch' };
  const ids = ['A-1', 'A-2', 'A-3'];
  await using server = await grpcServer({
    watch(call) {
      for (const orderId of ids) call.write({ orderId, state: 'STATE_PAID' });
      call.end();
    },
  });
  const check = (property: string, comparison: string, target: string) => ({
    ...{ source: 'GRPC_RESPONSE', property, comparison, target },
  });
  const seen = await look(server.port, watch, {
    assertions: [check('$.length', 'EQUALS', '3'), check('$[2].orderId', 'EQUALS', 'A-3')],
  });
  assert.equal(seen.verdict.reason, null);
  const shown = JSON.parse(seen.response.responseMessage ?? '') as { orderId: string }[];
  assert.deepEqual(
    shown.map(({ orderId }) => orderId),
    ids,
  );
  ids.length = 0;
  const empty = await look(server.port, watch);
  assert.deepEqual([empty.verdict.reason, empty.response.responseMessage], [null, '[]']);
});

test('a stream that breaks off, or does not end, fails', async () => {
  const watch = { ...byFile, method: 'shop.v1.Orders/Watch' };
  await using broken = await grpcServer({
    watch(call) {
      call.write({ orderId: 'A-1' });
      call.emit('error', { code: status.DATA_LOSS, details: 'lost it' });
    },
  });
  const lost = await look(broken.port, watch);
  assert.equal(lost.verdict.reason, 'the server answered DATA_LOSS (15): lost it');
  await using endless = await grpcServer({
    watch(call) {
      const write = (): void => {
        while (!call.cancelled && call.write({ orderId: 'A-1' }));
      };
      call.on('drain', write);
      write();
    },
  });
  const flood = await look(endless.port, watch);
  assert.deepEqual(codeOf(flood), ['STREAM_TOO_LONG', 8]);
  await using silent = await grpcServer({ watch: (call) => void call.write({ orderId: 'A-1' }) });
  const late = await look(silent.port, watch, { request: { timeout: 1 } });
  assert.equal(late.response.grpcStatusCode, 4);
});

test('what cannot be called says why', async () => {
  await using server = await grpcServer({ reflection: ['v1'] });
  const reasons = await Promise.all(
    [
      { method: 'shop.v1.Orders/Upload' },
      { method: 'shop.v1.Orders/Put' },
      { method: 'shop.v1.Nobody/Get' },
      { ...get, message: '{"orderId": 5}' },
      { ...get, message: '{"colour": "red"}' },
    ].map(async (config) => (await look(server.port, config)).verdict.reason ?? ''),
  );
  assert.match(reasons[0] ?? '', /shop\.v1\.Orders\/Upload takes a stream of requests/);
  assert.match(reasons[1] ?? '', /has no method Put; it has Get, Watch, Upload/);
  assert.match(reasons[2] ?? '', /no service shop\.v1\.Nobody; it has .*shop\.v1\.Orders/);
  assert.match(reasons[3] ?? '', /the message cannot be used: .*expected string/);
  assert.match(reasons[4] ?? '', /the message cannot be used: .*"colour"/);
});

test('without reflection the failure names the uploaded file', async () => {
  await using server = await grpcServer();
  const seen = await look(server.port, get);
  assert.deepEqual(codeOf(seen), ['NO_REFLECTION', 12]);
  assert.match(seen.failure?.message ?? '', /PROTO_FILE/);
  assert.equal(seen.failure?.isNetworkError, false);
});

test('the deadline covers the call, and the server knows it', async () => {
  let deadline = 0;
  await using server = await grpcServer({
    get(call) {
      deadline = Number(call.getDeadline());
    },
  });
  const before = Date.now();
  const seen = await look(server.port, byFile, { request: { timeout: 1 } });
  assert.deepEqual(codeOf(seen), ['TIMEOUT', 4]);
  assert.equal(seen.failure?.isNetworkError, true);
  assert.ok(deadline > before && deadline <= Date.now() + 1_000);
});

test('a refused connection is code 14 and an error of the network', async () => {
  const server = await grpcServer();
  await server[Symbol.asyncDispose]();
  const seen = await look(server.port, health);
  assert.deepEqual(codeOf(seen), ['ECONNREFUSED', 14]);
  assert.deepEqual([seen.failure?.phase, seen.failure?.isNetworkError], ['connect', true]);
  assert.notEqual(seen.observation.evidence, undefined);
});

test('a cancelled run ends at once', async () => {
  await using server = await grpcServer({ get: () => undefined });
  const controller = new AbortController();
  const running = look(server.port, byFile, { context: { signal: controller.signal } });
  controller.abort();
  assert.equal((await running).failure?.code, 'CANCELLED');
});

async function secured(authority: Authority, host: string, asks: boolean) {
  const { key, cert } = await authority.issue({ host, validForDays: 30 });
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  return grpcServer({
    health: { '': 'SERVING' },
    credentials: ServerCredentials.createSsl(
      asks ? Buffer.from(authority.cert) : null,
      [pair],
      asks,
    ),
  });
}

async function clientOf(authority: Authority, host = 'localhost'): Promise<AssignedCertificate> {
  const own = await authority.issue({ host: 'client', validForDays: 9 });
  return { host, ...own, passphrase: null, ca: authority.cert };
}

test('a server of an own authority is verified, and any is accepted with skipSSL', async () => {
  const authority = await makeAuthority();
  await using server = await secured(authority, 'localhost', false);
  const tls = { ...health, tls: true };
  const unknown = await look(server.port, tls);
  assert.deepEqual(codeOf(unknown), ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 14]);
  const skipped = await look(server.port, tls, { request: { skipSSL: true } });
  assert.equal(skipped.verdict.reason, null);
  const clientCertificates = [await clientOf(authority)];
  const known = await look(server.port, tls, { context: { clientCertificates } });
  assert.equal(known.verdict.reason, null);

  await using other = await secured(authority, 'elsewhere.example', false);
  const wrong = await look(other.port, tls, { context: { clientCertificates } });
  assert.deepEqual(codeOf(wrong), ['ERR_TLS_CERT_ALTNAME_INVALID', 14]);
  for (const [given, code] of [
    ['elsewhere.example', null],
    ['elsewhere.example:443', null],
    ['another.example', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const) {
    const config = { ...tls, authority: given };
    const named = await look(other.port, config, { context: { clientCertificates } });
    assert.equal(named.failure?.code ?? null, code, given);
  }
});

test('a server that asks for a client certificate gets the one of its host', async () => {
  const authority = await makeAuthority();
  await using server = await secured(authority, 'localhost', true);
  const tls = { ...health, tls: true };
  const shown = await look(server.port, tls, {
    context: { clientCertificates: [await clientOf(authority)] },
  });
  assert.equal(shown.verdict.reason, null);
  const without = await look(server.port, tls, {
    request: { skipSSL: true },
    context: { clientCertificates: [await clientOf(authority, 'other.example')] },
  });
  assert.match(without.verdict.reason ?? '', /client certificate/);
  assert.equal(without.response.grpcStatusCode, 14);
});

test('a server that speaks no HTTP/2 is a failure with a sentence', async () => {
  await using plain = await rawServer('HTTP/1.1 400 Bad Request\r\n\r\n', 'end');
  assert.equal((await look(plain.port, health)).response.grpcStatusCode, 14);
  const authority = await makeAuthority();
  await using secure = await tlsServer(
    await authority.issue({ host: 'localhost', validForDays: 9 }),
  );
  const seen = await look(secure.port, { ...health, tls: true }, { request: { skipSSL: true } });
  assert.deepEqual(codeOf(seen), ['NO_HTTP2', 14]);
  assert.match(seen.failure?.message ?? '', /ALPN/);
});

const grpcHeaders = { ':status': 200, 'content-type': 'application/grpc' };

function framed(message: Uint8Array, length = message.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

test('a huge message is refused before it is read', async () => {
  await using server = await http2Server((stream) => {
    stream.respond(grpcHeaders);
    stream.write(framed(Buffer.alloc(0), 2_000_000_000));
  });
  const seen = await look(server.port, health);
  assert.deepEqual(codeOf(seen), ['MESSAGE_TOO_LARGE', 8]);
});

test('a small message that becomes huge once decoded is refused', async () => {
  const fields = Array.from(
    { length: 900 },
    (_, index) => `int32 field_number_${index} = ${index + 1};`,
  );
  const protoContent = `syntax = "proto3"; package bomb;
    message Item { ${fields.join('\n')} } message Many { repeated Item items = 1; }
    service Bomb { rpc Get(Many) returns (Many); }`;
  await using server = await http2Server((stream) => {
    stream.respond(grpcHeaders, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': '0' });
    });
    stream.end(framed(Buffer.alloc(200_000, Buffer.from([0x0a, 0x00]))));
  });
  const config = { method: 'bomb.Bomb/Get', serviceDefinition: 'PROTO_FILE', protoContent };
  const seen = await look(server.port, config);
  assert.deepEqual(codeOf(seen), ['MESSAGE_TOO_LARGE', 8]);
});

test('a small message that becomes huge by maps, names of enums or Any is refused, too', async () => {
  const fields = Array.from({ length: 900 }, (_, index) => `int32 number_${index} = ${index + 1};`);
  const protoContent = `syntax = "proto3"; package bomb;
    import "google/protobuf/any.proto";
    message Item { ${fields.join('\n')} } message Many { repeated Item items = 1; }
    enum Long { ${'LONG_'.repeat(400)} = 0; }
    message All {
      map<int32, Many> map = 1;
      repeated Long packed = 2;
      google.protobuf.Any any = 3;
      google.protobuf.Any other = 4;
    }
    service Bomb { rpc Get(All) returns (All); }`;
  const field = (number: number, value: Buffer): Buffer => {
    const length: number[] = [];
    for (let left = value.length; ; left >>>= 7) {
      length.push(left > 127 ? (left & 127) | 128 : left);
      if (left <= 127) break;
    }
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), value]);
  };
  const items = Buffer.alloc(100_000, Buffer.from([0x0a, 0x00]));
  const url = field(1, Buffer.from('type.googleapis.com/bomb.Many'));
  const damaged = Buffer.concat([url, field(2, Buffer.from([0x0a, 0x7f]))]);
  const bombs = {
    map: field(1, field(2, items)),
    enum: field(2, Buffer.alloc(100_000)),
    any: field(3, Buffer.concat([url, field(2, items)])),
    behindADamagedAny: Buffer.concat([field(3, damaged), field(1, field(2, items))]),
  };
  const config = { method: 'bomb.Bomb/Get', serviceDefinition: 'PROTO_FILE', protoContent };
  for (const [name, bomb] of Object.entries(bombs)) {
    await using server = await http2Server((stream) => {
      stream.respond(grpcHeaders, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': '0' });
      });
      stream.end(framed(bomb));
    });
    const seen = await look(server.port, config);
    assert.deepEqual(codeOf(seen), ['MESSAGE_TOO_LARGE', 8], name);
  }
});

test('reflection that never ends, or answers garbage, is a failure', async () => {
  // A file descriptor that imports another one each time.
  let index = 0;
  const file = (): Buffer => {
    const field = (number: number, bytes: Buffer) =>
      Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
    const name = (at: number) => Buffer.from(`f${at}.proto`);
    const descriptor = Buffer.concat([field(1, name(index)), field(3, name(index + 1))]);
    index += 1;
    return field(4, field(1, descriptor));
  };
  await using endless = await http2Server((stream) => {
    stream.respond(grpcHeaders);
    stream.on('data', () => {
      stream.write(framed(file()));
    });
  });
  const many = await look(endless.port, get);
  assert.deepEqual(codeOf(many), ['REFLECTION_USELESS', 12]);
  assert.match(many.failure?.message ?? '', /more than 500 files/);

  await using garbage = await http2Server((stream) => {
    stream.respond(grpcHeaders);
    stream.write(framed(Buffer.from([0xff, 0xff, 0xff])));
  });
  assert.deepEqual(codeOf(await look(garbage.port, get)), ['REFLECTION_USELESS', 12]);
});

test('only the call itself tells the server of the deadline; reflection is limited by the agent alone', async () => {
  const hasTimeout: Record<string, boolean> = {};
  await using server = await http2Server((stream, headers) => {
    hasTimeout[headers[':path'] ?? ''] = 'grpc-timeout' in headers;
    stream.respond({ ...grpcHeaders, 'grpc-status': '12' }, { endStream: true });
  });
  await look(server.port, get);
  await look(server.port, byFile);
  const reflection = (version: string) =>
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  assert.deepEqual(hasTimeout, {
    ...{ [reflection('v1')]: false, [reflection('v1alpha')]: false },
    '/shop.v1.Orders/Get': true,
  });
  await using silent = await http2Server(() => undefined);
  assert.deepEqual(codeOf(await look(silent.port, get, { request: { timeout: 1 } })), [
    ...['TIMEOUT', 4],
  ]);
});

test('the authority of a check is sent in place of its host', async () => {
  const asked: unknown[] = [];
  await using server = await http2Server((stream, headers) => {
    asked.push(headers[':authority']);
    stream.respond({ ':status': 404 }, { endStream: true });
  });
  const context = { environment: [{ key: 'HOST', value: 'b.example', secret: false }] };
  for (const authority of [undefined, '', 'a.example:1', '{{HOST}}', '[::1]:2'])
    await look(server.port, authority === undefined ? health : { ...health, authority }, {
      context,
    });
  const own = `localhost:${server.port}`;
  assert.deepEqual(asked, [own, own, 'a.example:1', 'b.example', '[::1]:2']);
  const bad = [{ key: 'HOST', value: 'a/b', secret: false }];
  const refused = await look(
    server.port,
    { ...health, authority: '{{HOST}}' },
    { context: { environment: bad } },
  );
  assert.equal(refused.failure?.code, 'INVALID_AUTHORITY');
});

test('a server that ends the session with an error says why', async () => {
  await using server = await http2Server((stream) => {
    stream.session?.goaway(11, 0, Buffer.from('too_many_pings\x1b[1m'));
  });
  const seen = await look(server.port, health);
  assert.deepEqual(codeOf(seen), ['HTTP2_GOAWAY', 14]);
  assert.match(
    seen.failure?.message ?? '',
    /ENHANCE_YOUR_CALM \(GOAWAY with code 11\): "too_many_pings\\u001b\[1m"/,
  );
});

test('garbage in place of frames, and an early end, are failures of the network', async () => {
  await using garbage = await tcpServer((socket) => {
    socket.write(Buffer.alloc(100_000, 0xa5));
  });
  const noise = await look(garbage.port, health);
  assert.equal(noise.response.grpcStatusCode, 14);
  assert.equal(noise.failure?.isNetworkError, true);

  await using closing = await http2Server((stream) => {
    stream.session?.socket.destroy();
  });
  assert.deepEqual(codeOf(await look(closing.port, health)), ['SOCKET_CLOSED', 14]);
});

test('an answer that is HTTP but not gRPC says so', async () => {
  await using server = await http2Server((stream) => {
    stream.respond({ ':status': 503, 'content-type': 'text/html' });
    stream.end('<h1>busy</h1>');
  });
  const seen = await look(server.port, health);
  assert.deepEqual(codeOf(seen), ['NOT_GRPC', 14]);
  assert.match(seen.failure?.message ?? '', /HTTP 503 with text\/html/);
});

test('a response message that is not stored is still judged', async () => {
  await using server = await grpcServer();
  const seen = await look(
    server.port,
    { ...byFile, storeResponseBody: false },
    {
      assertions: [
        { source: 'GRPC_RESPONSE', comparison: 'EQUALS', property: '$.orderId', target: 'A-2' },
      ],
    },
  );
  assert.match(seen.verdict.reason ?? '', /found A-1/);
  assert.equal(seen.response.responseMessage, null);
});
