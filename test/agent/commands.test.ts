// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import test from 'node:test';
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import { agent } from '../support/agent-command.ts';
import { makeAuthority } from '../support/certificates.ts';
import { locationKey } from '../support/fake-control-plane.ts';
import { httpServer, httpsServer } from '../support/servers.ts';
import { temporaryFolder } from '../support/system.ts';
import { surroundings } from '../../proof/program.ts';
import { agentProgram } from '../support/programs.ts';

test('run ends with 0, 1 or 2, and says what it saw', async () => {
  await using server = await httpServer((request, response) => {
    response.writeHead(request.url === '/ok' ? 200 : 503).end();
  });
  const passed = await agent(['run', `${server.url}/ok`]);
  assert.equal(passed.code, 0);
  assert.match(passed.out, /PASSED/);
  assert.match(passed.out, /firstByte/);
  const failed = await agent(['run', `${server.url}/broken`, '--json']);
  assert.equal(failed.code, 1);
  const result = JSON.parse(failed.out) as { verdict: string; reason: string };
  assert.deepEqual([result.verdict, result.reason], ['failed', 'HTTP 503']);
});

test('run takes a file with assertions', async () => {
  using folder = temporaryFolder();
  await using server = await httpServer((_request, response) => response.end());
  const file = join(folder.path, 'check.json');
  const check = {
    checkType: 'URL',
    name: 'from a file',
    request: {
      url: server.url,
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '201' }],
    },
  };
  writeFileSync(file, JSON.stringify(check));
  const failed = await agent(['run', file]);
  assert.equal(failed.code, 1);
  assert.match(failed.out, /expected STATUS_CODE EQUALS 201, found 200/);
});

test('help ends well when nobody reads it to its end', async () => {
  const child = spawn(process.execPath, [agentProgram, 'start', '--help'], { env: surroundings() });
  child.stdout.destroy();
  let error = '';
  child.stderr.on('data', (chunk) => (error += String(chunk)));
  assert.deepEqual([await once(child, 'close'), error], [[0, null], '']);
});

test('the program as it is installed takes its own options, and says what its output cannot take', () => {
  const env = { ...surroundings(), PATH: [dirname(process.execPath), '/bin'].join(delimiter) };
  const full = openSync('/dev/full', 'w');
  const tried = (stdout: number | 'pipe', ...words: string[]): string => {
    const { status, stderr } = spawnSync(resolve(agentProgram), words, {
      ...{ env, encoding: 'utf8' },
      stdio: ['ignore', stdout, 'pipe'],
    });
    return `${status} ${String(stderr)}`;
  };
  const missing = ['run', 'icmp://127.0.0.1', '--env-file', 'nowhere.env'];
  assert.match(tried('pipe', ...missing), /^2 the variables in "nowhere\.env" cannot be read: /);
  assert.match(tried(full, 'version'), /^2 the output cannot be written: ENOSPC[^\n]*output\n$/);
  closeSync(full);
});

test('run takes a check as the API answers with it', async () => {
  using folder = temporaryFolder();
  await using server = await httpServer((_request, response) => response.end());
  const file = join(folder.path, 'check.json');
  const read = {
    ...{ id: '1', checkType: 'URL', name: 'a', created_at: 'x', request: { url: server.url } },
  };
  // Editors of other systems begin a file with a mark.
  writeFileSync(file, `\ufeff${JSON.stringify(read)}`);
  assert.equal((await agent(['run', file])).code, 0);
});

test('run shows a failing expectation once, with the line of the script that it stands in', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'check.json');
  const script =
    "import { test, expect } from '@playwright/test';\ntest('a', () => {\n  expect(1).toBe(2);\n});\n";
  writeFileSync(file, JSON.stringify({ checkType: 'MULTI_STEP', name: 'a', script }));
  const { code, out } = await agent(['run', file], { AGENT_WORK_DIR: join(folder.path, 'runs') });
  assert.equal(code, 1, out);
  assert.equal(out.split('expect(received)').length, 2, out);
  assert.match(out, /> 3 \| {3}expect\(1\)\.toBe\(2\);\n {4}\| {13}\^/);
  assert.match(out, /at script\.spec\.js:3:13/);
});

test('doctor names the cause, what follows from it, and the fix', async () => {
  using folder = temporaryFolder();
  const environment = {
    AGENT_DATA_DIR: folder.path,
    API_KEY: locationKey,
    CONTROL_PLANE_URL: 'http://127.0.0.1:1',
  };
  const { code, out } = await agent(['doctor', '--only', 'key'], environment);
  assert.equal(code, 1);
  assert.match(out, /^fail\s+connect\s+127\.0\.0\.1:1 refuses/m);
  assert.match(out, /^\s+-> .*correct the port/m);
  assert.match(out, /^skip\s+key\s+not tested: follows from the failure of connect/m);
  assert.match(out, /begin with "connect"\n$/);
});

test('doctor tells unusable settings and unknown steps apart from what is broken', async () => {
  const { code, out } = await agent(['doctor', '--json'], { LOG_LEVEL: 'LOUD' });
  assert.equal(code, 2);
  const report = JSON.parse(out) as { ok: boolean; findings: { id: string; verdict: string }[] };
  assert.equal(report.ok, false);
  const failed = report.findings.filter(({ verdict }) => verdict === 'fail');
  assert.deepEqual(
    failed.map(({ id }) => id),
    ['settings'],
  );
  const unknown = await agent(['doctor', '--only', 'nothing']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.error, /doctor has no step "nothing"; there are agent, versions, settings/);
  const misspelt = await agent(['doctor', '--only', 'dsn']);
  assert.match(misspelt.error, /doctor has no step "dsn", did you mean dns\?; there are/);
});

