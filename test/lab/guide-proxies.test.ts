/** The proxies of the guide, in front of a real control plane: nginx and Caddy of Debian. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { guideBlocks } from '../../scripts/guide/blocks.ts';
import { selfSigned } from '../support/certificates.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { freePort } from '../../proof/program.ts';
import { eventually, temporaryFolder } from '../support/system.ts';

const consoleName = 'monitor.example.com';
const pageName = 'status.example.com';

function blockOf(language: string): string {
  const block = guideBlocks().find((one) => one.language === language);
  assert.ok(block, `the guide has no block of ${language}`);
  return block.text;
}

interface Ports {
  http: number;
  https: number;
  controlPlane: string;
}

/** Writes the configuration of the guide with ports and certificates of this test; gives the command. */
type Prepare = (folder: string, ports: Ports) => string[];

const prepareNginx: Prepare = (folder, { http, https, controlPlane }) => {
  const own = blockOf('nginx')
    .replaceAll('listen 80;', `listen 127.0.0.1:${http};`)
    .replaceAll('listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`)
    .replaceAll(/\/etc\/letsencrypt\/live\/[^/]+/g, folder)
    .replaceAll('http://127.0.0.1:3000', controlPlane);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${join(folder, 'pid')}; error_log stderr;
     events {} http { access_log off; ${temporary.join(' ')} ${own} }`,
  );
  return ['/usr/sbin/nginx', '-p', folder, '-c', join(folder, 'nginx.conf')];
};

const prepareCaddy: Prepare = (folder, { http, https, controlPlane }) => {
  const own = blockOf('caddy')
    .replace(
      /^(\S+), (\S+) \{$/m,
      `$1, $2 {\n  bind 127.0.0.1\n  tls ${folder}/fullchain.pem ${folder}/privkey.pem`,
    )
    .replaceAll('127.0.0.1:3000', controlPlane.replace('http://', ''));
  writeFileSync(
    join(folder, 'Caddyfile'),
    `{\n  admin off\n  http_port ${http}\n  https_port ${https}\n}\n${own}`,
  );
  return ['/usr/bin/caddy', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
};

async function visit(
  port: number,
  host: string,
  path: string,
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  const asked = request({
    ...{ host: '127.0.0.1', port, path, servername: host, rejectUnauthorized: false },
    headers: { host, accept: 'text/html' },
    agent: false,
  }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return {
    status: response.statusCode ?? 0,
    body: await text(response),
    headers: response.headers,
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

for (const [name, prepare] of [
  ['nginx', prepareNginx],
  ['caddy', prepareCaddy],
] as const) {
  test(`${name}, configured as the guide says, serves the page on its domain and the console on the other`, async () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, 'home'));
    const { key, cert } = await selfSigned({
      host: consoleName,
      validForDays: 2,
      others: [pageName],
    });
    writeFileSync(join(folder.path, 'fullchain.pem'), cert);
    writeFileSync(join(folder.path, 'privkey.pem'), key);
    await using cp = await startTestControlPlane({
      settings: {
        PUBLIC_URL: `https://${consoleName}`,
        TRUSTED_PROXIES: '127.0.0.1',
        STATUS_PAGE_DOMAINS: pageName,
      },
    });
    const service = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
    const { status } = await cp.api('POST', '/v1/status-pages', {
      ...{ name: 'Shop', url: 'shop', customDomain: pageName },
      cards: [{ name: 'Shop', services: [{ id: (service.body as { id: string }).id }] }],
    });
    assert.equal(status, 201);
    const http = await freePort(2);
    const ports = { http, https: http + 1, controlPlane: cp.url };
    const [program = '', ...args] = prepare(folder.path, ports);
    assert.ok(existsSync(program), `this test needs the package ${name}`);
    const child = spawn(program, args, {
      env: { HOME: join(folder.path, 'home'), PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => (said += String(chunk)));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => stop(child));
    await eventually(
      async () => {
        assert.equal(child.exitCode, null, said);
        const ready = await visit(ports.https, consoleName, '/-/readiness').catch(() => null);
        return ready?.status === 200;
      },
      () => said,
    );
    const page = await visit(ports.https, pageName, '/');
    assert.equal(page.status, 200, page.body);
    assert.match(page.body, /<h1[^>]*>[^]*Shop/);
    for (const path of ['/console/', '/docs', '/guide/', '/v1/checks']) {
      assert.equal((await visit(ports.https, pageName, path)).status, 404, path);
    }
    assert.equal((await visit(ports.https, pageName, '/api/v2/summary.json')).status, 200);
    const main = await visit(ports.https, consoleName, '/console/');
    assert.equal(main.status, 200);
    assert.equal(main.headers['strict-transport-security'], 'max-age=31536000');
    const plain = await fetch(`http://127.0.0.1:${http}/console/`, { redirect: 'manual' });
    assert.ok([301, 308, 404].includes(plain.status), String(plain.status));
  });
}
