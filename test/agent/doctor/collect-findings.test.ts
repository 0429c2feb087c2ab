/** Real networks that are broken in the ways networks are: doctor names the cause, and only that. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { collectFindings } from '../../../agent/doctor/collect-findings.ts';
import { openMachine, type Machine } from '../../../agent/doctor/machine.ts';
import type { StepFinding } from '../../../agent/doctor/finding.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { FakeControlPlane, locationKey } from '../../support/fake-control-plane.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { httpServer, httpsServer, rawServer, tcpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const key = locationKey;
const link = ['key', 'protocol', 'clock'];

/** This machine, whatever else it does: where tasks want a CPU, a limit of time decides nothing. */
const real = openMachine();
const quiet: Machine = {
  ...real,
  read: (path) => (path === '/proc/loadavg' ? '0.1 0.1 0.1 1/300 7' : real.read(path)),
};

async function collect(
  environment: Record<string, string>,
  { only = link }: { only?: string[] } = {},
) {
  using folder = temporaryFolder();
  const { report } = await collectFindings({
    environment: {
      ...{ PATH: process.env['PATH'], API_KEY: key },
      ...{ AGENT_DATA_DIR: folder.path, PACKET_CAPTURE: 'off' },
      ...environment,
    },
    ...{ clock: systemClock, choice: { only }, machine: quiet },
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

test('the clock and the control plane are judged though the key is refused', async () => {
  await using fake = await FakeControlPlane.start({ key: `pl_${'0'.repeat(64)}` });
  const short = { CONTROL_PLANE_URL: fake.url, API_KEY: key.slice(0, -1) };
  const cut = await collect(short, { only: [...link, 'settings'] });
  assertCause(cut, 'settings', /66 characters, and a key has 67/);
  assert.equal(find(cut, 'control-plane')?.verdict, 'ok');
  const refused = await collect({ CONTROL_PLANE_URL: fake.url });
  assertCause(refused, 'key', /refuses pl_…cdef/);
  for (const id of ['control-plane', 'clock']) assert.equal(find(refused, id)?.verdict, 'ok', id);
});

test('what environments make only slowly: servers, files of authorities and proxies', async () => {
  using folder = temporaryFolder();
  const authority = await makeAuthority();
  const own = await authority.issue({ host: '127.0.0.1', validForDays: 30 });
  await using secure = await httpsServer(own.key, own.cert);
  await using plain = await httpServer((_request, response) => {
    response.writeHead(502, { 'content-type': 'text/html' }).end('<title>Guest network</title>');
  });
  await using silent = await tcpServer(() => undefined);
  await using cutting = await rawServer('', 'reset');
  await using wanting = await proxyServer({ credentials: 'user:secret-0123456789' });
  await using lost = await proxyServer({ refusesWith: 503 });
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const trusts = (path: string) => ({
    ...{ CONTROL_PLANE_URL: secure.url, NODE_EXTRA_CA_CERTS: path },
  });
  const through = (proxy: string) => ({
    ...{ CONTROL_PLANE_URL: 'https://127.0.0.1:1', HTTPS_PROXY: proxy },
  });
  const stranger = `http://user:wrong-0123456789@127.0.0.1:${wanting.port}`;
  const rows: [settings: Record<string, string>, id: string, words: RegExp][] = [
    [{ CONTROL_PLANE_URL: plain.url }, 'control-plane', /502.*behind it is not/],
    [{ CONTROL_PLANE_URL: `https://127.0.0.1:${plain.port}` }, 'tls', /does not speak TLS/],
    [{ CONTROL_PLANE_URL: `https://127.0.0.1:${silent.port}` }, 'tls', /is then silent/],
    [{ CONTROL_PLANE_URL: cutting.url.replace('tcp', 'http') }, 'control-plane', /cuts the conn/],
    [trusts(file('text.pem', 'not a certificate')), 'tls', /is not in PEM/],
    [
      trusts(file('ca.pem', authority.cert.replace(/\n\S+\n/, '\nAAAA\n'))),
      'tls',
      /cannot be read/,
    ],
    [through(stranger), 'proxy', /refuses the credentials \(407\)/],
    [through(lost.url), 'connect', /could not connect to 127\.0\.0\.1:1 \(503\)/],
  ];
  for (const [settings, id, words] of rows) assertCause(await collect(settings), id, words);
  const passed = await collect({ ...through(lost.url), NO_PROXY: '127.0.0.1' });
  assert.match(find(passed, 'proxy')?.evidence ?? '', /none is used: NO_PROXY has "127\.0\.0\.1"/);
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
  await using server = await tcpServer(() => undefined);
  const findings = await collect(
    { AGENT_HEALTH_PORT: String(server.port), AGENT_HEALTH_HOST: '127.0.0.1' },
    { only: ['health-port'] },
  );
  assertCause(findings, 'health-port', new RegExp(`held by .*\\(process ${process.pid}\\)`));
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
