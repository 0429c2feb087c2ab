import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { systemClock } from '@monitor/shared/clock.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { openProbeEndpoint } from '../../../agent/probe/probe-endpoint.ts';
import { addressHash } from '../../../agent/probe/report.ts';
import type { NetworkAccess } from '../../../agent/net/network-access.ts';
import { plainNetwork } from '../../support/plain-network.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { answerTo, startDnsServer } from '../../support/dns-server.ts';
import { samplesOf } from '../../support/probe-text.ts';
import { httpServer, httpsServer, tcpServer, listening } from '../../support/servers.ts';
import { eventually } from '../../support/system.ts';
import { stopwatch } from '../../support/time-spent.ts';

const folder = mkdtempSync(join(tmpdir(), 'monitor-probe-'));
const stack = new AsyncDisposableStack();
const metrics = createMetrics(new Registry(), '1');
let base = '';

const modules = `
modules:
  http_2xx: { prober: http }
  http_hello: { prober: http, http: { fail_if_body_not_matches_regexp: ['hello'] } }
  http_small: { prober: http, http: { body_size_limit: 10B } }
  https: { prober: http, http: { fail_if_not_ssl: true, tls_config: { ca_file: ${join(folder, 'ca.pem')} } } }
  https_gone: { prober: http, http: { tls_config: { ca_file: ${join(folder, 'gone.pem')} } } }
  http2: { prober: http, http: { valid_http_versions: ['HTTP/2.0'], tls_config: { insecure_skip_verify: true } } }
  http2_off: { prober: http, http: { enable_http2: false, valid_http_versions: ['HTTP/2.0'], tls_config: { insecure_skip_verify: true } } }
  tcp: { prober: tcp }
  talk: { prober: tcp, tcp: { query_response: [{ expect: '^HI (\\w+)$', send: 'I AM \${1}' }, { expect: '^OK' }] } }
  dns: { prober: dns, dns: { query_name: here.example, query_type: A } }
  icmp: { prober: icmp }
  grpc: { prober: grpc }
`;

async function serve(network: NetworkAccess = plainNetwork): Promise<string> {
  const file = join(folder, 'modules.yml');
  writeFileSync(file, modules);
  const probe = await openProbeEndpoint({
    config: { PROBE_ENDPOINT: true, PROBE_CONFIG_FILE: file },
    ...{ network, metrics, clock: systemClock, logger: pino({ level: 'silent' }) },
  });
  assert.ok(probe);
  return `${stack.use(await httpServer(probe)).url}/probe`;
}

before(async () => {
  base = await serve();
});

after(async () => {
  await stack.disposeAsync();
  rmSync(folder, { recursive: true, force: true });
});

function ask(query: Record<string, string>, headers: Record<string, string> = {}, at = base) {
  return fetch(`${at}?${new URLSearchParams(query).toString()}`, { headers });
}

async function probe(module: string, target: string, headers: Record<string, string> = {}) {
  const response = await ask({ module, target }, headers);
  assert.equal(response.status, 200, await response.clone().text());
  return samplesOf(await response.text());
}

test('without the setting there is no endpoint', async () => {
  const config = { PROBE_ENDPOINT: false };
  const logger = pino({ level: 'silent' });
  const parts = { config, network: plainNetwork, metrics, clock: systemClock, logger };
  assert.equal(await openProbeEndpoint(parts), null);
});

test('a web page: status, redirects, phases that are part of the whole', async () => {
  await using target = await httpServer((request, response) => {
    if (request.url === '/r') response.writeHead(302, { location: '/' }).end();
    else setTimeout(() => response.end('hello'), 60);
  });
  const samples = await probe('http_2xx', `${target.url}/r`);
  const of = (series: string): number => samples.get(series) ?? Number.NaN;
  assert.deepEqual(
    [of('probe_success'), of('probe_http_status_code'), of('probe_http_redirects')],
    [1, 200, 1],
  );
  const nowhere = await probe('http_2xx', 'http://nowhere.invalid/');
  const none = ['probe_success', 'probe_http_status_code', 'probe_http_redirects'];
  assert.deepEqual(
    none.map((series) => nowhere.get(series)),
    [0, 0, 0],
  );
  assert.equal(of('probe_ip_protocol'), 4);
  assert.equal(of('probe_http_uncompressed_body_length'), 5);
  const phases = ['resolve', 'connect', 'tls', 'processing', 'transfer'];
  const sum = phases
    .map((phase) => of(`probe_http_duration_seconds{phase="${phase}"}`))
    .reduce((total, part) => total + part, 0);
  assert.ok(of('probe_http_duration_seconds{phase="processing"}') >= 0.055);
  assert.ok(sum <= of('probe_duration_seconds') + 0.001);
});

