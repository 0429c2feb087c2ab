/**
 * What the kernel knows about the times of a TCP connection, however late this process comes to ask.
 * From `struct tcp_info`; ages are counted in ticks of the kernel, 4 ms on most.
 */
import type { Socket } from 'node:net';
import { openLibc, type Libc, type OpenedLibc } from './libc.ts';

/** In ms. */
export interface TcpTimes {
  /** Since the newest data arrived. */
  readonly sinceData: number;
  /** Since the other side last confirmed anything: right after `connect`, that it accepts. */
  readonly sinceConfirmation: number;
  /** Since data was last sent. */
  readonly sinceSent: number;
  /** Right after `connect`: how long it took to be accepted, to the microsecond. Null when it is not known. */
  readonly roundTrip: number | null;
  /** By so much may an age be wrong, either way. */
  readonly tick: number;
}

/** Null where the kernel does not say. */
export type ReadTcpTimes = (socket: Socket) => TcpTimes | null;

const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const at = { sinceSent: 44, sinceData: 52, sinceConfirmation: 56, roundTrip: 68, sentAgain: 100 };
const infoBytes = 104;
const CLOCK_MONOTONIC_COARSE = 6;

function tickOf(libc: Libc): number {
  const resolution = Buffer.alloc(16);
  if (libc.clock_getres(CLOCK_MONOTONIC_COARSE, resolution) < 0) return 10;
  return Number(resolution.readBigInt64LE(8)) / 1e6;
}

export const noTcpTimes: ReadTcpTimes = () => null;

export function openTcpTimes(opened: OpenedLibc = openLibc()): ReadTcpTimes {
  if (opened.libc === null) return noTcpTimes;
  const { libc } = opened;
  const tick = tickOf(libc);
  const info = Buffer.alloc(infoBytes);
  const length = Buffer.alloc(4);
  return (socket) => {
    // Only the internal handle of a socket knows its descriptor.
    const { _handle: handle } = socket as unknown as { _handle?: { fd?: number } | null };
    if (handle?.fd === undefined || handle.fd < 0) return null;
    length.writeUInt32LE(infoBytes);
    if (libc.getsockopt(handle.fd, IPPROTO_TCP, TCP_INFO, info, length) < 0) return null;
    if (length.readUInt32LE() < infoBytes) return null;
    const roundTrip = info.readUInt32LE(at.roundTrip) / 1_000;
    const hasSentAgain = info.readUInt32LE(at.sentAgain) > 0;
    return {
      sinceData: info.readUInt32LE(at.sinceData),
      sinceConfirmation: info.readUInt32LE(at.sinceConfirmation),
      sinceSent: info.readUInt32LE(at.sinceSent),
      // The kernel times nothing that it sent twice.
      roundTrip: roundTrip > 0 && !hasSentAgain ? roundTrip : null,
      tick,
    };
  };
}
