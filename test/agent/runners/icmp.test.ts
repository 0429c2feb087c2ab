// Own process: it starts many programs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { AgentError } from '../../../agent/errors.ts';
import { decodeEcho, encodeEcho } from '../../../agent/net/icmp/packet.ts';
import { runIcmp } from '../../../agent/runners/icmp.ts';
import { temporaryFolder } from '../../support/system.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { agentProgram } from '../../support/programs.ts';

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
    ...{ type: 0, code: 0, sequence: 5, token: token.toString('latin1'), isReply: true },
  });
  assert.equal(decodeEcho(4, Buffer.alloc(3)), undefined);
  assert.equal(decodeEcho(6, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1])), undefined);
});

const isRoot = process.getuid?.() === 0;
const skip = isRoot ? false : 'needs root to make a network namespace';

interface RunOutput {
  verdict: string;
  apiCheckResult: {
    response: { packetsReceived: number; packetsSent: number; pingResults: { ttl: number }[] };
  };
}

/** What a command does in a network with a loopback interface and nothing else, perhaps as an ordinary user. */
function inOwnNetwork(range: string, command: readonly string[]) {
  const script = `echo "${range}" > /proc/sys/net/ipv4/ping_group_range && ip link set lo up && exec "$@"`;
  const [agent, ...words] = [agentProgram, 'run'];
  const all = [...command, process.execPath, agent ?? '', ...words];
  return (target: string, ...options: string[]) =>
    spawnSync('unshare', ['--net', 'sh', '-c', script, 'sh', ...all, target, ...options], {
      encoding: 'utf8',
    });
}

const asUser = ['setpriv', '--reuid', '10001', '--regid', '10001', '--clear-groups'];
const withNetRaw = [...asUser, '--inh-caps', '+net_raw', '--ambient-caps', '+net_raw'];

for (const [who, range, command] of [
  ['root, where only raw sockets are allowed', '1 0', []],
  ['a user with NET_RAW', '1 0', withNetRaw],
  ['a user without any right, where the group range allows it', '0 2147483647', asUser],
] as const) {
  for (const [hostname, ipFamily] of [
    ['127.0.0.1', 'IPv4'],
    ['::1', 'IPv6'],
  ]) {
    test(`echo requests go out as ${who}, by ${ipFamily}`, { skip }, () => {
      using folder = temporaryFolder();
      chmodSync(folder.path, 0o755);
      const file = join(folder.path, 'check.json');
      const checked = { hostname, ipFamily, pingCount: 2 };
      writeFileSync(file, JSON.stringify({ name: 'ping', checkType: 'ICMP', request: checked }));
      const { stdout, stderr } = inOwnNetwork(range, command)(file, '--json');
      assert.notEqual(stdout, '', stderr);
      const { verdict, apiCheckResult } = JSON.parse(stdout) as RunOutput;
      assert.equal(verdict, 'passed');
      const { packetsReceived, packetsSent, pingResults } = apiCheckResult.response;
      assert.equal(packetsReceived, packetsSent);
      assert.deepEqual([...new Set(pingResults.map(({ ttl }) => ttl))], [64]);
    });
  }

  test(`that nothing can be sent as ${who} is an agent error, not lost packets`, { skip }, () => {
    const { status, stdout, stderr } = inOwnNetwork(range, command)('icmp://192.0.2.1');
    assert.match(stdout + stderr, /could not send echo requests to 192\.0\.2\.1 \(ENETUNREACH\)/);
    assert.equal(status, 2);
  });
}
