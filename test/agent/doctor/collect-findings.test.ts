/** Real networks that are broken in the ways networks are: doctor names the cause, and only that. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { collectFindings } from '../../../agent/doctor/collect-findings.ts';
import type { StepFinding } from '../../../agent/doctor/finding.ts';
import { openMachine, type Machine } from '../../../agent/doctor/machine.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { FakeControlPlane, locationKey } from '../../support/fake-control-plane.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { httpServer, httpsServer, rawServer, tcpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const key = locationKey;
const link = ['key', 'protocol', 'clock'];

async function collect(
  environment: Record<string, string>,
  {
    only = link,
    clock = systemClock,
    machine,
  }: { only?: string[]; clock?: Clock; machine?: Machine } = {},
) {
  using folder = temporaryFolder();
  const { report } = await collectFindings({
    environment: {
      ...{ PATH: process.env['PATH'], API_KEY: key },
      ...{ AGENT_DATA_DIR: folder.path, PACKET_CAPTURE: 'off' },
      ...environment,
    },
    clock,
    choice: { only },
    ...(machine && { machine }),
  });
  assert.equal(JSON.stringify(report).includes('0123456789'), false, 'the key was shown');
  return report.findings;
}

/** The first failure is the cause; what needs it is skipped and says so. */
function assertCause(findings: readonly StepFinding[], id: string, words: RegExp): void {
  const failed = findings.filter(({ verdict }) => verdict === 'fail');
  const all = JSON.stringify(findings, null, 1);
  assert.deepEqual([...new Set(failed.map((finding) => finding.id))], [id], all);
  assert.match(`${failed[0]?.evidence ?? ''} -> ${failed[0]?.fix ?? ''}`, words);
  const later = findings.slice(findings.findIndex((finding) => finding.id === id) + 1);
  for (const { verdict, evidence } of later) {
    if (verdict === 'skip')
      assert.match(evidence, new RegExp(`follows from the failure of ${id}|control plane`));
  }
}

const find = (findings: readonly StepFinding[], id: string) =>
  findings.find((one) => one.id === id);

test('a healthy link: every step says what it saw', async () => {
  await using fake = await FakeControlPlane.start({ key });
  const findings = await collect(
    { CONTROL_PLANE_URL: fake.url },
    { only: [...link, 'link-quality'] },
  );
  for (const { id, verdict, evidence } of findings)
    assert.equal(verdict, 'ok', `${id}: ${evidence}`);
  assert.match(find(findings, 'key')?.evidence ?? '', /pl_…cdef accepted, for location test-place/);
  const ids = fake.requestsOf('checkIn').map(({ body }) => (body as { agentId: string }).agentId);
  const left = fake.requestsOf('goodbye').map(({ body }) => (body as { agentId: string }).agentId);
  assert.deepEqual(left, ids, 'the agent it pretended to be did not leave again');
});

test('what only checks need that are not run here is left out', async () => {
  const leftOut = async (types: string): Promise<string[]> => {
    const only = ['work-directory', 'icmp', 'runtimes'];
    const findings = await collect({ AGENT_CHECK_TYPES: types }, { only });
    return findings.flatMap(({ id, evidence }) =>
      evidence.includes('AGENT_CHECK_TYPES has no type') ? [id] : [],
    );
  };
  assert.deepEqual(await leftOut('URL,TCP'), ['work-directory', 'icmp', 'runtimes']);
  assert.deepEqual(await leftOut('MONITORS'), ['work-directory', 'runtimes']);
  assert.deepEqual(await leftOut('MULTI_STEP'), ['icmp']);
});

test('the port is closed', async () => {
  assertCause(
    await collect({ CONTROL_PLANE_URL: 'http://127.0.0.1:1' }),
    'connect',
    /refuses.*port 1/,
  );
});

test('a name that does not exist', async () => {
  using root = temporaryFolder();
  const real = openMachine();
  // No server to ask: what the operating system finds out alone decides.
  const machine = {
    ...real,
    read: (path: string) => (path === '/etc/resolv.conf' ? '' : real.read(path)),
  };
  const findings = await collect(
    { CONTROL_PLANE_URL: 'http://nowhere.invalid', HOME: root.path },
    { machine },
  );
  assertCause(findings, 'dns', /nowhere\.invalid.*names no server/);
});

test('no key; a key that is refused; the clock is judged all the same', async () => {
  await using fake = await FakeControlPlane.start({ key: `pl_${'0'.repeat(64)}` });
  const url = { CONTROL_PLANE_URL: fake.url };
  assertCause(await collect({ ...url, API_KEY: '' }), 'key', /API_KEY is not set/);
  const short = await collect(
    { ...url, API_KEY: key.slice(0, -1) },
    { only: [...link, 'settings'] },
  );
  assertCause(short, 'settings', /66 characters, and a key has 67/);
  assert.equal(find(short, 'control-plane')?.verdict, 'ok');
  const refused = await collect(url);
  assertCause(refused, 'key', /refuses pl_…cdef/);
  assert.equal(find(refused, 'control-plane')?.verdict, 'ok');
  assert.equal(find(refused, 'clock')?.verdict, 'ok');
});

