import assert from 'node:assert/strict';
import test, { after, before, suite } from 'node:test';
import { proberIn, serveIn, type Prober } from '../support/lab-host.ts';
import type { LabAnswer } from '../support/lab-prober.ts';
import {
  labProblem,
  openNetworkLab,
  type LabHost,
  type NetworkLab,
} from '../support/network-lab.ts';

/**
 *   client ── site     10.77.0.2 and fd77::2, on its loopback: web and DNS
 *                      10.77.0.3: the second resolver
 *                      fd99::/16 leads here and is thrown away
 */
const first = {
  ...{ 'both.lab': ['10.77.0.2', 'fd77::2'], 'four.lab': ['10.77.0.2'], 'six.lab': ['fd77::2'] },
  'hole.lab': ['10.77.0.2', 'fd99::1'],
  'slow.lab': { lateMs: 4_000, addresses: ['10.77.0.2'] },
  ...{ 'silent.lab': 'silence', 'failing.lab': 'SERVFAIL', 'refused.lab': 'REFUSED' },
  'app.corp.lab': ['10.77.0.2'],
} as const;
const second = {
  ...{ 'slow.lab': first['slow.lab'], 'failing.lab': 'SERVFAIL', 'refused.lab': ['10.77.0.2'] },
  'second.lab': ['10.77.0.2'],
};

const problem = labProblem();
let lab: NetworkLab;
let site: LabHost;
const probers: Record<string, Prober> = {};
let hosts = 0;

interface Kind {
  v4: 'yes' | 'no';
  v6: 'yes' | 'no' | 'no-route' | 'off';
  resolvConf: string;
}

async function makeHost(name: string, { v4, v6, resolvConf }: Kind): Promise<void> {
  hosts += 1;
  const host = await lab.host(name);
  const addressesOf = (end: number): string[] => [
    ...(v4 === 'yes' ? [`10.78.${hosts}.${end}/24`] : []),
    ...(v6 === 'yes' ? [`fd78:${hosts}::${end}/64`] : []),
  ];
  if (v6 === 'off') await host.sysctl('net.ipv6.conf.all.disable_ipv6', '1');
  const { oneInterface } = await lab.cable(
    { host, addresses: addressesOf(1) },
    { host: site, addresses: addressesOf(2) },
  );
  if (v4 === 'yes') await host.ip('route', 'add', 'default', 'via', `10.78.${hosts}.2`);
  if (v6 === 'yes') await host.ip('-6', 'route', 'add', 'default', 'via', `fd78:${hosts}::2`);
  if (v6 === 'no-route') {
    await host.ip('addr', 'add', 'fd66::1/64', 'dev', oneInterface, 'nodad');
  }
  await host.resolvConf(resolvConf);
  probers[name] = await proberIn(host);
}

before(async () => {
  if (problem !== null) return;
  lab = openNetworkLab();
  site = await lab.host('site', { isRouter: true });
  for (const address of ['10.77.0.2/32', '10.77.0.3/32', 'fd77::2/128']) {
    await site.ip('addr', 'add', address, 'dev', 'lo');
  }
  await site.ip('-6', 'route', 'add', 'blackhole', 'fd99::/16');
  await serveIn(site, {
    ...{ '10.77.0.2': first as never, 'fd77::2': first as never, '10.77.0.3': second as never },
  });
  const usual = 'nameserver 10.77.0.2\nnameserver 10.77.0.3\nsearch corp.lab\n';
  await makeHost('dual', { v4: 'yes', v6: 'yes', resolvConf: usual });
  await makeHost('six-only', { v4: 'no', v6: 'yes', resolvConf: 'nameserver fd77::2\n' });
  await makeHost('six-no-route', { v4: 'yes', v6: 'no-route', resolvConf: usual });
  await makeHost('six-off', { v4: 'yes', v6: 'off', resolvConf: usual });
  await makeHost('no-resolver', { v4: 'yes', v6: 'no', resolvConf: 'nameserver 10.77.0.9\n' });
});

after(async () => {
  if (problem === null) await lab[Symbol.asyncDispose]();
});

function probe(
  host: string,
  type: 'URL' | 'TCP',
  name: string,
  fields: { ipFamily?: string; useOsResolver?: boolean; timeoutMs?: number } = {},
): Promise<LabAnswer> {
  const { ipFamily, ...question } = fields;
  const family = ipFamily === undefined ? {} : { ipFamily };
  const request =
    type === 'URL'
      ? { url: `http://${name}/`, ...family }
      : { hostname: name, port: 80, ...family };
  const prober = probers[host];
  assert.ok(prober);
  return prober({ type, request, ...question });
}

