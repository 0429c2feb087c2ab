// Own process: it starts many programs.
/** The tracer among real routers, as a user without any right. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tracerouteReport, type TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { labProblem, openNetworkLab, type LabHost } from '../../../support/network-lab.ts';
import { answerWithoutLimit, routerChain } from '../../../support/router-chain.ts';
import { tracingHost, type TraceOrder } from '../../../support/tracing-host.ts';

const options = { skip: labProblem() ?? false };

const addressesOf = ({ hops }: TracerouteReport) => hops.map(({ addresses }) => addresses);
const singly = (addresses: readonly string[]) => addresses.map((address) => [address]);

/** Accepts TCP on a port, by IPv4 and IPv6. */
async function listen(host: LabHost, port: number): Promise<void> {
  const script = `require('net').createServer((s) => s.on('error', () => {}).end()).listen(${port}, '::', () => console.log('listening'))`;
  const child = host.spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout !== null) await once(child.stdout, 'data');
}

/** How many sockets of its own a process has open. */
function socketsOf(pid: number | undefined): number {
  const folder = `/proc/${pid}/fd`;
  const kinds = readdirSync(folder).map((descriptor) => {
    try {
      return readlinkSync(join(folder, descriptor));
    } catch {
      return '';
    }
  });
  return kinds.filter((kind) => kind.startsWith('socket:')).length;
}

interface Way {
  hops: readonly string[];
  order: TraceOrder;
  method: string;
  note: string | null;
}