test('a pattern that is not met fails the probe and says that it was the pattern', async () => {
  await using target = await httpServer((request, response) => {
    response.end(request.url === '/hello' ? 'hello' : 'goodbye');
  });
  const good = await probe('http_hello', `${target.url}/hello`);
  assert.deepEqual([good.get('probe_success'), good.get('probe_failed_due_to_regex')], [1, 0]);
  const bad = await probe('http_hello', target.url);
  assert.deepEqual([bad.get('probe_success'), bad.get('probe_failed_due_to_regex')], [0, 1]);
});

test('a body over the limit of its module fails', async () => {
  await using target = await httpServer((request, response) => {
    response.end('x'.repeat(request.url === '/ten' ? 10 : 11));
  });
  assert.equal((await probe('http_small', `${target.url}/ten`)).get('probe_success'), 1);
  assert.equal((await probe('http_small', target.url)).get('probe_success'), 0);
});

test('a certificate: when it ends, whose it is, and which TLS was spoken', async () => {
  const authority = await makeAuthority();
  writeFileSync(join(folder, 'ca.pem'), authority.cert);
  const { key, cert } = await authority.issue({ host: '127.0.0.1', validForDays: 10 });
  await using target = await httpsServer(key, cert);
  const samples = await probe('https', target.url);
  assert.equal(samples.get('probe_success'), 1);
  const inTenDays = Date.now() / 1000 + 10 * 86_400;
  const end = samples.get('probe_ssl_earliest_cert_expiry') ?? 0;
  assert.ok(Math.abs(end - inTenDays) < 120);
  assert.equal(samples.get('probe_tls_version_info{version="TLS 1.3"}'), 1);
  assert.ok([...samples.keys()].some((series) => series.includes('issuer="CN=Test authority"')));
  // Without that authority it is not trusted.
  assert.equal((await probe('http_2xx', target.url)).get('probe_success'), 0);
});

test('a module that accepts HTTP/2 alone asks by it, unless it is off', async () => {
  const server = createSecureServer({
    ...(await selfSigned({ host: 'localhost', validForDays: 30 })),
    allowHTTP1: true,
  });
  server.on('request', (_request, response) => response.end('hi'));
  const target = stack.use(await listening(server, 'https')).url;
  const seen = async (module: string) => {
    const samples = await probe(module, target);
    return [samples.get('probe_success'), samples.get('probe_http_version')];
  };
  assert.deepEqual(await seen('http2'), [1, 2]);
  assert.deepEqual(await seen('http2_off'), [0, 1.1]);
});

test('a conversation by lines, in which what was heard is said again', async () => {
  await using target = await tcpServer((socket) => {
    socket.write('noise\r\nHI bob\r\n');
    socket.on('data', (said: Buffer) => {
      socket.end(said.toString() === 'I AM bob\n' ? 'OK then\n' : 'NO\n');
    });
  });
  const samples = await probe('talk', `127.0.0.1:${target.port}`);
  assert.deepEqual(
    [samples.get('probe_success'), samples.get('probe_failed_due_to_regex')],
    [1, 0],
  );
});

test('a peer that says nothing ends with the time that the scrape allows, less half a second', async () => {
  await using target = await tcpServer(() => undefined);
  const begunAt = performance.now();
  const sinceThen = stopwatch();
  const headers = { 'x-prometheus-scrape-timeout-seconds': '0.8' };
  const samples = await probe('talk', `127.0.0.1:${target.port}`, headers);
  assert.equal(samples.get('probe_success'), 0);
  const tookMs = sinceThen();
  assert.ok(performance.now() - begunAt > 250, 'it was given up too early');
  assert.ok(tookMs < 790, `${tookMs} ms`);
});

