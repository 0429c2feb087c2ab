import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { roundTrip } from '../../../../agent/native/receive-stamp.ts';
import { decodeEcho, encodeEcho } from '../../../../agent/net/icmp/packet.ts';
import { openIcmp } from '../../../../agent/net/icmp/open-icmp.ts';
import { systemClock } from '@monitor/shared/clock.ts';

const noUnshare = ((): string | false => {
  if (process.platform !== 'linux') return 'network namespaces need Linux';
  return process.getuid?.() === 0 ? false : 'network namespaces need root';
})();

test('a round trip ends at the stamp of the kernel, unless the wall clock was set meanwhile', () => {
  const sent = { monotonic: 100, wall: 1_000_000 };
  const rows: [read: typeof sent | { monotonic: number; wall: null }, number | null, number][] = [
    [{ monotonic: 140, wall: 1_000_040 }, 1_000_010.5, 10.5],
    [{ monotonic: 140, wall: 1_000_040 }, null, 40],
    [{ monotonic: 140, wall: null }, 1_000_010, 40],
    // Set forwards and backwards, between both and after the stamp.
    [{ monotonic: 140, wall: 1_500_040 }, 1_500_010, 40],
    [{ monotonic: 140, wall: 999_000 }, 1_000_010, 40],
    [{ monotonic: 140, wall: 1_000_020 }, 999_990, 40],
    // Less than a step, and yet no round trip.
    [{ monotonic: 140, wall: 1_000_040.5 }, 1_000_040.4, 40],
    [{ monotonic: 140, wall: 1_000_039.5 }, 999_999.8, 40],
  ];
  for (const [read, stamp, expected] of rows) {
    assert.equal(roundTrip(sent, read, stamp), expected, JSON.stringify([read, stamp]));
  }
  assert.equal(
    roundTrip({ monotonic: 0, wall: null }, { monotonic: 7, wall: 1_000_000 }, 999_999),
    7,
  );
});

test('packets that are cut off anywhere name no request', () => {
  const token = Buffer.from('0123456789abcdef');
  const request = encodeEcho(4, 77, 5, token);
  const reply = Buffer.from(request).fill(0, 0, 1);
  const ipHeader = Buffer.alloc(20).fill(0x45, 0, 1);
  const error = Buffer.concat([Buffer.from([3, 1, 0, 0, 0, 0, 0, 0]), ipHeader, request]);
  for (const [packet, needed] of [
    [reply, 24],
    [error, 52],
  ] as const) {
    for (let length = 0; length <= packet.length; length += 1) {
      const echo = decodeEcho(4, packet.subarray(0, length));
      assert.equal(echo?.sequence, length < needed ? undefined : 5, String(length));
    }
  }
});

test('without the library echo requests go out by ping, or the reason is given', () => {
  const opened = { libc: null, problem: 'system calls cannot be made' };
  const { icmp } = openIcmp({}, systemClock, opened);
  const none = openIcmp({ PATH: '/nowhere' }, systemClock, opened);
  icmp?.close();
  assert.ok(icmp === null || icmp.way === 'ping');
  assert.ok(none.icmp === null);
  assert.match(none.problem, /no raw socket could be opened \(system calls cannot be made\)/);
});

/** Both requests, to both families, and once more afterwards; then how many descriptors are left open. */
const sound = 'reply ttl 64; then reply ttl 64; 0 left';
const none = 'not opened, 0 left';
const ours = (code: string): string =>
  `NETWORK_UNAVAILABLE ${code}; then NETWORK_UNAVAILABLE ${code}; 0 left`;
const onceOurs = (code: string): string =>
  `NETWORK_UNAVAILABLE ${code}, reply ttl 64; then reply ttl 64; 0 left`;

for (const [way, range] of [
  ['datagram', '0 2147483647'],
  ['raw', '1 0'],
] as const) {
  test(
    `by ${way} sockets, a system call that fails is no answer of the target, and ends nothing`,
    { skip: noUnshare },
    () => {
      const script = `ip link set lo up && echo "${range}" > /proc/sys/net/ipv4/ping_group_range && exec "$@"`;
      const program = [process.execPath, 'test/support/echo-faults.ts'];
      const output = execFileSync('unshare', ['--net', 'sh', '-c', script, 'sh', ...program], {
        encoding: 'utf8',
      });
      // An error that waits on a datagram socket may be about an earlier packet.
      const mayBeStale = way === 'datagram';
      const noIpv6 = 'reply ttl 64, ICMP_UNAVAILABLE EAFNOSUPPORT';
      assert.deepEqual(JSON.parse(output), {
        none: sound,
        'socket EMFILE': none,
        'socket EAFNOSUPPORT but for IPv4': `${noIpv6}; then ${noIpv6}; 0 left`,
        'setsockopt EPERM': 'reply; then reply; 0 left',
        ...{ 'epoll_create1 EMFILE': none, 'epoll_ctl ENOMEM': none, 'epoll_wait EINTR': sound },
        ...{ 'sendto EAGAIN, three times': sound, 'sendto EAGAIN': ours('EAGAIN') },
        ...{ 'sendto EPERM': ours('EPERM'), 'sendto ENOBUFS': ours('ENOBUFS') },
        'sendto ENETUNREACH': ours('ENETUNREACH'),
        'sendto EHOSTUNREACH': 'lost; then lost; 0 left',
        'sendto EHOSTUNREACH, three times': mayBeStale
          ? sound
          : 'lost, reply ttl 64; then reply ttl 64; 0 left',
        ...{ 'sendto EBADF, once': onceOurs('EBADF'), 'sendto, 3 bytes': ours('EIO') },
        ...{ 'recvmsg ENOMEM, once': onceOurs('ENOMEM'), 'recvmsg EBADF': ours('EBADF') },
        'recvmsg EHOSTUNREACH, once': mayBeStale ? sound : onceOurs('EHOSTUNREACH'),
        ...{ 'clock_gettime EINVAL': sound, 'close EIO': sound },
        ...{ 'recvmsg, 5 bytes': 'lost; then lost; 0 left', 'hostile messages': sound },
        'closed descriptors': 'reply ttl 64; then NETWORK_UNAVAILABLE EBADF; then reply ttl 64',
        'a late event loop': 'true, true',
        'echoes of others': '0 times',
        'a wall clock that jumps': 'true',
      });
    },
  );
}
