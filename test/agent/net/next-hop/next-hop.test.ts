/** What is read of the kernel's answers, and what is made of them. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { test } from 'node:test';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../../../agent/errors.ts';
import {
  nextHopProblem,
  withNextHopProblem,
  assertNextHopReachable,
  settledNextHop,
} from '../../../../agent/net/next-hop/assert-reachable.ts';
import { NextHopsFromFiles, ipv4RouteTo } from '../../../../agent/net/next-hop/files.ts';
import { openNextHops, readNextHop } from '../../../../agent/net/next-hop/kernel.ts';
import type { NextHop, NeighbourState } from '../../../../agent/net/next-hop/next-hop.ts';
import { temporaryFolder } from '../../../support/system.ts';
import { TestClock } from '../../../support/test-clock.ts';

const by = (state: NeighbourState): NextHop => ({
  ...{ kind: 'hop', device: 'eth0', isUp: true, hasCarrier: true },
  gateway: { address: '10.0.0.1', state },
});

test('the lines of the program are read, and nonsense is nothing', () => {
  assert.deepEqual(readNextHop('hop eth0 up carrier 10.0.0.1 failed'), by('failed'));
  assert.deepEqual(readNextHop('hop eth0 up no-carrier - -'), {
    ...{ kind: 'hop', device: 'eth0', isUp: true, hasCarrier: false, gateway: null },
  });
  assert.deepEqual(readNextHop('hop docker0 up no-peer - -'), {
    ...{ kind: 'hop', device: 'docker0', isUp: true, hasCarrier: false, mayEndAtTarget: true },
    gateway: null,
  });
  assert.equal(readNextHop('unsure'), null);
  assert.deepEqual(readNextHop('here'), { kind: 'here' });
  assert.deepEqual(readNextHop('none ENETUNREACH'), { kind: 'none', code: 'ENETUNREACH' });
  assert.equal(readNextHop('failed socket EPERM'), null);
  assert.equal(readNextHop(''), null);
});

test('only a gateway that was given up, a missing link and a missing route are proven dead', () => {
  for (const state of ['reachable', 'stale', 'delay', 'probe', 'noarp', 'permanent', null] as const)
    assert.equal(nextHopProblem(by(state), '192.0.2.1'), null, String(state));
  assert.match(nextHopProblem(by('failed'), '192.0.2.1')?.what ?? '', /10\.0\.0\.1 on eth0/);
  const link = {
    kind: 'hop',
    device: 'eth0',
    isUp: true,
    hasCarrier: true,
    gateway: null,
  } as const;
  assert.equal(nextHopProblem(link, '10.0.0.9'), null);
  assert.match(nextHopProblem({ ...link, hasCarrier: false }, '10.0.0.9')?.what ?? '', /no link/);
  assert.equal(
    nextHopProblem({ ...link, hasCarrier: false, mayEndAtTarget: true }, '10.0.0.9'),
    null,
  );
  assert.match(nextHopProblem({ ...link, isUp: false }, '10.0.0.9')?.what ?? '', /is down/);
  assert.match(
    nextHopProblem({ kind: 'none', code: 'ENETUNREACH' }, 'fd00::1')?.what ?? '',
    /no route/,
  );
  assert.equal(nextHopProblem({ kind: 'here' }, '127.0.0.1'), null);
});

/** The kernel knows these, one after the other; the last stays. */
function knowing(...hops: (NextHop | null)[]) {
  const clock = new TestClock(0);
  let asked = 0;
  const nextHops = {
    to: () => Promise.resolve(hops[Math.min(asked++, hops.length - 1)] ?? null),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const { signal } = new AbortController();
  /** Lets time pass until it is settled, and gives how much. */
  const settled = async (isRefused = false): Promise<[string, number]> => {
    let hop: NextHop | null | undefined;
    void settledNextHop('192.0.2.1', { network: { nextHops }, clock, signal }, isRefused).then(
      (found) => (hop = found),
    );
    for (let turn = 0; turn < 100 && hop === undefined; turn += 1) {
      await new Promise(setImmediate);
      if (hop === undefined) clock.advance(250);
    }
    const state = hop?.kind === 'hop' ? hop.gateway?.state : undefined;
    return [String(state), clock.monotonic()];
  };
  return { tools: { network: { nextHops }, clock, signal }, settled };
}

test('a gateway the kernel asks for is waited for until it answers', async () => {
  const answers = knowing(by('incomplete'), by('incomplete'), by('reachable'));
  assert.deepEqual(await answers.settled(), ['reachable', 500]);
  assert.deepEqual(await knowing(by('stale')).settled(), ['stale', 0]);
  assert.deepEqual(await knowing(by('probe'), by('failed')).settled(), ['failed', 250]);
});

test('asked for all the time and never heard of is dead; a known one that is asked again is not', async () => {
  assert.deepEqual(await knowing(by('incomplete')).settled(), ['failed', 3_500]);
  assert.deepEqual(await knowing(by('probe')).settled(), ['probe', 3_500]);
});

test('an answer of the kernel is final: no router can have sent it', async () => {
  assert.deepEqual(await knowing(by('incomplete')).settled(true), ['failed', 0]);
  assert.deepEqual(await knowing(by('probe'), by('reachable')).settled(true), ['reachable', 250]);
});

test('failures with an answer of the target are not checked, and unknown facts are not claimed', async () => {
  const place = { address: '192.0.2.1', subject: 'a:80' };
  const dead = knowing(by('failed')).tools;
  await assertNextHopReachable({ code: 'ECONNREFUSED' }, place, dead);
  await assertNextHopReachable({ code: 'CANCELLED' }, place, dead);
  await assertNextHopReachable({ code: 'TIMEOUT' }, place, knowing(null).tools);
  await assert.rejects(
    assertNextHopReachable({ code: 'TIMEOUT' }, place, dead),
    (error) => error instanceof AgentError && /a:80 \(TIMEOUT\): its gateway/.test(error.message),
  );
});

test('where no resolver answers, the dead hop on the way to it is named', async () => {
  const before = dns.getServers();
  dns.setServers(['192.0.2.53']);
  try {
    const silent = new AgentError('RESOLVER_UNAVAILABLE', 'no resolver answered for a.example');
    const failing = () => Promise.reject(silent);
    await assert.rejects(
      withNextHopProblem(knowing(by('failed')).tools, failing),
      (error) =>
        error instanceof AgentError &&
        error.code === 'RESOLVER_UNAVAILABLE' &&
        /a\.example; nothing gets to the resolver 192\.0\.2\.53, since its gateway 10\.0\.0\.1/.test(
          error.message,
        ),
    );
    await assert.rejects(withNextHopProblem(knowing(by('stale')).tools, failing), silent);
  } finally {
    dns.setServers(before);
  }
});

const routes =
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n' +
  'wlan0\t00000000\t0200000A\t0003\t0\t0\t600\t00000000\t0\t0\t0\n' +
  'eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n' +
  'eth1\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n';

test('the most specific route counts, and of equals that of the smaller metric', () => {
  const by = { isReject: false };
  assert.deepEqual(ipv4RouteTo(routes, '192.0.2.1'), {
    ...by,
    device: 'eth0',
    gateway: '10.0.0.1',
  });
  assert.deepEqual(ipv4RouteTo(routes, '10.1.2.3'), { ...by, device: 'eth1', gateway: null });
});

test('without perl, files tell about IPv4', async () => {
  using folder = temporaryFolder();
  for (const part of ['proc/net', 'sys/class/net/eth0']) {
    mkdirSync(join(folder.path, part), { recursive: true });
  }
  const write = (name: string, text: string): void => {
    writeFileSync(join(folder.path, name), text);
  };
  write('proc/net/route', routes);
  write('sys/class/net/eth0/carrier', '1\n');
  write('sys/class/net/eth0/flags', '0x1003\n');
  const arp = (flags: string): void => {
    write(
      'proc/net/arp',
      'IP address       HW type     Flags       HW address            Mask     Device\n' +
        `10.0.0.1         0x1         ${flags}         00:00:00:00:00:00     *        eth0\n`,
    );
  };
  await using files = new NextHopsFromFiles(folder.path);
  arp('0x0');
  assert.deepEqual(await files.to('192.0.2.1'), by('incomplete'));
  arp('0x2');
  assert.deepEqual(await files.to('192.0.2.1'), by('reachable'));
  assert.equal(await files.to('fd00::1'), null);
  mkdirSync(join(folder.path, 'sys/class/net/eth1'));
  write('sys/class/net/eth1/carrier', '0\n');
  const unplugged = async () => {
    const hop = await files.to('10.1.2.3');
    return hop !== null && nextHopProblem(hop, '10.1.2.3')?.what;
  };
  assert.equal(await unplugged(), undefined);
  mkdirSync(join(folder.path, 'sys/class/net/eth1/device'));
  assert.match((await unplugged()) || '', /eth1 of this machine has no link/);
});

test('the kernel tells of this machine, however often it is asked, and again after a pause', async () => {
  const clock = new TestClock(0);
  await using nextHops = openNextHops({ clock });
  const answers = await Promise.all(
    ['127.0.0.1', '::1', 'nonsense', '127.0.0.2'].map((address) => nextHops.to(address)),
  );
  const here = { kind: 'here' };
  assert.deepEqual(answers, [here, here, null, here]);
  clock.advance(60_000);
  assert.deepEqual(await nextHops.to('127.0.0.1'), here);
});

test('a program that is stuck is given up, however many go on asking it', async () => {
  using folder = temporaryFolder();
  const stuck = join(folder.path, 'perl');
  writeFileSync(stuck, '#!/bin/sh\nexec sleep 60\n');
  chmodSync(stuck, 0o755);
  const clock = new TestClock(0);
  await using nextHops = openNextHops({ perl: stuck, clock });
  let answered = 0;
  for (let second = 0; second < 3; second += 1) {
    void nextHops.to('192.0.2.1').then(() => (answered += 1));
    clock.advance(1_000);
    await new Promise(setImmediate);
  }
  assert.ok(answered >= 2, `${answered} of 3`);
});