function passedBy({ seen, ours, logged }: LabAnswer, family: string): void {
  assert.equal(ours, null);
  assert.equal(seen?.failure, null, JSON.stringify(seen?.failure));
  assert.equal(seen?.response?.['ipFamily'], family, logged.join('; '));
}

function failedWith({ seen, ours }: LabAnswer, code: string): void {
  assert.equal(ours, null, ours?.message);
  assert.equal(seen?.failure?.code, code, JSON.stringify(seen?.failure));
}

function isOurs({ ours, seen }: LabAnswer, code: string): void {
  assert.equal(ours?.code, code, JSON.stringify(seen));
}

suite('on odd hosts', { skip: problem ?? false, concurrency: true }, () => {
  for (const type of ['URL', 'TCP'] as const) {
    suite(`${type} checks`, { concurrency: true }, () => {
      test('the family of the check decides where both work', async () => {
        passedBy(await probe('dual', type, 'both.lab'), 'IPv4');
        passedBy(await probe('dual', type, 'both.lab', { ipFamily: 'IPv6' }), 'IPv6');
        failedWith(await probe('dual', type, 'four.lab', { ipFamily: 'IPv6' }), 'ENODATA');
      });

      test('on a host with nothing but IPv6, IPv6 is used though IPv4 is asked for', async () => {
        const answer = await probe('six-only', type, 'both.lab');
        passedBy(answer, 'IPv6');
        assert.match(
          answer.logged.join(),
          /IPv4 is disabled on this machine, falling back to IPv6/,
        );
        isOurs(await probe('six-only', type, '10.77.0.2'), 'NETWORK_UNAVAILABLE');
      });

      test('an IPv6 address without a route is an agent error', async () => {
        const answer = await probe('six-no-route', type, 'both.lab', { ipFamily: 'IPv6' });
        isOurs(answer, 'NETWORK_UNAVAILABLE');
        passedBy(await probe('six-no-route', type, 'both.lab'), 'IPv4');
      });

      test('where IPv6 is switched off, IPv4 is used though IPv6 is asked for', async () => {
        const answer = await probe('six-off', type, 'both.lab', { ipFamily: 'IPv6' });
        passedBy(answer, 'IPv4');
        assert.match(
          answer.logged.join(),
          /IPv6 is disabled on this machine, falling back to IPv4/,
        );
      });

      test('IPv6 that is thrown away on the way fails the target, and the log says that IPv4 works', async () => {
        const answer = await probe('dual', type, 'hole.lab', {
          ipFamily: 'IPv6',
          timeoutMs: 1_000,
        });
        failedWith(answer, type === 'URL' ? 'TIMEOUT' : 'SOCKET_TIMEOUT');
        assert.match(answer.logged.join(), /by IPv4 \(10\.77\.0\.2\) the same port can be reached/);
        passedBy(await probe('dual', type, 'hole.lab'), 'IPv4');
      });

      test('a name that does not exist, or whose servers fail, is the failure of the target', async () => {
        failedWith(await probe('dual', type, 'gone.lab'), 'ENOTFOUND');
        failedWith(await probe('six-only', type, 'failing.lab'), 'ESERVFAIL');
      });

      test('the second resolver is asked when the first refuses, not when it knows better', async () => {
        passedBy(await probe('dual', type, 'refused.lab'), 'IPv4');
        failedWith(await probe('dual', type, 'second.lab'), 'ENOTFOUND');
      });

      test('a slow answer is waited for', async () => {
        const answer = await probe('dual', type, 'slow.lab', { timeoutMs: 20_000 });
        passedBy(answer, 'IPv4');
      });

      test('resolvers that answer nothing are an agent error', async () => {
        isOurs(
          await probe('no-resolver', type, 'both.lab', { timeoutMs: 30_000 }),
          'RESOLVER_UNAVAILABLE',
        );
      });
    });
  }

  suite('names', { concurrency: true }, () => {
    test('a name without an answer, while others are answered, is a failure of the target', async () => {
      failedWith(await probe('six-only', 'TCP', 'silent.lab', { timeoutMs: 30_000 }), 'ETIMEOUT');
    });

    test('search domains are for URL checks, and for TCP with USE_OS_DNS_RESOLVER', async () => {
      passedBy(await probe('dual', 'URL', 'app'), 'IPv4');
      passedBy(await probe('dual', 'TCP', 'app', { useOsResolver: true }), 'IPv4');
      const answer = await probe('dual', 'TCP', 'app');
      failedWith(answer, 'ENOTFOUND');
      assert.match(answer.logged.join(), /USE_OS_DNS_RESOLVER/);
    });
  });
});
