/**
 * Round trips of echo requests on loopback, as a program of its own: by the agent, or by a raw socket
 * that is read at once, as the plainest program would. Prints quantiles in ms, as JSON.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { openLibc } from '../../agent/native/libc.ts';
import { AF_INET, NativeSocket, SOCK_RAW, socketAddress } from '../../agent/native/sockets.ts';
import { openIcmp } from '../../agent/net/icmp/open-icmp.ts';
import { encodeEcho } from '../../agent/net/icmp/packet.ts';
import { quantile } from './process-cost.ts';

const count = 600;
const apartMs = 10;
const address = '127.0.0.1';

function byAgent(): () => Promise<number | null> {
  const { icmp } = openIcmp(process.env);
  if (icmp === null) throw new Error('no way to send echo requests');
  const { signal } = new AbortController();
  const given = { address, family: 'IPv4', count: 1, intervalMs: 0, timeoutMs: 30_000 } as const;
  return async () => (await icmp.echo({ ...given, signal }))[0]?.rtt ?? null;
}

function plainly(): () => number {
  const { libc } = openLibc();
  if (libc === null) throw new Error('no system calls');
  const socket = new NativeSocket(libc, AF_INET, SOCK_RAW, 1);
  const identifier = randomInt(1, 65_536);
  const to = socketAddress(address);
  let sequence = 0;
  return () => {
    sequence += 1;
    const packet = encodeEcho(4, identifier, sequence, Buffer.alloc(16));
    const sentAt = performance.now();
    socket.send(packet, to);
    for (;;) {
      const received = socket.receive();
      if (received === null || typeof received === 'number') continue;
      const at = performance.now();
      const { bytes } = received;
      const isReply = bytes[20] === 0 && bytes.readUInt16BE(24) === identifier;
      if (isReply && bytes.readUInt16BE(26) === sequence) return at - sentAt;
    }
  };
}

const measure = process.argv[2] === 'agent' ? byAgent() : plainly();
const times: number[] = [];
for (let index = 0; index < count; index += 1) {
  await pause(apartMs);
  const rtt = await measure();
  // The first ones pay for what is loaded and compiled.
  if (rtt !== null && index >= 100) times.push(rtt);
}
console.log(JSON.stringify({ p50: quantile(times, 0.5), p99: quantile(times, 0.99) }));
process.exit();
