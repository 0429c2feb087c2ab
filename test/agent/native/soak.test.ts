// Own process: it measures its own memory and descriptors.
/**
 * Echoes, traces, next hops and captures while every system call may fail: the process lives, each
 * attempt ends as a fact or an error of the catalogue, and nothing is left open.
 *
 * `TEST_LONG=1` goes on for ten minutes, or `TEST_SOAK_MINUTES`.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../../agent/errors.ts';
import type { Libc } from '../../../agent/native/libc.ts';
import { openPacketCapture } from '../../../agent/net/capture/packet-capture.ts';
import { openIcmp } from '../../../agent/net/icmp/open-icmp.ts';
import { openNextHops } from '../../../agent/net/next-hop/kernel.ts';
import { openTraceroute } from '../../../agent/net/traceroute/traceroute.ts';
import { faultyLibc } from '../../support/faulty-libc.ts';
import { isLong, seededRandom, testSeed } from '../../support/random.ts';
import { tcpServer } from '../../support/servers.ts';

/** EPERM, EINTR, EIO, EBADF, EAGAIN, ENOMEM, EINVAL, EMFILE, ENETUNREACH, ENOBUFS, ETIMEDOUT. */
const errors = [1, 4, 5, 9, 11, 12, 22, 24, 101, 105, 110];
const faultShare = 0.02;
const atOnce = 8;
const minutes = isLong ? Number(process.env['TEST_SOAK_MINUTES'] ?? 10) : 0;
const fewest = 400;

/** What has no result that could be an error, or is never called with one. */
const notFaulty: ReadonlySet<keyof Libc> = new Set(['addressOf', 'view', 'getenv', 'watchEpoll']);

const descriptors = (): number => readdirSync('/proc/self/fd').length;

test('faults in every system call neither end the process nor leave anything behind', async (t) => {
  const seed = testSeed();
  t.diagnostic(`TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  let isBroken = false;
  const { libc, open, made } = faultyLibc((call) => {
    if (!isBroken || notFaulty.has(call) || random() >= faultShare) return null;
    // A message that is cut short is no error to the kernel.
    if (call === 'recvmsg' && random() < 0.3) return Math.floor(random() * 9);
    return -(errors[Math.floor(random() * errors.length)] ?? 5);
  });
  const opened = { libc };
  const { icmp } = openIcmp({}, systemClock, opened);
  const { traceroute } = await openTraceroute(opened);
  const { capture } = openPacketCapture({ bufferMb: 8, opened });
  assert.ok(icmp !== null && traceroute !== null && capture !== null, 'this test needs root');
  const nextHops = openNextHops(opened);
  await using server = await tcpServer((socket) => socket.destroy());
  const { port } = server;
  capture.start();

  const never = new AbortController().signal;
  const attempts: (() => Promise<unknown>)[] = [
    () =>
      icmp.echo({
        ...{ address: '127.0.0.1', family: 'IPv4', count: 2, intervalMs: 1, timeoutMs: 200 },
        signal: never,
      }),
    () =>
      icmp.echo({
        ...{ address: '::1', family: 'IPv6', count: 1, intervalMs: 1, timeoutMs: 200 },
        signal: never,
      }),
    () =>
      traceroute.trace(
        { address: '127.0.0.1', family: 'IPv4', port },
        { timeoutMs: 400, signal: never },
      ),
    () => nextHops.to('192.0.2.1'),
    () => nextHops.to('::1'),
    () => {
      const now = systemClock.monotonic();
      return capture.cut(
        {
          ...{ family: 'IPv4', localAddress: '127.0.0.1', localPort: 40_000 },
          ...{ remoteAddress: '127.0.0.1', remotePort: port, from: now - 1_000, to: now },
        },
        never,
      );
    },
  ];
  let [ended, failed] = [0, 0];
  const ends = performance.now() + minutes * 60_000;
  const worker = async (): Promise<void> => {
    while (ended < fewest || performance.now() < ends) {
      const attempt = attempts[Math.floor(random() * attempts.length)];
      await attempt?.().catch((error: unknown) => {
        assert.ok(error instanceof AgentError, String(error));
        failed += 1;
      });
      ended += 1;
      if (ended === fewest) settled = [descriptors(), process.memoryUsage.rss()];
    }
  };
  let settled: [number, number] = [0, 0];
  isBroken = true;
  await Promise.all(Array.from({ length: atOnce }, worker));
  isBroken = false;
  const [before, memory] = settled;
  const calls = Object.values(made).reduce((sum, count) => sum + count, 0);
  t.diagnostic(
    `${ended} attempts, ${failed} ended as agent errors, ${calls} calls; memory ${Math.round(memory / 1e6)} -> ${Math.round(process.memoryUsage.rss() / 1e6)} MB, descriptors ${before} -> ${descriptors()}`,
  );
  assert.ok(failed > 0 && failed < ended / 2, `${failed} of ${ended} failed`);
  assert.ok(process.memoryUsage.rss() < memory + 60e6, 'memory grew');
  icmp.close();
  capture[Symbol.dispose]();
  await traceroute[Symbol.asyncDispose]();
  assert.deepEqual([...open], []);
});
