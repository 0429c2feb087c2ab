// Own process: it starts many programs.
/** Traceroute monitors among real routers, and what happens where nothing can be traced. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { tracerouteMonitor } from '@monitor/shared/contract/checks/traceroute.ts';
import { runTraceroute } from '../../../agent/runners/traceroute.ts';
import { labProblem, openNetworkLab, type LabHost } from '../../support/network-lab.ts';
import { routerChain } from '../../support/router-chain.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';

const folder = mkdtempSync(join(tmpdir(), 'traceroute-'));
after(() => {
  rmSync(folder, { recursive: true });
});

interface Hop {
  hop_number: number;
  main_ip: string;
  sent: number;
  received: number;
  rtt: { avg_ms: number; best_ms: number; worst_ms: number } | null;
}
interface Outcome {
  verdict: string;
  faultCode: string | null;
  reason: string | null;
  responseTime: number;
  tracerouteCheckResult: {
    requestError: string | null;
    totalHops: number | null;
    destinationReached: boolean | null;
    finalHopLatency: { avg: number; min: number; max: number } | null;
    assertions: { error?: string }[];
    response: { hops: Hop[]; truncationReason: string; port: number; packetLoss: number } | null;
  };
}

let files = 0;

/** Runs the check in a host of the lab, as a person would. */
async function run(
  host: LabHost,
  request: Record<string, unknown>,
  further: Record<string, unknown> = {},
): Promise<Outcome> {
  files += 1;
  const file = join(folder, `${files}.json`);
  const check = { checkType: 'TRACEROUTE', name: 'way', request: { ptrLookup: false, ...request } };
  writeFileSync(file, JSON.stringify({ ...check, ...further }));
  const words = ['agent/main.ts', 'run', file, '--json'];
  const child = host.spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  assert.ok(child.stdout !== null);
  return JSON.parse(await text(child.stdout)) as Outcome;
}

const addressesOf = ({ tracerouteCheckResult: { response } }: Outcome) =>
  response?.hops.map(({ main_ip: address }) => address);

