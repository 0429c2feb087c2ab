/** The proxies that networks really have: squid and tinyproxy of Debian, both with a login. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { suite } from 'node:test';
import { proberIn } from '../support/lab-host.ts';
import type { LabAnswer } from '../support/lab-prober.ts';
import { labProblem } from '../support/network-lab.ts';
import {
  gateAddress,
  openOffice,
  siteAddress,
  workBehindProxy,
  type Office,
} from '../support/office.ts';
import { eventually } from '../support/system.ts';

const port = 3128;
const squid = '/usr/sbin/squid';
const squidLogin = '/usr/lib/squid/basic_ncsa_auth';
const tinyproxy = '/usr/bin/tinyproxy';

function startSquid({ gate, folder }: Office): void {
  assert.ok(existsSync(squid) && existsSync(squidLogin), 'this test needs the package squid');
  const own = join(folder, 'squid');
  mkdirSync(own);
  // It becomes the user "proxy" by itself.
  chmodSync(own, 0o777);
  const hash = execFileSync('openssl', ['passwd', '-apr1', 'p@ss'], { encoding: 'utf8' }).trim();
  writeFileSync(join(own, 'users'), `office:${hash}\n`);
  writeFileSync(
    join(own, 'squid.conf'),
    `http_port ${port}
     auth_param basic program ${squidLogin} ${join(own, 'users')}
     auth_param basic realm office
     acl known proxy_auth REQUIRED
     acl forbidden dst 10.81.2.9
     acl CONNECT method CONNECT
     acl tls_ports port 443 8443
     http_access deny forbidden
     http_access deny CONNECT !tls_ports
     http_access allow known
     http_access deny all
     cache deny all
     connect_timeout 3 seconds
     dns_timeout 2 seconds
     dns_nameservers 127.0.0.1
     pid_filename none
     access_log none
     cache_log ${join(own, 'cache.log')}
     coredump_dir ${own}
     visible_hostname gate
     shutdown_lifetime 0 seconds
    `.replaceAll(/^ +/gm, ''),
  );
  gate.spawn(squid, ['-N', '-f', join(own, 'squid.conf')], { stdio: 'inherit' });
}

function startTinyproxy({ gate, folder }: Office): void {
  assert.ok(existsSync(tinyproxy), 'this test needs the package tinyproxy-bin');
  const own = join(folder, 'tinyproxy');
  mkdirSync(own);
  writeFileSync(join(own, 'filter'), '10\\.81\\.2\\.9\n');
  writeFileSync(
    join(own, 'tinyproxy.conf'),
    `Port ${port}
Timeout 30
BasicAuth office pass
ConnectPort 8443
ConnectPort 443
Filter "${join(own, 'filter')}"
FilterType ere
LogLevel Warning
`,
  );
  gate.spawn(tinyproxy, ['-d', '-c', join(own, 'tinyproxy.conf')], { stdio: 'inherit' });
}

async function untilListening({ gate }: Office): Promise<void> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const [ip = 'ip', ...words] = [...gate.prefix, 'cat', '/proc/net/tcp', '/proc/net/tcp6'];
  await eventually(
    () => execFileSync(ip, words, { encoding: 'utf8' }).includes(`:${hex} `),
    () => 'the proxy listens',
  );
}

const passed = ({ seen, ours }: LabAnswer): boolean => ours === null && seen?.failure === null;

for (const [name, start, login] of [
  ['squid', startSquid, 'office:p%40ss'],
  // Its configuration knows no special characters.
  ['tinyproxy', startTinyproxy, 'office:pass'],
] as const) {
  suite(name, () => {
    test('lets an agent without rights check in, check, upload and drain', async () => {
      assert.equal(labProblem(), null);
      await using office = await openOffice();
      start(office);
      await untilListening(office);
      const proxyUrl = `http://${login}@${gateAddress}:${port}`;
      const agent = await workBehindProxy(office, { proxyUrl, authority: office.authority });
      assert.equal(await agent.stop(), 0);
    });

    test('as proxy of a location: agent errors and failures of the target', async () => {
      assert.equal(labProblem(), null);
      await using office = await openOffice();
      start(office);
      await untilListening(office);
      const ask = await proberIn(office.desk);
      const through = (url: string, credentials = `${login}@`, host = gateAddress) =>
        ask({
          type: 'URL',
          request: { url, skipSSL: true },
          timeoutMs: 20_000,
          proxyUrl: `http://${credentials}${host}:${port}`,
        });
      for (const url of [
        `http://${siteAddress}/`,
        `https://${siteAddress}:8443/health`,
        'http://[fd81:2::2]/',
        'https://[fd81:2::2]:8443/health',
      ]) {
        const answer = await through(url);
        assert.ok(passed(answer), `${url}: ${JSON.stringify(answer)}`);
      }
      const ours = async (answer: Promise<LabAnswer>, why: RegExp): Promise<void> => {
        const { ours: fault, seen } = await answer;
        assert.equal(fault?.code, 'NETWORK_UNAVAILABLE', JSON.stringify(seen));
        assert.match(fault.message, why);
        assert.doesNotMatch(fault.message, /p(%40|@|a)ss/);
      };
      for (const url of [`http://${siteAddress}/`, `https://${siteAddress}:8443/`]) {
        await ours(through(url, ''), /status 40[17]/);
        await ours(through(url, 'office:wrong@'), /status 40[17]/);
        await ours(through(url, '', '10.81.1.77'), /cannot be reached/);
      }
      await ours(through('https://10.81.2.9:8443/'), /status 403/);
      await ours(through('http://10.81.2.9/'), /status 403/);
      await ours(through(`https://${siteAddress}:9999/`), /status 403/);

      const targets = async (url: string): Promise<void> => {
        const { seen, ours: fault } = await through(url);
        assert.equal(fault, null, `${url}: ${fault?.message}`);
        const status = Number(seen?.response?.['status'] ?? 0);
        assert.ok(seen?.failure != null || status >= 500, `${url}: ${JSON.stringify(seen)}`);
      };
      await targets(`http://${siteAddress}:81/`);
      await targets(`https://${siteAddress}:443/`);
      await targets('http://no-such-name.invalid/');
      await targets('https://no-such-name.invalid:8443/');
    });
  });
}
