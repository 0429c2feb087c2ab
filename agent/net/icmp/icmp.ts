import type { IpFamily } from '@monitor/shared/contract/primitives.ts';

/** One echo reply, or its absence. */
export interface EchoReply {
  /** From 0. */
  sequence: number;
  success: boolean;
  /** ICMP type and code of the answer; null without one. */
  type: number | null;
  code: number | null;
  /** Round trip in milliseconds, fractional; null without a reply. */
  rtt: number | null;
  /** TTL of the reply; null when it is unknown. */
  ttl: number | null;
}

/** A missing reply. */
export function noReply(sequence: number): EchoReply {
  return { sequence, success: false, type: null, code: null, rtt: null, ttl: null };
}

export interface EchoRequest {
  address: string;
  family: IpFamily;
  count: number;
  intervalMs: number;
  /** Timeout of the reply to the last request. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** Sends echo requests. Replies are in order of sequence, one per request. */
export interface IcmpTransport {
  readonly way: 'datagram' | 'raw' | 'ping';
  /** Bytes of ICMP payload in each request. */
  readonly packetSize: number;
  echo(request: EchoRequest): Promise<EchoReply[]>;
  close(): void;
}
