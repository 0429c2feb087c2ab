// Own process: it starts many programs.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import test from 'node:test';
import { setInterval } from 'node:timers/promises';
import { AgentError } from '../../../agent/errors.ts';
import { addressBytes, decodeEcho, encodeEcho } from '../../../agent/net/icmp/packet.ts';
import { runIcmp } from '../../../agent/runners/icmp.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';

const request = { hostname: '127.0.0.1', pingCount: 2 };

test('without a way to send echo requests it is an agent error', async () => {
  await assert.rejects(
    runIcmp(definitionOf('ICMP', request), runnerContext()),
    (error) => error instanceof AgentError && error.code === 'ICMP_UNAVAILABLE',
  );
});

test('lost packets are counted, and latency is of those that came back', async () => {
  const icmp = {
    way: 'ping' as const,
    packetSize: 56,
    close: () => undefined,
    echo: () =>
      Promise.resolve([
        { sequence: 0, success: true, type: 0, code: 0, rtt: 10, ttl: 64 },
        { sequence: 1, success: false, type: null, code: null, rtt: null, ttl: null },
        { sequence: 2, success: true, type: 0, code: 0, rtt: 30, ttl: 64 },
        { sequence: 3, success: false, type: 3, code: 1, rtt: null, ttl: null },
      ]),
  };
  const seen = await runIcmp(
    definitionOf('ICMP', { hostname: '127.0.0.1', pingCount: 4 }),
    runnerContext(1_000, { icmp }),
  );
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['packetLoss'], 50);
  assert.equal(seen.response['packetsReceived'], 2);
  assert.deepEqual(seen.response['latency'], { avg: 20, min: 10, max: 30, stdDev: 10 });
  assert.equal(seen.responseTime, 20);
});

test('a packet comes back from its own encoding, with a checksum that sums to nothing', () => {
  const token = Buffer.from('0123456789abcdef');
  const packet = encodeEcho(4, 77, 5, token);
  let sum = 0;
  for (let at = 0; at < packet.length; at += 2) sum += packet.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  assert.equal(sum, 0xffff);
  packet.writeUInt8(0, 0);
  assert.deepEqual(decodeEcho(4, packet), {
    type: 0,
    code: 0,
    sequence: 5,
    token: token.toString('latin1'),
    isReply: true,
  });
  assert.equal(decodeEcho(4, Buffer.alloc(3)), undefined);
  assert.equal(decodeEcho(6, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1])), undefined);
});

test('addresses become their bytes', () => {
  assert.equal(addressBytes('192.0.2.1').toString('hex'), 'c0000201');
  assert.equal(addressBytes('::1').toString('hex'), `${'00'.repeat(15)}01`);
  assert.equal(
    addressBytes('2001:db8::ff:1').toString('hex'),
    '20010db80000000000000000 00ff0001'.replace(' ', ''),
  );
  assert.equal(addressBytes('fe80::1%eth0').length, 16);
});

function hasPerl(): boolean {
  return spawnSync('perl', ['-e', '1']).status === 0;
}

const isRoot = process.getuid?.() === 0;
const bringLoopbackUp = `
use Socket; socket(my $s, AF_INET, SOCK_DGRAM, 0) or die $!;
my $request = pack("a16 s", "lo", 0x1 | 0x40); ioctl($s, 0x8914, $request) or die $!;`;

function canUnshare(): boolean {
  return spawnSync('unshare', ['-n', 'true']).status === 0;
}

interface RunOutput {
  verdict: string;
  apiCheckResult: { response: { packetsReceived: number; packetsSent: number } };
}

function runThroughLauncher(wrapper: string[]): RunOutput {
  const [command = '', ...rest] = [
    ...wrapper,
    process.execPath,
    'agent/monitor-agent.js',
    'run',
    'icmp://127.0.0.1',
    '--json',
  ];
  return JSON.parse(execFileSync(command, rest, { encoding: 'utf8' })) as RunOutput;
}

test(
  'echo requests go out through a relay where only raw sockets are allowed',
  { skip: !isRoot ? 'needs root (CAP_NET_RAW)' : !hasPerl() ? 'needs perl' : false },
  () => {
    const { verdict, apiCheckResult } = runThroughLauncher([]);
    assert.equal(verdict, 'passed');
    assert.equal(apiCheckResult.response.packetsReceived, apiCheckResult.response.packetsSent);
  },
);

test(
  'echo requests go out through an unprivileged socket where the group range allows it',
  {
    skip: !isRoot
      ? 'needs root to make a network namespace'
      : !hasPerl()
        ? 'needs perl'
        : !canUnshare()
          ? 'needs unshare and the right to make a network namespace'
          : false,
  },
  () => {
    const script = `echo "0 2147483647" > /proc/sys/net/ipv4/ping_group_range && perl -e '${bringLoopbackUp}' && exec "$@"`;
    const { verdict } = runThroughLauncher(['unshare', '-n', 'sh', '-c', script, 'sh']);
    assert.equal(verdict, 'passed');
  },
);

for (const [way, range] of [
  ['a relay', '1 0'],
  ['an unprivileged socket', '0 2147483647'],
] as const) {
  test(
    `that nothing can be sent by ${way} is our fault, not lost packets`,
    {
      skip:
        !isRoot || !hasPerl() || !canUnshare()
          ? 'needs root, perl and unshare to make a network namespace'
          : false,
    },
    () => {
      const script = `echo "${range}" > /proc/sys/net/ipv4/ping_group_range && perl -e '${bringLoopbackUp}' && exec "$@"`;
      const agent = [process.execPath, 'agent/monitor-agent.js', 'run', 'icmp://192.0.2.1'];
      const { status, stdout, stderr } = spawnSync(
        'unshare',
        ['-n', 'sh', '-c', script, 'sh', ...agent],
        { encoding: 'utf8' },
      );
      assert.match(stdout + stderr, /could not send echo requests to 192\.0\.2\.1 \(ENETUNREACH\)/);
      assert.equal(status, 2);
    },
  );
}

test(
  'the relay ends with its agent, however early that is killed',
  { skip: !isRoot ? 'needs root (CAP_NET_RAW)' : !hasPerl() ? 'needs perl' : false },
  async () => {
    // The command the launcher becomes is gone at once, most likely before its relay has begun.
    const pids = Array.from({ length: 10 }, () => {
      const { pid } = spawnSync('perl', ['agent/icmp-launcher.pl', 'sh', '-c', 'kill -9 $$']);
      return pid;
    });
    const relays = (): string =>
      spawnSync('pgrep', ['-f', `icmp-relay .*--relay (${pids.join('|')}) `], { encoding: 'utf8' })
        .stdout;
    for await (const _tick of setInterval(50)) if (relays() === '') break;
  },
);
