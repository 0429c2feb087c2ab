/** What is read of the kernel's answers, and what is made of them. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { constants } from 'node:os';
import { test } from 'node:test';
import { AgentError } from '../../../../agent/errors.ts';
import {
  nextHopProblem,
  withNextHopProblem,
  assertNextHopReachable,
  settledNextHop,
} from '../../../../agent/net/next-hop/assert-reachable.ts';
import { openNextHops } from '../../../../agent/net/next-hop/kernel.ts';
import type { NextHop, NeighbourState } from '../../../../agent/net/next-hop/next-hop.ts';
import { faultyLibc } from '../../../support/faulty-libc.ts';
import {
  hex,
  kernelThatKnows,
  recorded,
  refusal,
  type Asked,
} from '../../../support/netlink-messages.ts';
import { TestClock } from '../../../support/test-clock.ts';

const by = (state: NeighbourState): NextHop => ({
  ...{ kind: 'hop', device: 'eth0', isUp: true, hasCarrier: true },
  gateway: { address: '10.0.0.1', state },
});

test('only a gateway that was given up, a missing link and a missing route are proven dead', () => {
  const link = {
    ...({ kind: 'hop', device: 'eth0', isUp: true, hasCarrier: true, gateway: null } as const),
  };
  const alive = ['reachable', 'stale', 'delay', 'probe', 'noarp', 'permanent', null] as const;
  const rows: [hop: NextHop, problem: RegExp | null][] = [
    ...alive.map((state): [NextHop, null] => [by(state), null]),
    [by('failed'), /10\.0\.0\.1 on eth0/],
    [link, null],
    [{ ...link, hasCarrier: false }, /no link/],
    [{ ...link, hasCarrier: false, mayEndAtTarget: true }, null],
    [{ ...link, isUp: false }, /is down/],
    [{ kind: 'none', code: 'ENETUNREACH' }, /no route/],
    [{ kind: 'here' }, null],
  ];
  for (const [hop, problem] of rows) {
    const found = nextHopProblem(hop, '192.0.2.1');
    if (problem === null) assert.equal(found, null, JSON.stringify(hop));
    else assert.match(found?.what ?? '', problem);
  }
});

/** The kernel knows these, one after the other; the last stays. */
function knowing(...hops: (NextHop | null)[]) {
  const clock = new TestClock(0);
  let asked = 0;
  const nextHops = {
    problem: null,
    to: () => Promise.resolve(hops[Math.min(asked++, hops.length - 1)] ?? null),
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

test('the kernel knows the addresses of this machine', async () => {
  const nextHops = openNextHops();
  assert.equal(nextHops.problem, null);
  const here = { kind: 'here' };
  for (const address of ['127.0.0.1', '::1', '127.0.0.2', '::ffff:127.0.0.1']) {
    assert.deepEqual(await nextHops.to(address), here, address);
  }
  assert.equal(await nextHops.to('nonsense'), null);
  assert.deepEqual(await nextHops.to('fe80::1%no0'), { kind: 'none', code: 'ENODEV' });
});

test('without system calls every hop is unknown, and it says why', async () => {
  const nextHops = openNextHops({ libc: null, problem: 'no package' });
  assert.equal(nextHops.problem, 'no package');
  assert.equal(await nextHops.to('127.0.0.1'), null);
});

test('a system call that fails makes a hop unknown, and leaves no socket behind', async () => {
  for (const call of ['socket', 'sendto', 'recvmsg'] as const) {
    for (const number of [
      -constants.errno.EMFILE,
      -constants.errno.EPERM,
      -constants.errno.EBADF,
    ]) {
      for (let nth = 0; nth < 4; nth += 1) {
        const { libc, open } = faultyLibc((made, before) =>
          made === call && before >= nth ? number : null,
        );
        const nextHops = openNextHops({ libc });
        for (const address of ['192.0.2.1', '127.0.0.1', '2001:db8::1', 'fe80::1%lo']) {
          await nextHops.to(address);
        }
        assert.equal(await nextHops.to('192.0.2.1'), null);
        assert.match(
          nextHops.problem ?? '',
          /^the kernel cannot be asked \((socket|sendto|recvmsg)/,
        );
        assert.equal(open.size, 0);
      }
    }
  }
});

test('a kernel that answers every question with an error has no route only where it says so', async () => {
  const answering = (code: 'ENETUNREACH' | 'EOPNOTSUPP' | 'EPERM' | 'ENOBUFS' | 'EBUSY') =>
    openNextHops({ libc: kernelThatKnows(() => refusal(-constants.errno[code])) });
  assert.deepEqual(await answering('ENETUNREACH').to('192.0.2.1'), {
    ...{ kind: 'none', code: 'ENETUNREACH' },
  });
  for (const code of ['EOPNOTSUPP', 'EPERM', 'ENOBUFS', 'EBUSY'] as const) {
    assert.equal(await answering(code).to('192.0.2.1'), null, code);
    assert.match(answering(code).problem ?? '', /^the kernel cannot be asked \(netlink: E/);
  }
});

/** The recorded messages with some bytes replaced. */
function changed(message: Buffer, at: number, ...bytes: number[]): Buffer {
  const copy = Buffer.from(message);
  copy.set(bytes, at);
  return copy;
}

const { neighbours, route, link, rules } = recorded;
const defaultRules = rules.subarray(68);
const routeType = 16 + 7;
const linkFlags = 16 + 8;
const neighbourState = 16 + 8;
/** A route without its last attributes, from the gateway on. */
const onLink = changed(route.subarray(0, 60), 0, 60);
const unplugged = changed(link, linkFlags, 0x03, 0x10, 0, 0);
const failed = changed(neighbours, neighbourState, 0x20);
const throughGateway = (state: NeighbourState) => ({
  ...{ kind: 'hop', device: 'br0', isUp: true, hasCarrier: true },
  gateway: { address: '10.0.0.1', state },
});
const onBridge = { kind: 'hop', device: 'br0', isUp: true, hasCarrier: false, gateway: null };

test('what the kernel answers decides about the next hop', async () => {
  type Known = Partial<Record<Asked, Buffer | number | ((question: Buffer) => Buffer)>>;
  const isFar = (question: Buffer): boolean => question.includes(hex('c0000201'));
  const isInTable = (question: Buffer): boolean => question.readUInt32LE(16 + 8) === 0x2000;
  const cases: readonly [name: string, known: Known, hop: unknown][] = [
    ['a gateway', {}, throughGateway('permanent')],
    ['no neighbour', { neighbours: recorded.done }, throughGateway(null)],
    ['neighbours cannot be listed', { neighbours: refusal(-95) }, throughGateway(null)],
    ['a dead gateway', { neighbours: failed }, throughGateway('failed')],
    ['the own address', { route: changed(route, routeType, 2) }, { kind: 'here' }],
    ['a blackhole', { route: changed(route, routeType, 6) }, { kind: 'none', code: 'EINVAL' }],
    [
      'unreachable',
      { route: changed(route, routeType, 7) },
      { kind: 'none', code: 'EHOSTUNREACH' },
    ],
    ['prohibited', { route: recorded.refusal }, { kind: 'none', code: 'EACCES' }],
    ['a bridge that all else leaves by', { route: onLink, link: unplugged }, onBridge],
    [
      'a bridge for the target alone',
      { route: (question) => (isFar(question) ? refusal(-101) : onLink), link: unplugged },
      { ...onBridge, mayEndAtTarget: true },
    ],
    [
      'a rule that looks at ports',
      { neighbours: failed, rules: changed(rules, 16 + 12 + 34, 24) },
      null,
    ],
    [
      'several gateways',
      {
        neighbours: failed,
        route: (question) => (isInTable(question) ? changed(route, 16 + 12 + 2, 9) : route),
      },
      null,
    ],
    ['a rule for another source', { neighbours: failed, rules }, throughGateway('failed')],
    [
      'a rule for the own source',
      {
        ...{ neighbours: failed, rules },
        route: (question) => (question.readUInt8(16 + 2) === 32 ? onLink : route),
      },
      null,
    ],
    [
      'rules cannot be listed',
      { neighbours: failed, rules: refusal(-95) },
      throughGateway('failed'),
    ],
    ['rules cannot be asked for', { neighbours: failed, rules: -constants.errno.EMFILE }, null],
    [
      'a damaged route',
      { route: changed(route, 16, ...Array.from({ length: 60 }, () => 0)) },
      null,
    ],
  ];
  const usual = { link, route, neighbours, rules: defaultRules };
  for (const [name, known, hop] of cases) {
    const libc = kernelThatKnows((asked, question) => {
      const answer = known[asked] ?? usual[asked];
      return typeof answer === 'function' ? answer(question) : answer;
    });
    assert.deepEqual(await openNextHops({ libc }).to('8.8.8.8'), hop, name);
  }
});
