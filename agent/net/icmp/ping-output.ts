/** Parses the output of `ping`, from iputils and busybox. */
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { EchoReply } from './icmp.ts';

/** `64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.131 ms`; busybox writes `seq`, from 0. */
const replyLine =
  /: (?<counter>icmp_seq|seq)=(?<sequence>\d+) (?:ttl|hlim)=(?<ttl>\d+)(?: time[=<](?<rtt>[\d.]+) ms)?/;
/** `From 192.0.2.9 icmp_seq=1 Destination Host Unreachable`; busybox does not print these. */
const errorLine = /^From \S+:? icmp_seq=(?<sequence>\d+) (?<text>.+)$/;

/** Type and code by the texts of iputils. */
const errors: Readonly<Record<string, readonly [type: number, code: number]>> = {
  'Destination Net Unreachable': [3, 0],
  'Destination Host Unreachable': [3, 1],
  'Destination Protocol Unreachable': [3, 2],
  'Destination Port Unreachable': [3, 3],
  'Destination Net Unknown': [3, 6],
  'Destination Host Unknown': [3, 7],
  'Destination Net Prohibited': [3, 9],
  'Destination Host Prohibited': [3, 10],
  'Packet filtered': [3, 13],
  'Time to live exceeded': [11, 0],
  'Destination unreachable: No route': [1, 0],
  'Destination unreachable: Administratively prohibited': [1, 1],
  'Destination unreachable: Beyond scope of source address': [1, 2],
  'Destination unreachable: Address unreachable': [1, 3],
  'Destination unreachable: Port unreachable': [1, 4],
  'Time exceeded: Hop limit': [3, 0],
};

/**
 *   replies    one for each request, in order
 *   forbidden  this process may not send echo requests
 *   no-route   this machine has no way to the target
 *   unreadable anything else
 */
export type PingOutcome =
  | { kind: 'replies'; replies: EchoReply[] }
  | { kind: 'forbidden' | 'no-route' | 'unreadable'; line: string };

function readReply(line: string, family: IpFamily): EchoReply | null {
  const groups = replyLine.exec(line)?.groups;
  if (groups !== undefined) {
    const { counter, sequence, ttl, rtt } = groups;
    return {
      sequence: Number(sequence) - (counter === 'icmp_seq' ? 1 : 0),
      success: true,
      type: family === 'IPv6' ? 129 : 0,
      code: 0,
      rtt: rtt === undefined ? null : Number(rtt),
      ttl: Number(ttl),
    };
  }
  const error = errorLine.exec(line)?.groups;
  if (error === undefined) return null;
  const [type, code] = errors[error['text'] ?? ''] ?? [null, null];
  const sequence = Number(error['sequence']) - 1;
  return { sequence, success: false, type, code, rtt: null, ttl: null };
}

/** Parses the output of `ping` from both streams. */
export function readPingOutput(output: string, count: number, family: IpFamily): PingOutcome {
  const replies = Array.from({ length: count }, (_reply, sequence): EchoReply => ({
    ...{ sequence, success: false, type: null, code: null },
    ...{ rtt: null, ttl: null },
  }));
  const lines = output.split('\n').map((line) => line.trimEnd());
  for (const line of lines) {
    const reply = readReply(line, family);
    const known = reply === null ? undefined : replies[reply.sequence];
    // Duplicates are ignored, and a reply wins over an error about the same request.
    if (reply !== null && known?.success === false) replies[reply.sequence] = reply;
  }
  if (replies.some(({ type }) => type !== null)) return { kind: 'replies', replies };
  const complaint = lines.findLast((line) => /not permitted|permission denied/i.test(line));
  if (complaint !== undefined) return { kind: 'forbidden', line: complaint };
  const noRoute = lines.find((line) => /network( is)? (unreachable|down)/i.test(line));
  if (noRoute !== undefined) return { kind: 'no-route', line: noRoute };
  const hasEnded = lines.some((line) => line.includes('packets transmitted'));
  if (hasEnded) return { kind: 'replies', replies };
  return { kind: 'unreadable', line: lines.find((line) => line !== '') ?? 'nothing' };
}