test('a clock that is wrong is a warning of its own', async () => {
  await using fake = await FakeControlPlane.start({ key });
  fake.clockOffsetMs = -90_000;
  const findings = await collect({ CONTROL_PLANE_URL: fake.url });
  assert.match(find(findings, 'clock')?.evidence ?? '', /9\d seconds ahead of|2 minutes ahead of/);
});

test('a page in place of the control plane, another server, a gateway without one behind it', async () => {
  const serve = (status: number, body: string, headers = {}) =>
    httpServer((_request, response) => response.writeHead(status, headers).end(body));
  await using portal = await serve(200, '<html><title>Guest network</title></html>', {
    'content-type': 'text/html',
  });
  assertCause(
    await collect({ CONTROL_PLANE_URL: portal.url }),
    'control-plane',
    /"Guest network".*captive portal/,
  );
  await using other = await serve(404, 'not here');
  assertCause(await collect({ CONTROL_PLANE_URL: other.url }), 'control-plane', /404/);
  await using gateway = await serve(502, 'bad gateway');
  assertCause(
    await collect({ CONTROL_PLANE_URL: gateway.url }),
    'control-plane',
    /502.*behind it is not/,
  );
  await using moved = await serve(301, '', { location: 'https://elsewhere.example/' });
  assertCause(
    await collect({ CONTROL_PLANE_URL: moved.url }),
    'control-plane',
    /redirects to https:\/\/elsewhere/,
  );
});

test('certificates: of an unknown authority, self-signed, expired, for another host', async () => {
  const authority = await makeAuthority();
  const wishes = [
    [
      await authority.issue({ host: '127.0.0.1', validForDays: 30 }),
      /not known here: "CN=Test authority".*NODE_EXTRA_CA_CERTS/,
    ],
    [await selfSigned({ host: '127.0.0.1', validForDays: 30 }), /signed itself: CN=127\.0\.0\.1/],
    [await selfSigned({ host: '127.0.0.1', validForDays: -3 }), /CN=127\.0\.0\.1 expired on/],
  ] as const;
  for (const [{ key: privateKey, cert }, words] of wishes) {
    await using server = await httpsServer(privateKey, cert);
    assertCause(await collect({ CONTROL_PLANE_URL: server.url }), 'tls', words);
  }
});

test('a certificate that seems expired is explained by a wrong clock when the server says so', async () => {
  const { key: privateKey, cert } = await selfSigned({ host: '127.0.0.1', validForDays: 30 });
  await using server = await httpsServer(privateKey, cert);
  const ahead: Clock = { ...systemClock, now: () => Date.now() + 400 * 86_400_000 };
  const findings = await collect({ CONTROL_PLANE_URL: server.url }, { clock: ahead });
  assertCause(findings, 'tls', /the clock of this machine is wrong.*the server says.*NTP/);
});

test('a file of authorities that Node ignores is named as the cause', async () => {
  using folder = temporaryFolder();
  const authority = await makeAuthority();
  const { key: privateKey, cert } = await authority.issue({ host: '127.0.0.1', validForDays: 30 });
  await using server = await httpsServer(privateKey, cert);
  const file = join(folder.path, 'ca.pem');
  const settings = { CONTROL_PLANE_URL: server.url, NODE_EXTRA_CA_CERTS: file };
  assertCause(await collect(settings), 'tls', /ca\.pem, which does not exist/);
  writeFileSync(file, 'not a certificate');
  assertCause(await collect(settings), 'tls', /is not in PEM/);
  writeFileSync(file, authority.cert.replace(/\n\S+\n/, '\nAAAA\n'));
  assertCause(await collect(settings), 'tls', /cannot be read/);
});

test('TLS where there is none, silence, and connections that are cut', async () => {
  await using plain = await httpServer((_request, response) => response.end('plain'));
  const secure = `https://127.0.0.1:${plain.port}`;
  assertCause(await collect({ CONTROL_PLANE_URL: secure }), 'tls', /does not speak TLS/);
  await using silent = await tcpServer(() => undefined);
  const quiet = `https://127.0.0.1:${silent.port}`;
  assertCause(await collect({ CONTROL_PLANE_URL: quiet }), 'tls', /is then silent/);
  await using cutting = await rawServer('', 'reset');
  const cut = `http://127.0.0.1:${cutting.port}`;
  assertCause(await collect({ CONTROL_PLANE_URL: cut }), 'control-plane', /cuts the connection/);
});