test('doctor takes --only and --skip as often as they are given', async () => {
  using folder = temporaryFolder();
  const given = ['--only', 'versions', '--only', 'cpu,memory', '--skip', 'cpu', '--skip', 'fonts'];
  const { out } = await agent(['doctor', '--json', ...given], { AGENT_DATA_DIR: folder.path });
  const { findings } = JSON.parse(out) as { findings: { id: string }[] };
  assert.deepEqual([...new Set(findings.map(({ id }) => id))], ['versions', 'memory']);
});

test('doctor tries to run code, and the browser', async () => {
  using folder = temporaryFolder();
  const look = async (settings: Record<string, string>) => {
    const { out } = await agent(['doctor', '--json', '--only', 'scripts,browser'], {
      AGENT_DATA_DIR: folder.path,
      AGENT_WORK_DIR: join(folder.path, 'runs'),
      ...settings,
    });
    const { findings } = JSON.parse(out) as {
      findings: { id: string; verdict: string; evidence: string }[];
    };
    return (wanted: string) => findings.find(({ id }) => id === wanted);
  };
  const chosen = join(folder.path, 'browser');
  const broken = await look({ AGENT_CHROMIUM_PATH: chosen });
  assert.equal(broken('browser')?.verdict, 'fail');
  assert.match(broken('browser')?.evidence ?? '', /browser is not there/);
  assert.notEqual(broken('scripts')?.verdict, 'fail', broken('scripts')?.evidence);
  const unwritable = await look({ AGENT_WORK_DIR: '/dev/null/runs' });
  assert.equal(unwritable('work-directory')?.verdict, 'fail');
  assert.equal(unwritable('scripts')?.verdict, 'skip');
});

test('settings that cannot be used are named, with what is allowed, and never with the key', async () => {
  const { code, error } = await agent(['start'], {
    ...{ API_KEY: 'pl_secret_secret', AGENT_HEALTH_PORT: 'eighty', LOG_LEVEL: 'LOUD' },
  });
  assert.equal(code, 2);
  assert.match(
    error,
    /AGENT_HEALTH_PORT must be a whole number from 0 to 65535 \(given: "eighty"\)/,
  );
  assert.match(error, /LOG_LEVEL must be one of DEBUG/);
  assert.equal(error.includes('pl_secret'), false);
  const missing = await agent(['start']);
  assert.equal(missing.code, 2);
  assert.match(missing.error, /API_KEY is missing/);
});

test('a key that cannot be written or read is named, with what to do', async () => {
  const wrote = await agent(['encryption-key', '--output', '/nowhere/a.key']);
  assert.match(
    wrote.error,
    /^cannot write the key to \S+: ENOENT: .*; name a file in a folder that/,
  );
  const read = await agent(['decrypt', '--key-file', '/nowhere/a.key']);
  assert.match(
    read.error,
    /^cannot read the key in \S+: ENOENT: .*; name the file that encryption-key/,
  );
});

test('version is for people and for scripts', async () => {
  const { out } = await agent(['version']);
  assert.match(out, /^monitor-agent \d+\.\d+\.\d+ /);
  assert.deepEqual(await agent(['--version']), { code: 0, out, error: '' });
  const facts = JSON.parse((await agent(['version', '--json'])).out) as { protocol: number };
  assert.equal(facts.protocol, protocolVersion);
});

test('certificates are judged against the authorities of this machine and its own', async () => {
  using folder = temporaryFolder();
  const authority = await makeAuthority();
  const file = join(folder.path, 'ca.pem');
  writeFileSync(file, authority.cert);
  const visit = async (host: string, validForDays: number) => {
    const { key, cert } = await authority.issue({ host, validForDays });
    await using server = await httpsServer(key, cert);
    const { out } = await agent(['run', server.url, '--json'], { NODE_EXTRA_CA_CERTS: file });
    return JSON.parse(out) as { verdict: string; reason: string | null };
  };
  assert.deepEqual((await visit('127.0.0.1', 30)).verdict, 'passed');
  assert.match((await visit('127.0.0.1', -1)).reason ?? '', /expired.*CERT_HAS_EXPIRED/);
  assert.match(
    (await visit('other.example', 30)).reason ?? '',
    /another host.*ERR_TLS_CERT_ALTNAME_INVALID/,
  );
});

test('authorities that cannot be read keep a run from blaming the target', async () => {
  const { code, error } = await agent(['run', 'https://127.0.0.1:9', '--json'], {
    NODE_EXTRA_CA_CERTS: '/nonexistent/ca.pem',
  });
  assert.equal(code, 2);
  assert.match(error, /NODE_EXTRA_CA_CERTS cannot be used: \/nonexistent\/ca\.pem does not exist/);
});

test('start refuses a key of the API at once, and never shows it', async () => {
  const { code, error } = await agent(['start'], { API_KEY: 'cu_0123456789abcdef' });
  assert.equal(code, 2);
  assert.match(
    error,
    /API_KEY is a key of the API \(cu_…\), and an agent needs that of a location/,
  );
  assert.ok(!error.includes('0123456789'));
});
