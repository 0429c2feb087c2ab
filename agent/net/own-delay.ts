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
import type { ReadTcpTimes } from '../native/tcp-times.ts';

/** What a sender may send before this side reads any of it. */
const unreadBytes = 65_535;

export class OwnDelay {
  readonly #clock: Clock;
  readonly #read: ReadTcpTimes;
  /** By how much what it sends is late. */
  #sentLateMs = 0;
  /** The latest instant; monotonic, also if the server talks first. */
  #instant: number;
  #bytesRead = 0;
  /** By how much the latest instant is earlier than the clock was. */
  ms = 0;
  /** Time up to the latest instant in which the target may have waited for the agent. */
  unexplainedMs = 0;
  /** When it went on from the last step, by the clock; null before the first one. */
  #wentOnAt: number | null = null;

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

  /** Ends a step, of which the kernel shows that the target took at least `shownMs`. */
  #reach(now: number, lateMs: number, shownMs: number): number {
    const before = this.#instant;
    this.#instant = Math.max(before, now - lateMs);
    this.unexplainedMs += Math.max(0, this.#instant - before - shownMs);
    this.ms = now - this.#instant;
    return this.#instant;
  }

  /** When the other side accepted the connection. */
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
    // Of TLS 1.3 the target sends all at once; before, the agent has to answer in between.
    const isOneTurn = times !== null && socket.getProtocol() === 'TLSv1.3';
    return this.#goOn(this.#clock.monotonic(), heldMs, isOneTurn ? Infinity : 0);
  }

  #goOn(now: number, heldMs: number, shownMs: number): number {
    this.#wentOnAt = now;
    this.#sentLateMs += heldMs;
    return this.#reach(now, this.#sentLateMs, shownMs);
  }

  /**
   * When the newest data came. Not for an end without data, which may come long after it. With
   * `isSentAtOnce` the agent had little to send, and no reason but its own to send it later than the last step.
   */
  dataAt(socket: Socket, isSentAtOnce = false): number {
    const times = this.#read(socket);
    const now = this.#clock.monotonic();
    if (times === null) return this.now();
    if (isSentAtOnce && this.#wentOnAt !== null && !times.hasSentAgain) {
      this.#sentLateMs += Math.max(0, now - times.sinceSent - times.tick - this.#wentOnAt);
    }
    this.#wentOnAt = null;
    const lateMs = this.#sentLateMs + Math.max(0, times.sinceData - times.tick);
    // A sender of more than the window holds waits for its reader.
    const isFree = socket.bytesRead - this.#bytesRead <= unreadBytes;
    this.#bytesRead = socket.bytesRead;
    return this.#reach(now, lateMs, isFree ? times.sinceSent - times.sinceData - times.tick : 0);
  }
}
