/** The golden comparison: the exporter of Prometheus and an agent probe the same targets. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { createServer as createHttpsServer } from 'node:https';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { answerTo, startDnsServer, type DnsServer } from '../../support/dns-server.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { locationKey } from '../../support/fake-control-plane.ts';
import { freePort, Program } from '../../../proof/program.ts';
import { samplesOf } from '../../support/probe-text.ts';
import { httpServer, tcpServer, tlsServer, type TestServer } from '../../support/servers.ts';

const exporter = '/usr/bin/prometheus-blackbox-exporter';
const folder = mkdtempSync(join(tmpdir(), 'monitor-blackbox-'));
const stack = new AsyncDisposableStack();

let theirs = '';
let ours = '';
let http: TestServer;
let secure: { url: string };
let wild: { url: string };
let tcp: TestServer;
let banner: TestServer;
let tls: TestServer;
let mail: TestServer;
let dns: DnsServer;

const modules = (authority: string): string => `
modules:
  http: { prober: http, timeout: 5s }
  http_ip4: { prober: http, http: { preferred_ip_protocol: ip4 } }
  http_post: { prober: http, http: { method: POST, body: 'a=1', headers: { Content-Type: text/plain } } }
  http_no_follow: { prober: http, http: { follow_redirects: false } }
  http_no_follow_302: { prober: http, http: { follow_redirects: false, valid_status_codes: [302] } }
  http_404: { prober: http, http: { valid_status_codes: [404] } }
  http_10: { prober: http, http: { valid_http_versions: [HTTP/1.0] } }
  http_11: { prober: http, http: { valid_http_versions: [HTTP/1.1, HTTP/2.0] } }
  http_body: { prober: http, http: { fail_if_body_not_matches_regexp: ['h[e]llo'] } }
  http_no_body: { prober: http, http: { fail_if_body_matches_regexp: ['(?i)HELLO'] } }
  http_header: { prober: http, http: { fail_if_header_not_matches: [{ header: X-Kind, regexp: '^shop$' }] } }
  http_missing: { prober: http, http: { fail_if_header_matches: [{ header: X-Nothing, regexp: 'x' }] } }
  http_may_miss: { prober: http, http: { fail_if_header_matches: [{ header: X-Nothing, regexp: 'x', allow_missing: true }] } }
  http_needs_ssl: { prober: http, http: { fail_if_not_ssl: true } }
  http_auth: { prober: http, http: { basic_auth: { username: me, password: secret } } }
  https_ca: { prober: http, http: { tls_config: { ca_file: ${authority} } } }
  https_no_ssl: { prober: http, http: { fail_if_ssl: true, tls_config: { ca_file: ${authority} } } }
  https_any: { prober: http, http: { tls_config: { insecure_skip_verify: true } } }
  https_named: { prober: http, http: { tls_config: { ca_file: ${authority}, server_name: other.example } } }
  tcp: { prober: tcp, timeout: 2s }
  ssh: { prober: tcp, timeout: 2s, tcp: { query_response: [{ expect: '^SSH-2.0-' }, { send: SSH-2.0-blackbox-ssh-check }] } }
  pop: { prober: tcp, timeout: 2s, tcp: { query_response: [{ expect: '^+OK' }] } }
  groups: { prober: tcp, timeout: 2s, tcp: { query_response: [{ expect: '^SSH-2.0-(\\S+)', send: 'HELLO \${1}' }, { expect: '^YOU ARE (.+)' }] } }
  tls: { prober: tcp, timeout: 2s, tcp: { tls: true, tls_config: { ca_file: ${authority} } } }
  tls_any: { prober: tcp, timeout: 2s, tcp: { tls: true, tls_config: { insecure_skip_verify: true } } }
  starttls: { prober: tcp, timeout: 3s, tcp: { tls_config: { ca_file: ${authority} }, query_response: [{ expect: '^220 ' }, { send: "STARTTLS\\r" }, { expect: '^220' }, { starttls: true }, { send: "EHLO x\\r" }, { expect: '^250' }] } }
  dns_a: { prober: dns, timeout: 2s, dns: { query_name: here.example, query_type: A } }
  dns_tcp: { prober: dns, timeout: 2s, dns: { query_name: here.example, query_type: A, transport_protocol: tcp } }
  dns_none: { prober: dns, timeout: 2s, dns: { query_name: none.example, query_type: A } }
  dns_wants_none: { prober: dns, timeout: 2s, dns: { query_name: none.example, query_type: A, valid_rcodes: [NXDOMAIN] } }
  dns_soa: { prober: dns, timeout: 2s, dns: { query_name: zone.example, query_type: SOA } }
  dns_match: { prober: dns, timeout: 2s, dns: { query_name: here.example, query_type: A, validate_answer_rrs: { fail_if_not_matches_regexp: ['here.example.\\t300\\tIN\\tA\\t192.0.2.7'] } } }
  dns_mismatch: { prober: dns, timeout: 2s, dns: { query_name: here.example, query_type: A, validate_answer_rrs: { fail_if_matches_regexp: ['192.0.2.7'] } } }
  icmp: { prober: icmp, timeout: 2s }
  icmp_ip4: { prober: icmp, timeout: 2s, icmp: { preferred_ip_protocol: ip4, ip_protocol_fallback: false } }
`;

async function untilAnswers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if ((await fetch(url).catch(() => null)) !== null) return;
    await pause(100);
  }
  throw new Error(`${url} does not answer`);
}

before(async () => {
  assert.ok(existsSync(exporter), 'install the Debian package prometheus-blackbox-exporter');
  const authority = await makeAuthority();
  const good = await authority.issue({ host: '127.0.0.1', validForDays: 30 });
  const own = await selfSigned({ host: '127.0.0.1', validForDays: 5 });
  const authorityFile = join(folder, 'ca.pem');
  writeFileSync(authorityFile, authority.cert);
  http = stack.use(
    await httpServer((request, response) => {
      const { url = '/', method } = request;
      if (url === '/r') response.writeHead(302, { location: '/' }).end();
      else if (url === '/r2') response.writeHead(301, { location: '/r' }).end('moved');
      else if (url === '/missing') response.writeHead(404).end('no');
      else if (url === '/chunks') {
        response.write('one');
        response.end('two');
      } else if (url === '/auth') {
        const isKnown = request.headers.authorization === `Basic ${btoa('me:secret')}`;
        response.writeHead(isKnown ? 200 : 401).end();
      } else {
        const body = `hello ${method}`;
        response.writeHead(200, {
          ...{ 'content-length': body.length, 'x-kind': 'shop' },
          'last-modified': 'Wed, 21 Oct 2015 07:28:00 GMT',
        });
        response.end(body);
      }
    }),
  );
  const listen = async (pair: { key: string; cert: string }) => {
    const server = createHttpsServer({ ...pair, maxVersion: 'TLSv1.2' }, (_request, response) =>
      response.end('secure'),
    );
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `https://127.0.0.1:${port}` };
  };
  secure = await listen(good);
  wild = await listen(own);
  tcp = stack.use(await tcpServer(() => undefined));
  banner = stack.use(
    await tcpServer((socket) => {
      socket.write('SSH-2.0-Test_1 hello\r\n');
      socket.on('data', (data: Buffer) => {
        const [, name] = /^HELLO (\S+)/.exec(data.toString()) ?? [];
        if (name !== undefined) socket.write(`YOU ARE ${name}\n`);
      });
    }),
  );
  tls = stack.use(await tlsServer(good));
  mail = stack.use(
    await tcpServer((socket) => {
      socket.write('220 mail ready\r\n');
      socket.once('data', () => {
        socket.write('220 go on\r\n');
        const upgraded = new TLSSocket(socket, {
          isServer: true,
          secureContext: createSecureContext(good),
        });
        upgraded.on('error', () => undefined);
        upgraded.on('data', () => upgraded.write('250 fine\r\n'));
      });
    }),
  );
  dns = stack.use(
    await startDnsServer((query) => {
      if (query.name === 'none.example') return answerTo(query, { rcode: 'NXDOMAIN' } as never);
      if (query.name === 'zone.example') {
        const data = {
          ...{ mname: 'ns.zone.example', rname: 'me.zone.example', serial: 2026112101 },
          ...{ refresh: 1, retry: 2, expire: 3, minimum: 4 },
        };
        return answerTo(query, {
          answers: [{ type: 'SOA', name: 'zone.example', ttl: 300, data }],
        });
      }
      return answerTo(query, {
        answers: [{ type: 'A', name: 'here.example', ttl: 300, data: '192.0.2.7' }],
      });
    }),
  );
  const file = join(folder, 'modules.yml');
  writeFileSync(file, modules(authorityFile));
  const [theirPort, ourPort] = [await freePort(), await freePort()];
  const child = spawn(
    exporter,
    [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${theirPort}`],
    { stdio: 'ignore' },
  );
  stack.defer(() => {
    child.kill('SIGKILL');
  });
  const agent = stack.use(
    new Program(['agent/monitor-agent.js', 'start'], {
      ...{ API_KEY: locationKey, CONTROL_PLANE_URL: 'http://127.0.0.1:1' },
      ...{ AGENT_HEALTH_PORT: String(ourPort), AGENT_HEALTH_HOST: '127.0.0.1' },
      ...{ AGENT_DATA_DIR: join(folder, 'data'), AGENT_WORK_DIR: join(folder, 'work') },
      ...{ PROBE_ENDPOINT: 'on', PROBE_CONFIG_FILE: file, LOG_FORMAT: 'json' },
    }),
  );
  await agent.line('agent has started');
  theirs = `http://127.0.0.1:${theirPort}/probe`;
  ours = `http://127.0.0.1:${ourPort}/probe`;
  await untilAnswers(`http://127.0.0.1:${theirPort}/-/healthy`);
});

after(async () => {
  await stack.disposeAsync();
  rmSync(folder, { recursive: true, force: true });
});

/** What a stopwatch says differs. */
const isTime = (series: string): boolean => /_duration_seconds|_lookup_time_seconds/.test(series);

