/** Client certificates past proxies and servers that people have. Needs Debian's squid and openssl. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { after, before, suite, test } from 'node:test';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import { runBrowser } from '../../agent/runners/scripts/browser-and-multi-step.ts';
import { runCheck } from '../support/api-check.ts';
import { makeAuthority, type Authority } from '../support/certificates.ts';
import { mutualServer, type MutualServer } from '../support/mutual-server.ts';
import { openScriptWorld, type ScriptWorld } from '../support/script-context.ts';
import { temporaryFolder } from '../support/system.ts';

const programs = {
  squid: '/usr/sbin/squid',
  login: '/usr/lib/squid/basic_ncsa_auth',
  openssl: '/usr/bin/openssl',
};
for (const [name, path] of Object.entries(programs)) {
  assert.ok(existsSync(path), `${path} is missing: install ${name === 'login' ? 'squid' : name}`);
}

const host = 'shop.internal';
const freePort = 20_000 + (process.pid % 20_000);
const folder = temporaryFolder();
const stack = new AsyncDisposableStack();
let authority: Authority;
let clients: Authority;
let server: MutualServer;
let world: ScriptWorld;
let certificate: AssignedCertificate;

async function untilOpen(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function start(
  command: string,
  args: string[],
  port: number,
): Promise<ChildProcessByStdio<Writable, Readable, Readable>> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdout.resume();
  child.stderr.resume();
  stack.defer(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await untilOpen(port);
  return child;
}

async function startSquid(port: number): Promise<string> {
  const own = join(folder.path, 'squid');
  await mkdir(own);
  const users = join(own, 'users');
  const encrypted = execFileSync(programs.openssl, ['passwd', '-apr1', 'pa55:w@rd'], {
    encoding: 'utf8',
  });
  await writeFile(users, `agent:${encrypted}`);
  await writeFile(join(own, 'hosts'), `127.0.0.1 ${host}\n`);
  const config = join(own, 'squid.conf');
  await writeFile(
    config,
    [
      `http_port 127.0.0.1:${port}`,
      `auth_param basic program ${programs.login} ${users}`,
      'acl known proxy_auth REQUIRED',
      'http_access allow known',
      'http_access deny all',
      `hosts_file ${join(own, 'hosts')}`,
      ...[
        'access_log none',
        'cache_log /dev/null',
        'cache deny all',
        'shutdown_lifetime 0 seconds',
      ],
      `pid_filename ${join(own, 'pid')}`,
      `coredump_dir ${own}`,
      'cache_effective_user proxy',
    ].join('\n'),
  );
  await Promise.all([chmod(folder.path, 0o755), chmod(own, 0o777)]);
  await start(programs.squid, ['-N', '-f', config], port);
  return `http://agent:${encodeURIComponent('pa55:w@rd')}@127.0.0.1:${port}`;
}

before(async () => {
  authority = await makeAuthority('Servers');
  clients = await makeAuthority('Clients');
  const names = { host, others: ['localhost'] };
  const own = await authority.issue({ ...names, validForDays: 9 });
  server = stack.use(await mutualServer({ own, accepts: clients, name: host }));
  const person = await clients.issue({ host: 'agent', validForDays: 9 });
  certificate = { host: '*.internal', ...person, passphrase: null, ca: authority.cert };
  world = stack.use(await openScriptWorld());
});
after(async () => {
  await stack.disposeAsync();
  folder[Symbol.dispose]();
});

suite('past a squid that wants a login', () => {
  let proxyUrl: string;
  before(async () => {
    proxyUrl = await startSquid(freePort);
  });

  test('API checks show the certificate', async () => {
    const given = { clientCertificates: [certificate], proxyUrl };
    const seen = await runCheck({ url: server.url }, given);
    assert.equal(seen.failure, null);
    assert.match(String(seen.response?.['body']), /<body>agent/);
  });

  test('browser checks show the certificate', async () => {
    const seen = await runBrowser(
      {
        request: { assertions: [] },
        ...{ shouldFail: false, degradedResponseTime: null, maxResponseTime: null },
        script: `import { test, expect } from '@playwright/test';
          test('shop', async ({ page }) => {
            await page.goto('${server.url}');
            await expect(page).toHaveTitle('agent');
          });`,
      },
      world.context({ clientCertificates: [certificate], proxyUrl }),
    );
    assert.equal(seen.failure, null);
  });

  test('a wrong password is an agent error', async () => {
    const given = { clientCertificates: [certificate], proxyUrl: proxyUrl.replace('pa55', 'no') };
    await assert.rejects(runCheck({ url: server.url }, given), /407/);
  });
});

test('a server of TLS 1.2 that asks for the certificate in the middle is shown it', async () => {
  const port = freePort + 1;
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder.path, name), content);
    return join(folder.path, name);
  };
  const own = await authority.issue({ host: 'localhost', validForDays: 9 });
  const args = [
    ...['s_server', '-accept', String(port), '-tls1_2'],
    ...['-cert', await file('own.pem', own.cert), '-key', await file('own.key', own.key)],
    ...['-CAfile', await file('clients.pem', clients.cert), '-msg', '-no_ticket', '-no_cache'],
  ];
  const child = await start(programs.openssl, args, port);
  let said = '';
  const heard = new EventEmitter();
  const says = async (what: RegExp): Promise<void> => {
    while (!what.test(said)) await once(heard, 'more');
  };
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (part: Buffer) => {
      said += part.toString();
      heard.emit('more');
    });
  }
  const running = runCheck(
    { url: `https://localhost:${port}/` },
    { clientCertificates: [{ ...certificate, host: 'localhost' }] },
  );
  await says(/GET \/ HTTP/);
  assert.doesNotMatch(said, /CertificateRequest/);
  // Renegotiate, and ask for a certificate.
  child.stdin.write('R\n');
  await says(/CertificateRequest/);
  // More than the seven bytes of an empty list.
  await says(/<<< .*length 0[1-9a-f]..\], Certificate\n[^]*<<< .*, CertificateVerify/);
  await says(/<<< .*, CertificateVerify[^]*>>> .*, Finished/);
  child.stdin.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\n');
  const seen = await running;
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['status'], 200);
});