test('a name server is asked, by its address', async () => {
  await using server = await startDnsServer((query) =>
    answerTo(query, { answers: [{ type: 'A', name: 'here.example', ttl: 60, data: '192.0.2.7' }] }),
  );
  const samples = await probe('dns', server.address);
  assert.deepEqual([samples.get('probe_success'), samples.get('probe_dns_answer_rrs')], [1, 1]);
  assert.equal(server.queries[0]?.name, 'here.example');
});

test('an echo reply has its round trip and hop limit', async () => {
  const icmp = {
    way: 'datagram' as const,
    packetSize: 56,
    close: () => undefined,
    echo: () =>
      Promise.resolve([{ sequence: 0, success: true, type: 0, code: 0, rtt: 12, ttl: 57 }]),
  };
  const url = await serve({ ...plainNetwork, icmp });
  const response = await ask({ module: 'icmp', target: '127.0.0.1' }, {}, url);
  const samples = samplesOf(await response.text());
  assert.equal(samples.get('probe_icmp_duration_seconds{phase="rtt"}'), 0.012);
  assert.equal(samples.get('probe_icmp_reply_hop_limit'), 57);
});

test('an agent error says nothing about the target: the scrape fails', async () => {
  const response = await ask({ module: 'icmp', target: '127.0.0.1' });
  assert.equal(response.status, 503);
  assert.match(await response.text(), /^ICMP_UNAVAILABLE: /);
  const gone = await ask({ module: 'https_gone', target: 'https://127.0.0.1:1' });
  assert.equal(gone.status, 503);
  assert.match(await gone.text(), /gone\.pem/);
});

test('what is asked for wrongly is refused with the reason', async () => {
  const rows: [Record<string, string>, RegExp][] = [
    [{ module: 'nope', target: 'x' }, /Unknown module "nope"/],
    [{ module: 'grpc', target: 'x' }, /prober grpc is not supported/],
    [{ module: 'tcp' }, /Target parameter is missing/],
  ];
  for (const [query, expected] of rows) {
    const response = await ask(query);
    assert.equal(response.status, 400);
    assert.match(await response.text(), expected);
  }
  for (const target of ['not a url at all', 'ftp://x', '[::1', '']) {
    const response = await ask({ module: 'tcp', target });
    assert.ok([200, 400].includes(response.status), target);
  }
});

test('debug tells what happened, and what the metrics would have been', async () => {
  const response = await ask({ module: 'tcp', target: '127.0.0.1:1', debug: 'true' });
  const text = await response.text();
  assert.match(
    text,
    /^Logs for the probe:\n[^]*refused[^]*\nMetrics that would have been returned:\n/,
  );
  assert.match(text, /^probe_success 0$/m);
});

test('so many probes run at once, and what is beyond those that wait is turned away', async () => {
  const held: (() => void)[] = [];
  await using target = await httpServer((_request, response) => {
    held.push(() => response.end());
  });
  /** What was answered while nothing that runs has ended. */
  const early: number[] = [];
  const all = Array.from({ length: 170 }, async () => {
    const { status } = await ask({ module: 'http_2xx', target: target.url });
    early.push(status);
    return status;
  });
  await eventually(
    () => held.length >= 32 && early.length >= 10,
    () => `${held.length} at once, ${early.length} turned away`,
  );
  assert.deepEqual(early, new Array<number>(10).fill(503));
  assert.equal(held.length, 32, 'no more than that at once');
  const release = setInterval(() => {
    for (const end of held.splice(0)) end();
  }, 5);
  const statuses = await Promise.all(all);
  clearInterval(release);
  assert.equal(statuses.filter((status) => status === 503).length, 170 - 32 - 128);
});

test('the hash of an address is that of the exporter', () => {
  assert.equal(addressHash('127.0.0.1'), 3_668_918_509);
  assert.equal(addressHash('::1'), addressHash('0:0:0:0:0:0:0:1'));
  assert.equal(addressHash('::ffff:1.2.3.4'), addressHash('::ffff:102:304'));
});
