/**
 * Instants of a conversation without the agent's own delay. On a busy machine an answer lies in the
 * kernel until the agent comes to read it, and what it sends next is late as well. The kernel knows
 * when the connection was accepted, when data came, and when it was sent. Where it counts in ticks, one
 * is taken off: what is left out is never more than the truth, so instants are upper bounds. Time that
 * no event of the kernel explains is counted in `unexplainedMs`: only there can own waiting hide.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ReadTcpTimes, TcpTimes } from '../native/tcp-times.ts';

/** What a sender may send before this side reads any of it. */
const unreadBytes = 65_535;

/** A target does not get more time than this for a step that it may not have begun. */
const maxPendingMs = 30_000;
/** Of the groups that Node knows, those for which its hello has a key. */
const offeredKeys = new Set(['X25519', 'X25519MLKEM768']);

export class OwnDelay {
  readonly #clock: Clock;
  readonly #read: ReadTcpTimes;
  /** By how much what it sends is late. */
  #sentLateMs = 0;
  /** The latest instant; monotonic, also if the server talks first. */
  #instant: number;
  #bytesRead = 0;
  /** When the request of this turn had been sent, whatever goes out after it; null where that is not known. */
  #askedBy: number | null = null;
  /** By how much the latest instant is earlier than the clock was. */
  ms = 0;
  /** Time up to the latest instant in which the target may have waited for the agent. */
  unexplainedMs = 0;

  /** `begunAt` is when the connection was begun, on the monotonic clock. */
  constructor(clock: Clock, read: ReadTcpTimes, begunAt: number) {
    this.#clock = clock;
    this.#read = read;
    this.#instant = begunAt;
  }

  /** Now, for what leaves no trace in the kernel. */
  now(): number {
    return this.#reach(this.#clock.monotonic(), this.#sentLateMs, 0);
  }

  /**
   * How much of the time so far the agent took from the target, when it has waited so long. The target may
   * wait for it also in a step `isOwn` that is not over: a handshake has turns that the kernel does not show.
   * With `asked` only until the agent sent something on it.
   */
  takenMs(waitedMs: number, isOwn = false, asked: Socket | null = null): number {
    if (waitedMs <= this.unexplainedMs) return this.ms + waitedMs;
    const sinceSent = asked === null ? 0 : (this.#read(asked)?.sinceSent ?? Infinity);
    const pendingMs = isOwn ? this.#clock.monotonic() - this.ms - this.#instant - sinceSent : 0;
    const ownMs = Math.min(Math.max(0, pendingMs), maxPendingMs);
    return this.ms + Math.min(this.unexplainedMs + ownMs, waitedMs);
  }

  /** Ends a step, of which the kernel shows that the target took at least `shownMs`. */
  #reach(now: number, lateMs: number, shownMs: number): number {
    const before = this.#instant;
    this.#instant = Math.max(before, now - lateMs);
    this.unexplainedMs += Math.max(0, this.#instant - before - Math.max(0, shownMs));
    this.ms = now - this.#instant;
    return this.#instant;
  }

  /** When the other side accepted the connection. Read it before anything is sent. */
  connectedAt(socket: Socket): number {
    const times = this.#read(socket);
    const now = this.#clock.monotonic();
    const tookMs = Math.max(0, now - this.#instant);
    const heldMs = times === null ? 0 : Math.max(0, times.sinceConfirmation - times.tick);
    const acceptedMs = Math.min(times?.roundTrip ?? tookMs - heldMs, tookMs);
    return this.#goOn(now, tookMs - acceptedMs, times?.roundTrip ?? 0);
  }

  /** When the data came that ends the TLS handshake, and lets the agent send. */
  securedAt(socket: TLSSocket): number {
    const times = this.#read(socket);
    const heldMs = times === null ? 0 : Math.max(0, times.sinceData - times.tick);
    // The target answers at once where TLS 1.3 takes a key that was offered; else the agent answers in between.
    const { name } = socket.getEphemeralKeyInfo() as { name?: string };
    const isOneTurn = socket.getProtocol() === 'TLSv1.3' && offeredKeys.has(name ?? '');
    // From its hello on, which a busy agent sends late.
    const shownMs = isOneTurn && times !== null ? this.#shownMs(socket, times) : 0;
    return this.#goOn(this.#clock.monotonic(), heldMs, shownMs);
  }

  #goOn(now: number, heldMs: number, shownMs: number): number {
    this.#sentLateMs += heldMs;
    return this.#reach(now, this.#sentLateMs, shownMs);
  }

  /** When the newest data came. Not for an end without data, which may come long after it. */
  dataAt(socket: Socket): number {
    const times = this.#read(socket);
    const now = this.#clock.monotonic();
    if (times === null) return this.now();
    const heldMs = Math.max(0, times.sinceData - times.tick);
    return this.#reach(now, this.#sentLateMs + heldMs, this.#shownMs(socket, times));
  }

  /** The same for data that lets the agent send: what it sends next is as late. */
  turnAt(socket: Socket): number {
    const times = this.#read(socket);
    const now = this.#clock.monotonic();
    const heldMs = times === null ? 0 : Math.max(0, times.sinceData - times.tick);
    return this.#goOn(now, heldMs, times === null ? 0 : this.#shownMs(socket, times));
  }

  /** The request of this turn is in the kernel. To be called where more may be sent after it. */
  asked(): void {
    this.#askedBy = this.#clock.monotonic();
  }

  /** What the target took at least to answer to the request, or to what was sent last. */
  #shownMs({ bytesRead }: Socket, { sinceSent, sinceData, tick }: TcpTimes): number {
    // A sender of more than the window holds waits for its reader.
    const isFree = bytesRead - this.#bytesRead <= unreadBytes;
    this.#bytesRead = bytesRead;
    const sentMs = this.#askedBy === null ? 0 : this.#clock.monotonic() - this.#askedBy;
    this.#askedBy = null;
    return isFree ? Math.max(sinceSent, sentMs) - sinceData - tick : 0;
  }
}
