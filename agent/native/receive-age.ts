/** How long a datagram has lain in the kernel before this process came to read it. */
import type { Socket } from 'node:dgram';
import { nativeMemory, openLibc, type OpenedLibc } from './libc.ts';
import { KernelClock, readTimespec } from './sockets.ts';

/**
 * The age in ms of the datagram that is being delivered; null where the kernel does not say. The first
 * call for a socket, before anything comes, asks the kernel for stamps.
 */
export type ReadReceiveAge = (socket: Socket) => number | null;

const SIOCGSTAMPNS = 0x8907;
/** For a datagram without a stamp the kernel says now: a shorter age is none. */
const minAgeMs = 0.02;

/** Only the internal state of a socket knows its descriptor. */
function descriptorOf(socket: Socket): number {
  const symbol = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'state symbol',
  );
  if (symbol === undefined) return -1;
  const state = (socket as unknown as Record<symbol, { handle?: { fd?: number } | null }>)[symbol];
  return state?.handle?.fd ?? -1;
}

export const noReceiveAge: ReadReceiveAge = () => null;

export function openReceiveAge(opened: OpenedLibc = openLibc()): ReadReceiveAge {
  if (opened.libc === null) return noReceiveAge;
  const { libc } = opened;
  const stamp = nativeMemory(16);
  const wallClock = new KernelClock(libc);
  return (socket) => {
    const descriptor = descriptorOf(socket);
    if (descriptor < 0 || libc.ioctl(descriptor, SIOCGSTAMPNS, stamp) < 0) return null;
    const ageMs = wallClock.now() - readTimespec(stamp);
    return ageMs < minAgeMs ? null : ageMs;
  };
}
