// Own process: it changes the environment of the process.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { EchoReply } from '../../../../agent/net/icmp/icmp.ts';
import { PingIcmp, startProblem } from '../../../../agent/net/icmp/ping.ts';
import { TestClock } from '../../../support/test-clock.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A value of PATH in which `ping` is the given shell script. */
function pathWith(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ping-'));
  folders.push(folder);
  writeFileSync(join(folder, 'ping'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return [folder, '/usr/bin', '/bin'].join(delimiter);
}

/** A `ping` that prints what a real one once printed. */
function recorded(name: string): string {
  const file = fileURLToPath(new URL(`../../../fixtures/ping-output/${name}.txt`, import.meta.url));
  return pathWith(`cat '${file}'`);
}

function open(path: string, clock: Clock = systemClock): PingIcmp & Disposable {
  const ping = new PingIcmp(path, clock);
  return Object.assign(ping, {
    [Symbol.dispose]() {
      ping.close();
    },
  });
}

function echo(
  ping: PingIcmp,
  count: number,
  family: IpFamily = 'IPv4',
  signal = new AbortController().signal,
): Promise<EchoReply[]> {
  const address = family === 'IPv4' ? '192.0.2.1' : '2001:db8::1';
  return ping.echo({ address, family, count, intervalMs: 500, timeoutMs: 1000, signal });
}

type Summary = readonly [
  success: boolean,
  type: number | null,
  code: number | null,
  rtt: number | null,
  ttl: number | null,
];
const lost: Summary = [false, null, null, null, null];
const got = (rtt: number, type = 0): Summary => [true, type, 0, rtt, 64];
const error = (type: number, code: number): Summary => [false, type, code, null, null];

for (const [name, family, expected] of [
  ['iputils-replies', 'IPv4', [got(0.189), got(0.036), got(0.027)]],
  ['iputils-replies-ipv6', 'IPv6', [got(0.026, 129), got(0.039, 129)]],
  ['iputils-some-lost', 'IPv4', [got(0.022), got(0.033), lost, got(0.041)]],
  ['iputils-silence', 'IPv4', [lost, lost, lost]],
  ['iputils-host-unreachable', 'IPv4', [error(3, 1), error(3, 1)]],
  ['iputils-prohibited', 'IPv4', [error(3, 13)]],
  ['iputils-hop-limit', 'IPv4', [error(11, 0)]],
  ['iputils-redirect', 'IPv4', [lost]],
  ['iputils-unreachable-ipv6', 'IPv6', [error(1, 0), error(1, 0)]],
  ['iputils-prohibited-ipv6', 'IPv6', [error(1, 1)]],
  ['busybox-replies', 'IPv4', [got(0.043), got(0.065), got(0.047)]],
  ['busybox-replies-ipv6', 'IPv6', [got(0.046, 129), got(0.065, 129)]],
  ['busybox-some-lost', 'IPv4', [got(0.041), got(0.083), lost, got(0.057)]],
  ['busybox-silence', 'IPv4', [lost, lost, lost]],
] as const) {
  test(`what ping printed in ${name} is understood`, async () => {
    // Its clock stands still: how long the program takes is not the subject.
    using ping = open(recorded(name), new TestClock(0));
    const replies = await echo(ping, expected.length, family);
    assert.deepEqual(
      replies.map(({ success, type, code, rtt, ttl }) => [success, type, code, rtt, ttl]),
      expected,
    );
    assert.deepEqual(
      replies.map(({ sequence }) => sequence),
      expected.map((_reply, index) => index),
    );
  });
}

for (const [name, code] of [
  ['iputils-forbidden', 'ICMP_UNAVAILABLE'],
  ['busybox-forbidden', 'ICMP_UNAVAILABLE'],
  ['iputils-no-route', 'NETWORK_UNAVAILABLE'],
  ['busybox-no-route', 'NETWORK_UNAVAILABLE'],
] as const) {
  test(`what ping printed in ${name} is an agent error`, async () => {
    using ping = open(recorded(name), new TestClock(0));
    await assert.rejects(echo(ping, 2), { name: 'AgentError', code });
  });
}

test('ping sends the right packets and does not get the environment of the agent', async () => {
  process.env['SECRET_FOR_TEST'] = 'secret';
  using ping = open(pathWith('echo "usage: ping $* [$SECRET_FOR_TEST] [$LC_ALL]"'));
  const said = (line: string): object => ({
    message: `ping could not be used: it printed "${line}"`,
  });
  await assert.rejects(
    echo(ping, 4),
    said('usage: ping -n -W 1 -c 4 -s 56 -i 0.5 192.0.2.1 [] [C]'),
  );
  await assert.rejects(
    echo(ping, 1, 'IPv6'),
    said('usage: ping -n -W 1 -c 1 -s 56 -6 -i 0.5 2001:db8::1 [] [C]'),
  );
});

test('a ping that prints a single word ends nothing but its own check', async () => {
  using ping = open(pathWith('echo oops'));
  await assert.rejects(echo(ping, 1), { name: 'AgentError', code: 'ICMP_UNAVAILABLE' });
  await assert.rejects(echo(ping, 1), { name: 'AgentError', code: 'ICMP_UNAVAILABLE' });
});

test('a missing ping program is an agent error', async () => {
  using ping = open('/nowhere');
  await assert.rejects(echo(ping, 1), { name: 'AgentError', code: 'ICMP_UNAVAILABLE' });
});

test('a cancelled run does not wait for ping', async () => {
  using ping = open(pathWith('exec sleep 5'));
  const controller = new AbortController();
  const running = echo(ping, 1, 'IPv4', controller.signal);
  controller.abort();
  await assert.rejects(running, { message: 'the run was cancelled' });
});

test('closing ends what is under way', async () => {
  const ping = open(pathWith('exec sleep 5'));
  const running = echo(ping, 1);
  ping.close();
  await assert.rejects(running, { code: 'ICMP_UNAVAILABLE' });
});

test('many pings at once each get their own replies', async () => {
  using ping = open(pathWith('echo "64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=$5.5 ms"'));
  const counts = Array.from({ length: 12 }, (_count, index) => index + 1);
  const all = await Promise.all(counts.map((count) => echo(ping, count)));
  assert.deepEqual(
    all.map((replies) => [replies.length, replies[0]?.rtt]),
    counts.map((count) => [count, count + 0.5]),
  );
});

test('a ping that cannot be started says what to do', () => {
  assert.match(
    startProblem('spawn EPERM'),
    /allow NET_RAW, or .*ping_group_range \(spawn EPERM\)$/,
  );
  assert.match(startProblem('spawn ping ENOENT'), /not installed \(Debian: iputils-ping\)/);
  assert.equal(startProblem('its thread has ended'), 'its thread has ended');
});
