/** Whose fault silence is, in real networks: a dead gateway and a missing link are ours. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { proberIn, serveIn, type Prober } from '../../../support/lab-host.ts';
import type { LabAnswer, LabQuestion } from '../../../support/lab-prober.ts';
import { labProblem, openNetworkLab, type NetworkLab } from '../../../support/network-lab.ts';

/**
 *   orphan ── far   its gateways, 10.90.1.1 and fd90:1::1, are addresses that nobody has
 *   child  ── far   its gateway 10.90.2.1 works; behind it 10.91.0.2 answers, 10.91.0.9 is silent,
 *                   10.91.0.10 and 10.91.0.11 are turned away by it
 *   unlucky ── far  its gateway 10.90.3.1 works until a test takes it away, and then the cable
 *   docker          has a bridge 10.92.0.1/24 whose last member has gone
 *   twoways ── far  10.90.4.1 works, 10.90.4.99 is nobody: to 10.94.0.0/24 by either, to all else by
 *                   the latter, but port 80 by the former, says a rule; far throws all of it away
 */
const problem = labProblem();
const skip = problem ?? false;
let lab: NetworkLab;
const probers: Record<string, Prober> = {};
let onFar: (...words: string[]) => Promise<unknown>;
let cableOfUnlucky: string;

/** The kernel makes up its mind in 0.3 s here instead of 3, and notices soon that a gateway has gone. */
const hasty = (device: string): Record<string, string> => ({
  [`net.ipv4.neigh.${device}.retrans_time_ms`]: '100',
  [`net.ipv6.neigh.${device}.retrans_time_ms`]: '100',
  [`net.ipv4.neigh.${device}.base_reachable_time_ms`]: '100',
  [`net.ipv4.neigh.${device}.delay_first_probe_time`]: '0',
});

before(async () => {
  if (problem !== null) return;
  lab = openNetworkLab();
  const far = await lab.host('far', { isRouter: true });
  await far.sysctls({ 'net.ipv4.icmp_ratelimit': '0', 'net.ipv6.icmp.ratelimit': '0' });
  await far.ipBatch([
    'addr add 10.91.0.2/32 dev lo',
    'route add blackhole 10.91.0.9',
    'route add unreachable 10.91.0.10',
    'route add prohibit 10.91.0.11',
    'route add blackhole 10.93.0.0/24',
    'route add blackhole 10.94.0.0/24',
  ]);
  const join = async (name: string, number: number, farEnd: number) => {
    const host = await lab.host(name);
    const addressesOf = (end: number): string[] => [
      `10.90.${number}.${end}/24`,
      `fd90:${number}::${end}/64`,
    ];
    const { oneInterface, otherInterface } = await lab.cable(
      { host, addresses: addressesOf(2) },
      { host: far, addresses: addressesOf(farEnd) },
    );
    await host.sysctls(hasty(oneInterface));
    await host.ipBatch([
      `route add default via 10.90.${number}.1`,
      `route add default via fd90:${number}::1`,
    ]);
    probers[name] = await proberIn(host);
    return otherInterface;
  };
  [, , cableOfUnlucky] = await Promise.all([
    join('orphan', 1, 3),
    join('child', 2, 1),
    join('unlucky', 3, 1),
    serveIn(far, { '10.91.0.2': {} }),
  ]);
  const docker = await lab.host('docker');
  await docker.ipBatch([
    'link add br0 type bridge',
    'addr add 10.92.0.1/24 dev br0',
    'link add gone type veth peer name gone1',
    'link set gone master br0',
    'link set br0 up',
    'link set gone up',
    // Here the kernel takes the 3 s that it usually takes.
    'link add slow type veth peer name slow1',
    'addr add 10.95.0.2/24 dev slow',
    'link set slow up',
    'link set slow1 up',
    'route add 10.91.0.7 via 10.95.0.1',
  ]);
  probers['docker'] = await proberIn(docker);
  const twoWays = await lab.host('twoways');
  const { oneInterface } = await lab.cable(
    { host: twoWays, addresses: ['10.90.4.2/24'] },
    { host: far, addresses: ['10.90.4.1/24'] },
  );
  await twoWays.sysctls(hasty(oneInterface));
  await twoWays.ipBatch([
    'route add default via 10.90.4.99',
    'route add default via 10.90.4.1 table 100',
    'rule add ipproto tcp dport 80 lookup 100',
    'route add 10.94.0.0/24 nexthop via 10.90.4.1 nexthop via 10.90.4.99',
  ]);
  probers['twoways'] = await proberIn(twoWays);
  onFar = far.ip;
});

after(async () => {
  if (problem === null) await lab[Symbol.asyncDispose]();
});

function probe(host: string, question: Omit<LabQuestion, 'id'>): Promise<LabAnswer> {
  const prober = probers[host];
  assert.ok(prober);
  return prober({ timeoutMs: 1_000, ...question });
}

/** Each type of check, towards a host that serves the web and DNS. */
function questionsTo(address: string): Record<string, Omit<LabQuestion, 'id'>> {
  const ipFamily = address.includes(':') ? 'IPv6' : 'IPv4';
  const shown = ipFamily === 'IPv6' ? `[${address}]` : address;
  const dns = { query: 'example.com', recordType: 'A', nameServer: address, port: 53 };
  return {
    URL: { type: 'URL', request: { url: `http://${shown}/`, ipFamily } },
    API: { type: 'API', request: { method: 'GET', url: `http://${shown}/`, ipFamily } },
    TCP: { type: 'TCP', request: { hostname: address, port: 80, ipFamily } },
    'DNS over UDP': { type: 'DNS', request: { ...dns, protocol: 'UDP' } },
    'DNS over TCP': { type: 'DNS', request: { ...dns, protocol: 'TCP' } },
    ICMP: { type: 'ICMP', request: { hostname: address, ipFamily, pingCount: 1 } },
  };
}