const target = (server: TestServer): string => `127.0.0.1:${server.port}`;

const cases: [module: string, target: () => string][] = [
  ['http', () => http.url],
  ['http', () => `${http.url}/r2`],
  ['http', () => `${http.url}/missing`],
  ['http', () => `${http.url}/chunks`],
  ['http', () => `127.0.0.1:${http.port}/r`],
  ['http', () => 'http://127.0.0.1:1/'],
  ['http', () => 'http://nobody.invalid/'],
  ['http_ip4', () => `http://localhost:${http.port}/`],
  ['http_post', () => http.url],
  ['http_no_follow', () => `${http.url}/r`],
  ['http_no_follow_302', () => `${http.url}/r`],
  ['http_404', () => `${http.url}/missing`],
  ['http_10', () => http.url],
  ['http_11', () => http.url],
  ['http_body', () => http.url],
  ['http_body', () => `${http.url}/chunks`],
  ['http_no_body', () => http.url],
  ['http_header', () => http.url],
  ['http_header', () => `${http.url}/chunks`],
  ['http_missing', () => http.url],
  ['http_may_miss', () => http.url],
  ['http_needs_ssl', () => http.url],
  ['http_auth', () => `${http.url}/auth`],
  ['http', () => `${http.url}/auth`],
  ['https_ca', () => secure.url],
  ['https_no_ssl', () => secure.url],
  ['https_any', () => wild.url],
  ['https_any', () => secure.url],
  ['https_ca', () => wild.url],
  ['https_named', () => secure.url],
  ['tcp', () => target(tcp)],
  ['tcp', () => '127.0.0.1:1'],
  ['tcp', () => 'nobody.invalid:80'],
  ['ssh', () => target(banner)],
  ['pop', () => target(banner)],
  ['groups', () => target(banner)],
  ['ssh', () => target(tcp)],
  ['tls', () => target(tls)],
  ['tls_any', () => target(tls)],
  ['tls', () => target(tcp)],
  ['starttls', () => target(mail)],
  ['dns_a', () => dns.address],
  ['dns_tcp', () => dns.address],
  ['dns_none', () => dns.address],
  ['dns_wants_none', () => dns.address],
  ['dns_soa', () => dns.address],
  ['dns_match', () => dns.address],
  ['dns_mismatch', () => dns.address],
  ['dns_a', () => '127.0.0.1:1'],
  ['icmp', () => '127.0.0.1'],
  ['icmp_ip4', () => 'localhost'],
];

for (const [index, [module, place]] of cases.entries()) {
  test(`${index + 1}: ${module} says the same of the same target`, async () => {
    const query = new URLSearchParams({ module, target: place() });
    const ask = async (url: string) => {
      const response = await fetch(`${url}?${query.toString()}`);
      assert.equal(response.status, 200, await response.clone().text());
      return samplesOf(await response.text());
    };
    const [reference, answer] = [await ask(theirs), await ask(ours)];
    assert.deepEqual([...answer.keys()].sort(), [...reference.keys()].sort());
    for (const [series, value] of reference) {
      if (!isTime(series)) assert.equal(answer.get(series), value, series);
    }
  });
}
