/**
 * How long the kernel held what a target sent until this process came to read it. On a busy machine
 * that is a delay of the agent's own, and no part of the target's time. The kernel counts in ticks
 * (4 ms on most): one is taken off, so it is never more than the truth.
 */
import type { Socket } from 'node:net';
import { openLibc, type Libc, type OpenedLibc } from './libc.ts';

/**
 * Milliseconds, at least, since a TCP connection got its newest data, or since the other side last
 * confirmed anything, which after `connect` is that it accepts. 0 where the kernel does not say.
 */
export type HeldTime = (socket: Socket, what: 'data' | 'confirmation') => number;

const IPPROTO_TCP = 6;
const TCP_INFO = 11;
/** Offsets in the kernel's `struct tcp_info`. */
const ages = { data: 52, confirmation: 56 };
const CLOCK_MONOTONIC_COARSE = 6;

/** Milliseconds of a tick of the kernel. */
function tickMs(libc: Libc): number {
  const resolution = Buffer.alloc(16);
  if (libc.clock_getres(CLOCK_MONOTONIC_COARSE, resolution) < 0) return 10;
  return Number(resolution.readBigInt64LE(8)) / 1e6;
}

export const nothingHeld: HeldTime = () => 0;

export function openHeldTime(opened: OpenedLibc = openLibc()): HeldTime {
  if (opened.libc === null) return nothingHeld;
  const { libc } = opened;
  const tick = tickMs(libc);
  const info = Buffer.alloc(60);
  const length = Buffer.alloc(4);
  return (socket, what) => {
    // Only the internal handle of a socket knows its descriptor.
    const { _handle: handle } = socket as unknown as { _handle?: { fd?: number } | null };
    if (handle?.fd === undefined || handle.fd < 0) return 0;
    length.writeUInt32LE(info.length);
    if (libc.getsockopt(handle.fd, IPPROTO_TCP, TCP_INFO, info, length) < 0) return 0;
    return length.readUInt32LE() < info.length
      ? 0
      : Math.max(0, info.readUInt32LE(ages[what]) - tick);
  };
}