function isOurs({ ours, seen }: LabAnswer, words: RegExp): void {
  assert.equal(ours?.code, 'NETWORK_UNAVAILABLE', JSON.stringify(seen));
  assert.match(ours.message, words);
}

function isOfTarget({ ours, seen }: LabAnswer, code: string): void {
  assert.equal(ours, null, ours?.message);
  assert.equal(seen?.failure?.code, code, JSON.stringify(seen));
}

suite('the first hop', { skip, concurrency: true }, () => {
  for (const [address, words] of [
    ['10.91.0.2', /gateway 10\.90\.1\.1 on v\S+ answers no ARP request/],
    ['fd91::2', /fd90:1::1 on v\S+ answers no neighbour solicitation/],
  ] as const) {
    for (const [kind, question] of Object.entries(questionsTo(address))) {
      test(`a dead gateway on the way to ${address} is an agent error: ${kind}`, async () => {
        isOurs(await probe('orphan', question), words);
      });
    }
  }

  test('it is also when our time is over before that of the kernel', async () => {
    const request = { hostname: '10.91.0.7', port: 80 };
    const answer = await probe('docker', { type: 'TCP', request, timeoutMs: 50 });
    isOurs(answer, /SOCKET_TIMEOUT\): its gateway/);
  });

  test('its evidence names the gateway', async () => {
    const request = { hostname: '10.91.0.6', port: 80 };
    const { events } = await probe('orphan', { type: 'TCP', request });
    assert.match(
      events.join('\n'),
      /connecting to 10\.91\.0\.6:80\n.*EHOSTUNREACH.*\n.*gateway 10\.90\.1\.1/s,
    );
  });

  for (const [what, hostname] of [
    ['on the link that answers no ARP request', '10.90.1.77'],
    ['that is the gateway', '10.90.1.1'],
  ] as const) {
    test(`a target ${what} failed itself`, async () => {
      const request = { hostname, port: 80 };
      isOfTarget(await probe('orphan', { type: 'TCP', request }), 'EHOSTUNREACH');
    });
  }

  test('a target on the link is reached although the gateway is dead', async () => {
    const { seen } = await probe('orphan', {
      type: 'URL',
      request: { url: 'http://10.90.1.3/' },
    });
    assert.equal(seen?.failure, null);
  });

  test('silence behind a gateway that answers is the target’s, and the evidence says so', async () => {
    const request = { hostname: '10.91.0.9', port: 80 };
    const answer = await probe('child', { type: 'TCP', request, timeoutMs: 500 });
    isOfTarget(answer, 'SOCKET_TIMEOUT');
    assert.match(
      answer.events.join('\n'),
      /next hop is the gateway 10\.90\.2\.1 on \S+, whose neighbour entry is/,
    );
  });

  for (const address of ['10.91.0.10', '10.91.0.11']) {
    test(`what the gateway says of ${address} is the target’s failure`, async () => {
      const { TCP: tcp, 'DNS over TCP': dns } = questionsTo(address);
      assert.ok(tcp && dns);
      isOfTarget(await probe('child', tcp), 'EHOSTUNREACH');
      isOfTarget(await probe('child', dns), 'EHOSTUNREACH');
    });
  }

  test('a container that has ended is not our fault: its bridge has no link then', async () => {
    const request = { hostname: '10.92.0.2', port: 80 };
    const answer = await probe('docker', { type: 'TCP', request, timeoutMs: 500 });
    isOfTarget(answer, 'SOCKET_TIMEOUT');
    assert.match(answer.events.join('\n'), /br0 of this machine has no link.*target may have been/);
  });

  test('IPv4 in the clothes of IPv6 goes where IPv4 goes', async () => {
    const request = { hostname: '::ffff:10.93.0.9', port: 80, ipFamily: 'IPv6' };
    isOfTarget(await probe('twoways', { type: 'TCP', request, timeoutMs: 500 }), 'SOCKET_TIMEOUT');
  });

  test('nothing is claimed where ports decide about the way, or there are several', async () => {
    const at = (hostname: string, port: number) =>
      probe('twoways', { type: 'TCP', request: { hostname, port }, timeoutMs: 700 });
    // Makes the kernel know that the other gateway is dead.
    isOfTarget(await at('10.93.0.9', 81), 'EHOSTUNREACH');
    isOfTarget(await at('10.93.0.9', 80), 'SOCKET_TIMEOUT');
    const either = Array.from({ length: 8 }, (_, index) => at(`10.94.0.${index}`, 81));
    for (const { ours } of await Promise.all(either)) assert.equal(ours, null, ours?.message);
  });

  test('a gateway that dies under an agent, and a cable, are our fault from then on', async () => {
    const at = (hostname: string) =>
      probe('unlucky', { type: 'TCP', request: { hostname, port: 80 }, timeoutMs: 1_500 });
    assert.equal((await at('10.91.0.2')).seen?.failure, null);
    await onFar('addr', 'del', '10.90.3.1/24', 'dev', cableOfUnlucky);
    isOurs(await at('10.91.0.2'), /gateway 10\.90\.3\.1/);
    await onFar('link', 'set', cableOfUnlucky, 'down');
    isOurs(await at('10.91.0.2'), /interface v\S+ of this machine has no link/);
    // The host behind that interface is asked directly, without a gateway.
    isOurs(await at('10.90.3.1'), /interface v\S+ of this machine has no link/);
  });
});