test('proxies: gone, with a login, without permission, that reach nothing', async () => {
  const url = { CONTROL_PLANE_URL: 'https://127.0.0.1:1' };
  assertCause(
    await collect({ ...url, HTTPS_PROXY: 'http://127.0.0.1:1' }),
    'proxy',
    /127\.0\.0\.1:1 refuses/,
  );
  await using wanting = await proxyServer({ credentials: 'user:secret-0123456789' });
  const nameless = `http://127.0.0.1:${wanting.port}`;
  assertCause(
    await collect({ ...url, HTTPS_PROXY: nameless }),
    'proxy',
    /asks for credentials \(407\)/,
  );
  const wrong = `http://user:wrong-0123456789@127.0.0.1:${wanting.port}`;
  assertCause(
    await collect({ ...url, HTTPS_PROXY: wrong }),
    'proxy',
    /refuses the credentials \(407\)/,
  );
  await using refusing = await proxyServer({ refusesWith: 403 });
  assertCause(
    await collect({ ...url, HTTPS_PROXY: refusing.url }),
    'proxy',
    /refuses the way to 127\.0\.0\.1:1 \(403\)/,
  );
  await using lost = await proxyServer({ refusesWith: 503 });
  assertCause(
    await collect({ ...url, HTTPS_PROXY: lost.url }),
    'connect',
    /could not connect to 127\.0\.0\.1:1 \(503\)/,
  );
  const passed = await collect({ ...url, HTTPS_PROXY: lost.url, NO_PROXY: '127.0.0.1' });
  assert.match(find(passed, 'proxy')?.evidence ?? '', /none is used: NO_PROXY has "127\.0\.0\.1"/);
});

test('through a proxy, the certificate behind the tunnel is looked at', async () => {
  const authority = await makeAuthority();
  const { key: privateKey, cert } = await authority.issue({ host: '127.0.0.1', validForDays: 30 });
  await using server = await httpsServer(privateKey, cert);
  await using proxy = await proxyServer();
  const findings = await collect({ CONTROL_PLANE_URL: server.url, HTTPS_PROXY: proxy.url });
  assertCause(
    findings,
    'tls',
    /"CN=Test authority"; the proxy http:\/\/127\.0\.0\.1:\d+ probably intercepts TLS/,
  );
});

test('folders: a file in the way, and nothing stays behind where all is well', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'file');
  writeFileSync(file, '');
  const only = ['data-directory', 'work-directory'];
  const broken = await collect(
    { AGENT_DATA_DIR: join(file, 'data'), AGENT_WORK_DIR: join(file, 'work') },
    { only },
  );
  assert.deepEqual(
    broken.map(({ verdict }) => verdict),
    ['fail', 'fail'],
  );
  const [data, work] = [join(folder.path, 'a/b'), join(folder.path, 'c')];
  const sound = await collect({ AGENT_DATA_DIR: data, AGENT_WORK_DIR: work }, { only });
  assert.equal(
    sound[0]?.verdict === 'ok' || sound[0]?.verdict === 'warn',
    true,
    sound[0]?.evidence,
  );
  assert.deepEqual(readdirSync(folder.path), ['file']);
});

test('the process that holds the health port is named', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  try {
    const findings = await collect(
      { AGENT_HEALTH_PORT: String(port), AGENT_HEALTH_HOST: '127.0.0.1' },
      { only: ['health-port'] },
    );
    assertCause(findings, 'health-port', new RegExp(`held by .*\\(process ${process.pid}\\)`));
  } finally {
    server.close();
  }
});

test('unusable settings are each named, and everything else waits for them', async () => {
  const { report, isUsable } = await collectFindings({
    environment: { LOG_LEVEL: 'LOUD', AGENT_HEALTH_PORT: 'x', API_KEY: key },
    clock: systemClock,
  });
  assert.equal(isUsable, false);
  const failed = report.findings.filter(({ verdict }) => verdict === 'fail');
  assert.deepEqual(
    failed.map(({ id }) => id),
    ['settings', 'settings'],
  );
  assert.equal(report.findings.filter(({ verdict }) => verdict === 'skip').length, 27);
  assert.equal(report.ok, false);
});

test('a browser that lacks a library', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'chromium');
  writeFileSync(
    path,
    '#!/bin/sh\necho "chromium: error while loading shared libraries: libnss3.so: cannot open shared object file: No such file or directory" >&2; exit 127\n',
  );
  chmodSync(path, 0o755);
  const lacking = await collect({ AGENT_CHROMIUM_PATH: path }, { only: ['browser'] });
  assertCause(lacking, 'browser', /lacks libnss3\.so.*apt-get install libnss3/);
});