describe('among routers', { skip: labProblem() ?? false }, () => {
  test('a host is reached by TCP, UDP and echo requests, and judged by its own answers', async () => {
    await using lab = openNetworkLab();
    const { client, hops4, hops6 } = await routerChain(lab, 3);
    await client.sysctls({ 'net.ipv4.ping_group_range': '0 2147483647' });
    const url = hops4.at(-1);
    const assertions = [
      { source: 'HOP_COUNT', comparison: 'EQUALS', target: '4' },
      { source: 'PACKET_LOSS', comparison: 'EQUALS', target: '0' },
      { source: 'RESPONSE_TIME', property: 'avg', comparison: 'GREATER_THAN', target: '0' },
      { source: 'HOP_COUNT', comparison: 'LESS_THAN', target: '4' },
    ];
    const outcomes = await Promise.all([
      run(client, { url, protocol: 'TCP', assertions }),
      run(client, { url, protocol: 'UDP' }),
      run(client, { url, protocol: 'ICMP' }),
      run(client, { url: hops6.at(-1), protocol: 'ICMP' }),
    ]);
    for (const [index, outcome] of outcomes.entries()) {
      const { tracerouteCheckResult: seen } = outcome;
      assert.deepEqual(addressesOf(outcome), index === 3 ? hops6 : hops4, `${index}`);
      assert.deepEqual([seen.totalHops, seen.destinationReached], [4, true]);
      assert.equal(seen.response?.truncationReason, 'destinationReached');
      for (const hop of seen.response?.hops ?? [])
        assert.deepEqual([hop.sent, hop.received], [3, 3]);
      const final = seen.response?.hops.at(-1)?.rtt;
      assert.deepEqual(
        [seen.finalHopLatency?.avg, seen.finalHopLatency?.min, seen.finalHopLatency?.max],
        [final?.avg_ms, final?.best_ms, final?.worst_ms],
      );
    }
    assert.deepEqual(
      outcomes.map(({ tracerouteCheckResult: { response } }) => response?.port),
      [443, 33_434, 0, 0],
    );
    const [byTcp, ...others] = outcomes;
    const held = byTcp?.tracerouteCheckResult.assertions.map(({ error }) => error === undefined);
    assert.deepEqual(held, [true, true, true, false]);
    assert.deepEqual(
      [byTcp?.verdict, ...others.map(({ verdict }) => verdict)],
      ['failed', 'passed', 'passed', 'passed'],
    );
  });

  test('a destination that is not reached fails, and the result says where the way ended', async () => {
    await using lab = openNetworkLab();
    const { client, routers, hops4 } = await routerChain(lab, 3);
    const [r1, r2] = routers;
    assert.ok(r1 && r2);
    await r2.ip('route', 'add', 'blackhole', '10.99.3.0/24');
    await r1.ip('route', 'add', 'prohibit', '10.99.4.0/24');
    await r1.ip('route', 'add', '10.99.5.0/24', 'via', '10.80.1.2');
    await r2.ip('route', 'add', '10.99.5.0/24', 'via', '10.80.1.1');
    const [dropped, circle, near, refused] = await Promise.all([
      run(client, { url: '10.99.3.1', maxUnknownHops: 2 }),
      run(client, { url: '10.99.5.1', maxHops: 6 }),
      run(client, { url: hops4.at(-1), maxHops: 3 }),
      run(client, { url: '10.99.4.1' }),
    ]);
    // What it drops a router does not answer either.
    assert.deepEqual(addressesOf(dropped), [hops4[0], '', '']);
    assert.equal(dropped.tracerouteCheckResult.response?.truncationReason, 'maxUnknownHops');
    assert.equal(circle.tracerouteCheckResult.totalHops, 6);
    assert.equal(circle.tracerouteCheckResult.response?.truncationReason, 'maxHops');
    assert.deepEqual(addressesOf(near), hops4.slice(0, 3));
    for (const { verdict, reason, tracerouteCheckResult: seen } of [
      dropped,
      circle,
      near,
      refused,
    ]) {
      assert.equal(verdict, 'failed');
      assert.match(reason ?? '', /^the destination was not reached: /);
      assert.deepEqual([seen.destinationReached, seen.finalHopLatency], [false, null]);
    }
    assert.match(refused.reason ?? '', /10\.80\.0\.2 said administratively prohibited$/);
    // Meant to fail, it passes.
    const { verdict } = await run(client, { url: '10.99.3.1' }, { shouldFail: true });
    assert.equal(verdict, 'passed');
  });

  test('echo requests take the raw socket of ICMP monitors where no group may have the other one', async () => {
    await using lab = openNetworkLab();
    const { client, hops4, hops6 } = await routerChain(lab, 3);
    await client.sysctls({ 'net.ipv4.ping_group_range': '1 0' });
    for (const hops of [hops4, hops6]) {
      const outcome = await run(client, { url: hops.at(-1), protocol: 'ICMP' });
      assert.equal(outcome.verdict, 'passed', outcome.reason ?? '');
      assert.deepEqual(addressesOf(outcome), hops);
    }
  });

  test('a missing route is an error of the agent, never of the host', async () => {
    await using lab = openNetworkLab();
    const { client } = await routerChain(lab, 1);
    await client.ip('route', 'add', 'prohibit', '10.99.7.0/24');
    const noRoute = await run(client, { url: '10.99.7.1' });
    assert.deepEqual([noRoute.verdict, noRoute.faultCode], ['error', 'NETWORK_UNAVAILABLE']);
  });
});

test('an agent that cannot trace says why', async () => {
  const context = runnerContext(5_000, { traceroute: null, tracerouteProblem: 'no package' });
  await assert.rejects(
    async () => runTraceroute(definitionOf('TRACEROUTE', { url: '127.0.0.1' }), context),
    { code: 'TRACEROUTE_UNAVAILABLE', message: /no package/ },
  );
});

test('defaults follow the protocol, and what contradicts itself is refused', () => {
  const parsed = (request: Record<string, unknown>) =>
    tracerouteMonitor.create.safeParse({ name: 'a', request: { url: 'a.example', ...request } });
  const shown = (request: Record<string, unknown>) => {
    const { port, maxUnknownHops } = parsed(request).data?.['request'] as Record<string, unknown>;
    return [port, maxUnknownHops];
  };
  assert.deepEqual(shown({}), [443, 15]);
  assert.deepEqual(shown({ protocol: 'UDP', maxHops: 8 }), [33_434, 8]);
  assert.deepEqual(shown({ protocol: 'ICMP', port: 80 }), [undefined, 15]);
  for (const request of [
    { maxHops: 4, maxUnknownHops: 5 },
    { url: 'https://a.example' },
    { url: 'a.example:80' },
    { protocol: 'SCTP' },
    { timeout: 31 },
    { assertions: [{ source: 'HOP_COUNT', comparison: 'EQUALS', target: 'few' }] },
    { assertions: [{ source: 'RESPONSE_TIME', comparison: 'EQUALS', target: '1' }] },
  ]) {
    assert.equal(parsed(request).success, false, JSON.stringify(request));
  }
});
