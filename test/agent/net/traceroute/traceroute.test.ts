// Own process: it makes system calls fail, and counts what stays open.
import assert from 'node:assert/strict';
import { SO_TIMESTAMPNS } from '../../../../agent/native/error-queue.ts';
import { AF_INET, NativeSocket, SOCK_DGRAM, SOL_SOCKET } from '../../../../agent/native/sockets.ts';
import { constants } from 'node:os';
import { test } from 'node:test';
import { tracerouteReport, type TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../../../agent/errors.ts';
import { loadLibc, type Libc } from '../../../../agent/native/libc.ts';
import {
  openTraceroute,
  type TracedTarget,
  type Traceroute,
} from '../../../../agent/net/traceroute/traceroute.ts';
import { faultyLibc, realLibc } from '../../../support/faulty-libc.ts';
import { freePort } from '../../../../proof/program.ts';
import { TestClock } from '../../../support/test-clock.ts';
import { tcpServer } from '../../../support/servers.ts';

const never = new AbortController().signal;
const here = { address: '127.0.0.1', family: 'IPv4' } as const;
const udp = { ...here, port: null };

async function opened(libc?: Libc): Promise<Traceroute> {
  const result = await (libc === undefined ? openTraceroute() : openTraceroute({ libc }));
  assert.ok(result.traceroute !== null, 'problem' in result ? result.problem : '');
  return result.traceroute;
}

type Fail = Parameters<typeof faultyLibc>[0];

/** A tracer that was opened with sound system calls, of which some fail from then on. */
async function openedBefore(fail: Fail) {
  let before: Record<string, number> | null = null;
  const calls = faultyLibc((call, made, given) =>
    before === null ? null : fail(call, made - (before[call] ?? 0), given),
  );
  const traceroute = await opened(calls.libc);
  before = { ...calls.made };
  return { traceroute, ...calls };
}

/** Nothing is sent, so that nothing is answered. */
const silence: Fail = (call, _before, given) =>
  call === 'sendto' ? (given[1] as Buffer).length : null;

test('a port of this machine is one hop away, whether it is open or not', async () => {
  await using traceroute = await opened();
  await using server = await tcpServer((socket) => socket.end());
  const closed = await freePort();
  const traces = await Promise.all(
    [server.port, closed, null].map((port) =>
      traceroute.trace({ ...here, port }, { timeoutMs: 5_000, signal: never }),
    ),
  );
  const ends = [
    ['tcp', null],
    ['tcp', 'connection refused'],
    ['udp', null],
  ] as const;
  for (const [index, [method, note]] of ends.entries()) {
    const report = tracerouteReport.parse(traces[index]);
    assert.deepEqual([report.method, report.isReached, report.hops.length], [method, true, 1]);
    const [hop] = report.hops;
    assert.deepEqual([hop?.addresses, hop?.sent, hop?.received], [['127.0.0.1'], 3, 3]);
    assert.deepEqual([hop?.isTarget, hop?.note], [true, note]);
    assert.ok(report.durationMs < 3_000);
  }
});

test('answers that wait in the sockets of a late process count', async () => {
  const clock = new TestClock(Date.now());
  const { traceroute } = await openTraceroute(undefined, clock);
  assert.ok(traceroute !== null);
  await using _closing = traceroute;
  const traced = traceroute.trace(udp, { timeoutMs: 5_000, signal: never });
  // All its timers are due before the event loop looks at a socket.
  clock.advance(5_000);
  const { isReached, hops } = await traced;
  assert.deepEqual([isReached, hops.length], [true, 1]);
});

test('a trace is ended at its deadline, by a signal and by closing, and leaves no socket', async () => {
  const { traceroute, open } = await openedBefore(silence);
  const byDeadline = await traceroute.trace(udp, { timeoutMs: 200, signal: never });
  const [first] = byDeadline.hops;
  assert.deepEqual([first?.sent, first?.received, byDeadline.isReached], [1, 0, false]);
  assert.equal(open.size, 0);
  const cancellation = new AbortController();
  const { signal } = cancellation;
  const cancelled = traceroute.trace(udp, { timeoutMs: 60_000, signal });
  assert.ok(open.size > 0);
  cancellation.abort();
  assert.equal(open.size, 0);
  assert.equal((await cancelled).isReached, false);
  const already = await traceroute.trace(udp, { timeoutMs: 60_000, signal });
  assert.deepEqual(already.hops, []);
  const closed = traceroute.trace(udp, { timeoutMs: 60_000, signal: never });
  await traceroute[Symbol.asyncDispose]();
  assert.equal(open.size, 0);
  await assert.rejects(closed, { code: 'TRACEROUTE_UNAVAILABLE', message: /agent is stopping/ });
});

test('times are those of the network, however late this process reads an answer', async () => {
  const lateMs = 50;
  // The kernel stamps packets while some socket wants it, as those for ICMP of an agent do.
  using stamps = new NativeSocket(realLibc(), AF_INET, SOCK_DGRAM);
  stamps.setOption(SOL_SOCKET, SO_TIMESTAMPNS, 1);
  const { traceroute } = await openedBefore((call) => {
    const until = performance.now() + lateMs;
    while (call === 'recvmsg' && performance.now() < until);
    return null;
  });
  const report = await traceroute.trace(udp, { timeoutMs: 20_000, signal: never });
  const { best } = report.hops[0] ?? {};
  assert.ok(typeof best === 'number' && best > 0 && best < lateMs, JSON.stringify(report.hops));
});

test('a system call that fails before anything was sent is an agent error that says why', async () => {
  const { EMFILE, EPERM, ENOSPC, ENETUNREACH, EBADF, EACCES } = constants.errno;
  const cases = [
    { call: 'socket', error: EMFILE, message: /no file descriptor is left/ },
    { call: 'epoll_ctl', error: ENOSPC, message: /sends nothing to 127\.0\.0\.1.*ENOSPC/ },
    { call: 'setsockopt', error: EPERM, message: /sandbox/ },
    { call: 'connect', error: ENETUNREACH, message: /it has no route/ },
    { call: 'sendto', error: EPERM, message: /its firewall forbids that/ },
    { call: 'recvmsg', error: EBADF, message: /recvmsg: EBADF/ },
  ] as const;
  for (const { call, error, message } of cases) {
    const { traceroute, open } = await openedBefore((made) => (made === call ? -error : null));
    await assert.rejects(
      traceroute.trace(udp, { timeoutMs: 5_000, signal: never }),
      (problem) => problem instanceof AgentError && message.test(problem.message),
      call,
    );
    assert.equal(open.size, 0, call);
  }
  const plan = { method: 'icmp', maxHops: 4, shownSilent: 2 } as const;
  const { traceroute } = await openedBefore((made) => (made === 'socket' ? -EACCES : null));
  await assert.rejects(
    traceroute.trace(udp, { timeoutMs: 5_000, signal: never, plan }),
    /ping_group_range/,
  );
});

test('what was sent before no more could be is reported', async () => {
  const { traceroute, open } = await openedBefore((call, before) =>
    call === 'socket' && before >= 1 ? -constants.errno.EMFILE : null,
  );
  const report = await traceroute.trace(udp, { timeoutMs: 5_000, signal: never });
  assert.deepEqual([report.isReached, report.hops[0]?.sent], [true, 1]);
  assert.equal(open.size, 0);
});

test('whatever call fails whenever, a trace is a report or an agent error, and leaves no socket', async () => {
  await using server = await tcpServer((socket) => socket.end());
  const targets: TracedTarget[] = [udp, { ...here, port: server.port }];
  targets.push({ ...here, port: await freePort() });
  const calls = [
    ...(['socket', 'setsockopt', 'getsockopt', 'connect', 'sendto', 'recvmsg'] as const),
    ...(['getsockname', 'getpeername', 'epoll_ctl', 'epoll_wait'] as const),
    ...(['clock_gettime', 'close', 'ioctl'] as const),
  ];
  const results = [-constants.errno.EMFILE, -constants.errno.EBADF, 0];
  const cases = calls.flatMap((call) =>
    results.flatMap((result) => [0, 2].map((from) => ({ call, result, from }))),
  );
  await Promise.all(
    cases.map(async ({ call, result, from }) => {
      // A socket of number 0 would be the standard input.
      if (call === 'socket' && result === 0) return;
      const { traceroute, open } = await openedBefore((made, before) =>
        made === call && before >= from ? result : null,
      );
      await Promise.all(
        targets.map(async (target) => {
          const ended = traceroute.trace(target, { timeoutMs: 1_500, signal: never });
          const report: TracerouteReport | null = await ended.catch((error: unknown) => {
            assert.ok(error instanceof AgentError, `${call} ${result}: ${String(error)}`);
            return null;
          });
          if (report !== null) tracerouteReport.parse(report);
        }),
      );
      assert.equal(open.size, 0, `${call} ${result}`);
    }),
  );
});

test('a socket that is always ready and never says anything is given up', async () => {
  const { traceroute, made } = await openedBefore((call) =>
    call === 'recvmsg' ? -constants.errno.EAGAIN : null,
  );
  const report = await traceroute.trace(udp, { timeoutMs: 5_000, signal: never });
  assert.equal(report.isReached, false);
  const sent = made.sendto ?? 0;
  assert.ok((made.recvmsg ?? 0) <= 4 + sent * 2 * 65, `${made.recvmsg} reads of ${sent} probes`);
});

test('an address that cannot be meant is refused before anything is sent', async () => {
  await using traceroute = await opened();
  for (const [address, family, message] of [
    ['shop.internal', 'IPv4', /is not an IPv4 address/],
    ['10.0.0.1', 'IPv6', /is not an IPv6 address/],
    ['fe80::1', 'IPv6', /fe80::1%eth0/],
    ['fe80::1%no0', 'IPv6', /no interface "no0"/],
  ] as const) {
    await assert.rejects(
      traceroute.trace({ address, family, port: 1 }, { timeoutMs: 5_000, signal: never }),
      message,
    );
  }
});

test('where it cannot work it says why and what would help', async () => {
  const problemOf = async (fail: Fail) => {
    const { libc, open } = faultyLibc(fail);
    const result = await openTraceroute({ libc });
    assert.equal(open.size, 0);
    return 'problem' in result ? result.problem : null;
  };
  const { ENOPROTOOPT, EAGAIN, EPERM, EADDRNOTAVAIL } = constants.errno;
  for (const [failing, error, words] of [
    ['setsockopt', ENOPROTOOPT, /setsockopt: ENOPROTOOPT.*outside of it, or set TRACEROUTE=off/],
    ['recvmsg', EAGAIN, /recvmsg: ENOMSG/],
    ['socket', EPERM, /EPERM/],
  ] as const) {
    const problem = await problemOf((call) => (call === failing ? -error : null));
    assert.match(problem ?? '', words);
  }
  // Without a loopback interface there is nothing to find out.
  assert.equal(await problemOf((call) => (call === 'bind' ? -EADDRNOTAVAIL : null)), null);
  const onMac = await openTraceroute(loadLibc('darwin', 'arm64'));
  assert.match(
    'problem' in onMac ? onMac.problem : '',
    /^the way to a target cannot be traced: .* Linux .* this is darwin arm64/,
  );
});
