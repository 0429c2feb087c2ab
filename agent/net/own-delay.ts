/**
 * Instants of a conversation without the agent's own delay. On a busy machine an answer lies in the
 * kernel until the agent comes to read it, and what it sends next is late as well. The kernel knows
 * when the connection was accepted, when data came, and when it was sent. Where it counts in ticks, one
 * is taken off: what is left out is never more than the truth.
 */
import type { Socket } from 'node:net';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ReadTcpTimes } from '../native/tcp-times.ts';

export class OwnDelay {
  readonly #clock: Clock;
  readonly #read: ReadTcpTimes;
  /** By how much what it sends is late. */
  #sentLateMs = 0;
  /** The latest instant; none is earlier than the one before, though a target may speak before it is spoken to. */
  #instant = -Infinity;
  /** By how much the latest instant is earlier than the clock was. */
  ms = 0;
  /** When it went on from the last step, by the clock; null before the first one. */
  #wentOnAt: number | null = null;

  constructor(clock: Clock, read: ReadTcpTimes) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Now, for what leaves no trace in the kernel. */
  now(): number {
    return this.#reach(this.#clock.monotonic(), this.#sentLateMs);
  }

  #reach(now: number, lateMs: number): number {
    this.#instant = Math.max(this.#instant, now - lateMs);
    this.ms = now - this.#instant;
    return this.#instant;
  }

  /** When the other side accepted a connection that was begun at this instant. */
  connectedAt(socket: Socket, begunAt: number): number {
    const times = this.#read(socket);
    const now = this.#clock.monotonic();
    const tookMs = Math.max(0, now - begunAt);
    const heldMs = times === null ? 0 : Math.max(0, times.sinceConfirmation - times.tick);
    const acceptedMs = Math.min(times?.roundTrip ?? tookMs - heldMs, tookMs);
    return this.#goOn(now, tookMs - acceptedMs);
  }

  /** When the data came that ends a step, such as the handshake, and lets the agent send. */
  steppedAt(socket: Socket): number {
    const times = this.#read(socket);
    const heldMs = times === null ? 0 : Math.max(0, times.sinceData - times.tick);
    return this.#goOn(this.#clock.monotonic(), heldMs);
  }

  #goOn(now: number, heldMs: number): number {
    this.#wentOnAt = now;
    this.#sentLateMs += heldMs;
    return this.#reach(now, this.#sentLateMs);
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
    return this.#reach(now, this.#sentLateMs + Math.max(0, times.sinceData - times.tick));
  }
}