// Together, since mostly they wait.
describe('among routers', { ...options, concurrency: 4 }, () => {
  test('an open port is reached over three routers, by TCP and UDP, IPv4 and IPv6', async () => {
    await using lab = openNetworkLab();
    const { client, target, hops4, hops6 } = await routerChain(lab, 3);
    await listen(target, 80);
    await using host = await tracingHost(client);
    const ways: Way[] = [
      { hops: hops4, order: { port: 80 }, method: 'tcp', note: null },
      { hops: hops6, order: { port: 80 }, method: 'tcp', note: null },
      { hops: hops4, order: {}, method: 'udp', note: null },
      { hops: hops6, order: {}, method: 'udp', note: null },
      { hops: hops4, order: { port: 81 }, method: 'tcp', note: 'connection refused' },
      { hops: hops6, order: { port: 81 }, method: 'tcp', note: 'connection refused' },
    ];
    const traces = ways.map(({ hops, order }) => host.trace(hops.at(-1) ?? '', order));
    for (const [index, { report }] of (await Promise.all(traces)).entries()) {
      const way = ways[index];
      assert.deepEqual(addressesOf(report), singly(way?.hops ?? []));
      assert.deepEqual(
        [report.method, report.isReached, report.port, report.address],
        [way?.method, true, way?.order.port ?? null, way?.hops.at(-1)],
      );
      assert.deepEqual(
        report.hops.map(({ isTarget, note }) => [isTarget, note]),
        [...Array.from({ length: 3 }, () => [false, null]), [true, way?.note]],
      );
      for (const hop of report.hops) {
        assert.deepEqual([hop.sent, hop.received, hop.lossPercent], [3, 3, 0]);
        const { best, avg, worst, last, stdDev } = hop;
        assert.ok(best !== null && avg !== null && worst !== null && last !== null);
        assert.ok(best <= avg && avg <= worst && worst < 500, JSON.stringify(hop));
        // Each figure is rounded to a thousandth by itself.
        assert.ok(stdDev !== null && stdDev <= worst - best + 0.002, JSON.stringify(hop));
      }
    }
  });

  test('ways of one and of twelve routers are traced whole', async () => {
    await Promise.all(
      [1, 12].map(async (count) => {
        await using lab = openNetworkLab();
        const { client, hops4, hops6 } = await routerChain(lab, count);
        await using host = await tracingHost(client);
        const [four, six] = await Promise.all([
          host.trace(hops4.at(-1) ?? '', { port: 80 }),
          host.trace(hops6.at(-1) ?? '', { port: 80 }),
        ]);
        assert.deepEqual(addressesOf(four.report), singly(hops4));
        assert.deepEqual(addressesOf(six.report), singly(hops6));
        assert.ok(four.tookMs < 3_500, `${four.tookMs} ms`);
      }),
    );
  });

  test('obstacles on the route are distinguished', { concurrency: true }, async (t) => {
    await using lab = openNetworkLab();
    const { client, routers, hops4 } = await routerChain(lab, 3);
    const [r1, r2] = routers;
    assert.ok(r1 && r2);
    await r2.ip('route', 'add', 'blackhole', '10.99.3.0/24');
    await r1.ip('route', 'add', 'blackhole', '10.99.4.0/24');
    await r1.ip('route', 'add', '10.99.5.0/24', 'via', '10.80.1.2');
    await r2.ip('route', 'add', '10.99.5.0/24', 'via', '10.80.1.1');
    await client.ip('route', 'add', 'blackhole', '10.99.6.0/24');
    await client.ip('route', 'add', 'prohibit', '10.99.7.0/24');
    await r2.ip('rule', 'add', 'iif', 'lo', 'to', '10.80.0.1', 'blackhole');
    await using host = await tracingHost(client);
    const last = ({ hops }: TracerouteReport) => hops.findLast(({ received }) => received > 0);

    await Promise.all([
      t.test('a router that answers nothing is a hop without an address', async () => {
        const { report, tookMs } = await host.trace('10.80.3.2', { port: 80 });
        assert.deepEqual(addressesOf(report), [[hops4[0]], [], [hops4[2]], [hops4[3]]]);
        const silent = report.hops[1];
        assert.deepEqual(
          [silent?.sent, silent?.received, silent?.lossPercent, silent?.avg],
          [3, 0, 100, null],
        );
        assert.ok(tookMs < 3_000, `a silent router was waited for too long: ${tookMs} ms`);
      }),
      t.test('a drop ends the list a few hops after the last that answered', async () => {
        const { report, tookMs } = await host.trace('10.99.3.1', { port: 443 });
        assert.deepEqual([report.method, report.isReached], ['tcp', false]);
        assert.deepEqual(addressesOf(report), [[hops4[0]], [], [], []]);
        assert.ok(tookMs < 4_500, `${tookMs} ms`);
      }),
      t.test('UDP is tried where nobody answers TCP, within the time given', async () => {
        const { report, tookMs } = await host.trace('10.99.4.1', { port: 443, timeoutMs: 2_000 });
        assert.deepEqual([report.method, report.port, report.isReached], ['udp', null, false]);
        assert.deepEqual(addressesOf(report), [[], [], []]);
        assert.match(report.hops[0]?.note ?? '', /TCP to port 443 had no answer/);
        assert.ok(tookMs < 3_000, `${tookMs} ms`);
      }),
      t.test('a way that goes in a circle is followed to the last hop', async () => {
        const { report } = await host.trace('10.99.5.1', { port: 443 });
        assert.equal(report.isReached, false);
        const seen = report.hops.map(({ addresses }) => addresses[0] ?? '');
        assert.equal(seen.length, 30);
        // The second router answers nothing here; the first is met again and again.
        assert.deepEqual(
          seen,
          seen.map((_address, index) => (index % 2 === 0 ? hops4[0] : '')),
        );
      }),
      t.test('the last router says after three seconds that nobody has the address', async () => {
        const { report } = await host.trace('10.80.3.77', { port: 443 });
        assert.deepEqual(
          [report.isReached, last(report)?.hop, last(report)?.addresses, last(report)?.note],
          [false, 4, [hops4[2]], 'host unreachable'],
        );
      }),
      t.test('a missing neighbour is this machine speaking, not a router', async () => {
        const { report } = await host.trace('10.80.0.77', { port: 443 });
        assert.deepEqual(last(report)?.addresses, ['10.80.0.1']);
        assert.match(
          last(report)?.note ?? '',
          /this machine itself: nobody at the next hop answers/,
        );
      }),
      t.test('a link-local address is traced on its interface', async () => {
        const addresses = await client.ip('-o', '-6', 'addr', 'show', 'scope', 'link');
        const name = /^\d+: (\S+)/.exec(addresses)?.[1] ?? '';
        const theirs = await r1.ip('-o', '-6', 'addr', 'show', 'scope', 'link', 'to', 'fe80::/64');
        const address = /inet6 ([0-9a-f:]+)/.exec(theirs)?.[1] ?? '';
        const { report } = await host.trace(`${address}%${name}`, { port: 80 });
        assert.deepEqual(addressesOf(report), [[`${address}%${name}`]]);
        assert.equal(report.isReached, true);
        assert.match(await host.failure(address, { port: 80 }), /write it as .*%eth0/);
        assert.match(await host.failure(`${address}%no0`, { port: 80 }), /no interface "no0"/);
      }),
      t.test('what this machine itself refuses is an agent error that names the rule', async () => {
        assert.match(await host.failure('10.99.6.1', { port: 1 }), /blackhole.*\(EINVAL\)/);
        assert.match(await host.failure('10.99.7.1', { port: 1 }), /prohibits.*\(EACCES\)/);
        assert.match(await host.failure('10.99.7.1'), /prohibits.*\(EACCES\)/);
      }),
    ]);
  });

  test('a router that refuses ends the way and says why, by IPv4 and IPv6', async () => {
    const refusals = [
      { route: 'unreachable', four: 'host unreachable', six: 'no route to the target' },
      {
        route: 'prohibit',
        four: 'administratively prohibited',
        six: 'administratively prohibited',
      },
      { route: 'throw', four: 'network unreachable', six: 'no route to the target' },
    ];
    await Promise.all(
      refusals.map(async ({ route, four, six }) => {
        await using lab = openNetworkLab();
        const { client, routers, hops4, hops6 } = await routerChain(lab, 1);
        await routers[0]?.ip('route', 'add', route, '10.99.0.0/16');
        await routers[0]?.ip('route', 'add', route, 'fd99::/64');
        await using host = await tracingHost(client);
        for (const [address, router, note] of [
          ['10.99.1.1', hops4[0], four],
          ['fd99::1', hops6[0], six],
        ] as const) {
          const { report } = await host.trace(address, { port: 443 });
          assert.equal(report.isReached, false);
          assert.deepEqual(addressesOf(report), [[router]]);
          assert.equal(report.hops[0]?.note, note);
        }
      }),
    );
  });

  test('nonsense from a router neither ends nor delays the tracer', async () => {
    await using lab = openNetworkLab();
    const { client, routers, hops4 } = await routerChain(lab, 2);
    const [, liar] = routers;
    await liar?.ip('route', 'add', 'blackhole', '10.99.0.0/16');
    await using host = await tracingHost(client);
    for (const seed of ['1', '2']) {
      const lying = liar?.spawn(process.execPath, ['test/support/lying-router.ts', seed], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      if (lying?.stdout) await once(lying.stdout, 'data');
      const traces = await Promise.all([
        ...[1, 2, 3].map((port) => host.trace('10.99.1.1', { port })),
        ...[1, 2, 3].map(() => host.trace('10.99.1.1')),
      ]);
      lying?.kill('SIGKILL');
      for (const { report, tookMs } of traces) {
        assert.ok(tookMs < 5_500, `${tookMs} ms`);
        tracerouteReport.parse(report);
        const answered = report.hops.filter(({ received }) => received > 0);
        assert.deepEqual(answered[0]?.addresses, [hops4[0]]);
        assert.deepEqual(answered[1]?.addresses, [hops4[1]]);
        for (const { received, sent } of report.hops) assert.ok(received <= sent);
      }
    }
    const { report } = await host.trace(hops4.at(-1) ?? '', { port: 80 });
    assert.deepEqual(addressesOf(report), singly(hops4));
  });

  test('a router with rate-limited answers has the loss, not the hops behind it', async () => {
    await using lab = openNetworkLab();
    const { client, routers, hops4 } = await routerChain(lab, 2);
    const [, limited] = routers;
    // Three answers at once (of a minute without any), then one in twenty seconds.
    await limited?.sysctl('net.ipv4.icmp_ratelimit', '20000');
    await using host = await tracingHost(client);
    const lossesOf = async () => {
      const { report } = await host.trace(hops4.at(-1) ?? '', { port: 80 });
      assert.equal(report.isReached, true);
      return report.hops.map(({ lossPercent }) => lossPercent);
    };
    const spendOne = `const s = require('dgram').createSocket('udp4');
      s.bind(() => { s.setTTL(2); s.send('', 33434, '${hops4.at(-1) ?? ''}', () => s.close()); })`;
    const spend = client.spawn(process.execPath, ['-e', spendOne]);
    await once(spend, 'exit');
    assert.deepEqual(await lossesOf(), [0, 33.3, 0]);
    assert.deepEqual(await lossesOf(), [0, 100, 0]);
  });

  test('two ways of the same length are both seen', async () => {
    await using lab = openNetworkLab();
    const client = await lab.host('client');
    const fork = await lab.host('fork', { isRouter: true });
    const join = await lab.host('join', { isRouter: true });
    for (const host of [fork, join]) await answerWithoutLimit(host);
    await lab.cable(
      { host: client, addresses: ['10.80.0.1/24'] },
      { host: fork, addresses: ['10.80.0.2/24'] },
    );
    await client.ip('route', 'add', 'default', 'via', '10.80.0.2');
    for (const side of [1, 2]) {
      const middle = await lab.host(`middle${side}`, { isRouter: true });
      await answerWithoutLimit(middle);
      await lab.cable(
        { host: fork, addresses: [`10.80.${side}.1/24`] },
        { host: middle, addresses: [`10.80.${side}.2/24`] },
      );
      await lab.cable(
        { host: middle, addresses: [`10.80.${side + 2}.1/24`] },
        { host: join, addresses: [`10.80.${side + 2}.2/24`] },
      );
      await middle.ip('route', 'add', '10.80.0.0/24', 'via', `10.80.${side}.1`);
      await middle.ip('route', 'add', 'default', 'via', `10.80.${side + 2}.2`);
    }
    await join.ip('addr', 'add', '10.90.0.1/32', 'dev', 'lo');
    await join.ip('route', 'add', '10.80.0.0/24', 'via', '10.80.3.1');
    // Each port of the client is a flow of its own.
    await fork.sysctl('net.ipv4.fib_multipath_hash_policy', '1');
    await fork.ip(
      ...['route', 'add', '10.90.0.0/24', 'nexthop', 'via', '10.80.1.2'],
      ...['nexthop', 'via', '10.80.2.2'],
    );
    await using host = await tracingHost(client);
    const seen = new Set<string>();
    // Three flows each: that all thirty go the same way has a chance of one in 500 million.
    for (const { report } of await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((port) => host.trace('10.90.0.1', { port })),
    )) {
      assert.deepEqual(
        report.hops.map(({ addresses }, index) => (index === 1 ? 'either' : addresses.join())),
        ['10.80.0.2', 'either', '10.90.0.1'],
      );
      for (const address of report.hops[1]?.addresses ?? []) seen.add(address);
    }
    assert.deepEqual([...seen].sort(), ['10.80.1.2', '10.80.2.2']);
  });

  test('a host whose IPv6 is switched off says so', async () => {
    await using lab = openNetworkLab();
    const { client, hops6 } = await routerChain(lab, 1);
    await client.sysctl('net.ipv6.conf.all.disable_ipv6', '1');
    await using host = await tracingHost(client);
    const address = hops6.at(-1) ?? '';
    for (const order of [{ port: 80 }, {}]) {
      assert.match(await host.failure(address, order), /IPv6 is switched off .*disable_ipv6 is 1/);
    }
  });

  test('a host without a route says so', async () => {
    await using lab = openNetworkLab();
    await using host = await tracingHost(await lab.host('alone'));
    assert.match(await host.failure('10.1.2.3', { port: 80 }), /no route \(ENETUNREACH\)/);
  });

  test('no socket outlives its trace, nor its cancellation', async () => {
    await using lab = openNetworkLab();
    const { client, routers, hops4 } = await routerChain(lab, 2);
    await routers[1]?.ip('route', 'add', 'blackhole', '10.99.1.0/24');
    await using host = await tracingHost(client);
    const before = socketsOf(host.pid);
    const cancelled = host.trace('10.99.1.1', { abortAfterMs: 1_000 });
    while (socketsOf(host.pid) === before) await delay(10);
    const { report } = await cancelled;
    assert.deepEqual(addressesOf(report).flat(), ['10.80.0.2']);
    assert.equal(socketsOf(host.pid), before);
    await host.trace(hops4.at(-1) ?? '', { port: 80 });
    assert.equal(socketsOf(host.pid), before);
  });
});
