import { ipOptions } from '../../native/error-queue.ts';
import { SystemCallError, type Libc } from '../../native/libc.ts';
import { NativeSocket, SOCK_DGRAM, SOCK_RAW } from '../../native/sockets.ts';
import type { Version } from './packet.ts';

const protocols = { 4: 1, 6: 58 } as const;

export interface IcmpSocket {
  readonly socket: NativeSocket;
  /** The kernel gives requests of a datagram socket another identifier, and a raw one hears all ICMP of the machine. */
  readonly way: 'datagram' | 'raw';
}

/**
 * For echo requests: a datagram socket where net.ipv4.ping_group_range allows it, else a raw one (CAP_NET_RAW).
 * Throws the SystemCallError of the latter.
 */
export function openIcmpSocket(libc: Libc, version: Version): IcmpSocket {
  const { domain } = ipOptions[version];
  const open = (type: number) => new NativeSocket(libc, domain, type, protocols[version]);
  try {
    return { socket: open(SOCK_DGRAM), way: 'datagram' };
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
    return { socket: open(SOCK_RAW), way: 'raw' };
  }
}
