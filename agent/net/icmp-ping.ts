/** Echo requests by the system's `ping`: works wherever that does, at the cost of a process each. */
import ping from 'ping';
import type { EchoReply, EchoRequest, IcmpTransport } from './icmp.ts';

const line = /icmp_?seq[= ](\d+).*?(?:ttl|hlim)[= ](\d+).*?time[=<]\s*([\d.]+)\s*ms/i;
const busyboxLine = /seq=(\d+) ttl=(\d+) time=([\d.]+) ms/i;

/** The replies in what `ping` printed; sequence numbers made to begin with 0. */
export function parsePingOutput(output: string, count: number): EchoReply[] {
  const replies = new Map<number, EchoReply>();
  const seen: [number, number, number][] = [];
  for (const text of output.split('\n')) {
    const match = line.exec(text) ?? busyboxLine.exec(text);
    if (match !== null) seen.push([Number(match[1]), Number(match[2]), Number(match[3])]);
  }
  // iputils counts from 1, busybox from 0.
  const first = seen.some(([sequence]) => sequence === 0) ? 0 : 1;
  for (const [number, ttl, rtt] of seen) {
    const sequence = number - first;
    if (sequence < 0 || sequence >= count || replies.has(sequence)) continue;
    replies.set(sequence, { sequence, success: true, type: 0, code: 0, rtt, ttl });
  }
  return Array.from(
    { length: count },
    (_reply, sequence) =>
      replies.get(sequence) ?? {
        sequence,
        success: false,
        type: null,
        code: null,
        rtt: null,
        ttl: null,
      },
  );
}

export class PingTransport implements IcmpTransport {
  readonly way = 'ping';
  readonly packetSize = 56;

  async echo(request: EchoRequest): Promise<EchoReply[]> {
    const { address, family, count, intervalMs, timeoutMs } = request;
    const result = await ping.promise.probe(address, {
      numeric: true,
      v6: family === 'IPv6',
      min_reply: count,
      timeout: Math.max(1, Math.ceil(timeoutMs / 1000)),
      extra: ['-i', String(Math.max(intervalMs, 200) / 1000)],
    });
    return parsePingOutput(result.output ?? '', count);
  }

  close(): void {}
}
