/** When the kernel received a datagram, however late this process comes to read it. */
import type { Socket } from 'node:dgram';
import { nativeMemory, openLibc, type Libc, type OpenedLibc } from './libc.ts';
import { KernelClock, readTimespec } from './sockets.ts';

/** A wall clock that was set by less changes no round trip by more. */
const clockStepMs = 1;

/** The same instant by both clocks, in milliseconds; `wall` is null where it cannot be read. */
export interface Instant {
  monotonic: number;
  wall: number | null;
}

/**
 * The round trip of an answer that the kernel stamped with the wall clock, in milliseconds. Without a stamp,
 * or when that clock was set meanwhile, it is the time until the answer was read, which is never less.
 */
export function roundTrip(sent: Instant, read: Instant, stamp: number | null): number {
  const elapsed = read.monotonic - sent.monotonic;
  if (sent.wall === null || read.wall === null || stamp === null) return elapsed;
  const wasSet = Math.abs(read.wall - sent.wall - elapsed) > clockStepMs;
  const stamped = stamp - sent.wall;
  return wasSet || stamped < 0 || stamped > elapsed ? elapsed : stamped;
}

/** Stamps of the datagrams of Node's own sockets. */
export interface ReceiveStamps {
  /** Asks the kernel for stamps, before anything comes. */
  want(socket: Socket): void;
  /** Of the datagram that is read at `now`, in milliseconds of the epoch; null where the kernel does not say. */
  of(socket: Socket, now: number | null): number | null;
  /** The wall clock of the stamps; null where there are none. */
  wall(): number | null;
}

export const noReceiveStamps: ReceiveStamps = {
  want: () => undefined,
  of: () => null,
  wall: () => null,
};

const SIOCGSTAMPNS = 0x8907;
/** For a datagram without a stamp the kernel says now. */
const minAgeMs = 0.02;

/** The same for all sockets. */
let stateSymbol: symbol | undefined;

/** Only the internal state of a socket knows its descriptor. */
function descriptorOf(socket: Socket): number {
  stateSymbol ??= Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'state symbol',
  );
  if (stateSymbol === undefined) return -1;
  const state = (socket as unknown as Record<symbol, { handle?: { fd?: number } | null }>)[
    stateSymbol
  ];
  return state?.handle?.fd ?? -1;
}

function stampsOf(libc: Libc): ReceiveStamps {
  const stamp = nativeMemory(16);
  const wallClock = new KernelClock(libc);
  const ask = (socket: Socket): boolean => {
    const descriptor = descriptorOf(socket);
    return descriptor >= 0 && libc.ioctl(descriptor, SIOCGSTAMPNS, stamp) >= 0;
  };
  return {
    // The first question makes the kernel stamp what comes after it.
    want: ask,
    of(socket, now) {
      if (now === null || !ask(socket)) return null;
      const at = readTimespec(stamp);
      return now - at < minAgeMs ? null : at;
    },
    wall: () => wallClock.now(),
  };
}

export function openReceiveStamps(opened: OpenedLibc = openLibc()): ReceiveStamps {
  return opened.libc === null ? noReceiveStamps : stampsOf(opened.libc);
}
