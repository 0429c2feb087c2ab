/**
 * Instants of a conversation without the agent's own delay: an answer may lie in the kernel while the
 * agent is busy, or has no CPU, and what it sends next is then late as well.
 */
import type { Socket } from 'node:net';
import type { Clock } from '@monitor/shared/clock.ts';
import type { HeldTime } from '../native/held-time.ts';

export class OwnDelay {
  readonly #clock: Clock;
  readonly #heldTime: HeldTime;
  /** What it sent later than it could have. */
  #sentLateMs = 0;
  #readLateMs = 0;

  constructor(clock: Clock, heldTime: HeldTime) {
    this.#clock = clock;
    this.#heldTime = heldTime;
  }

  /** When a step was over that the agent goes on from: the connection, or the handshake. */
  stepAt(socket: Socket, what: 'data' | 'confirmation'): number {
    const heldMs = this.#heldTime(socket, what);
    const at = this.now() - heldMs;
    this.#sentLateMs += heldMs;
    return at;
  }

  /** Now, for what leaves no trace in the kernel. */
  now(): number {
    return this.#clock.monotonic() - this.#sentLateMs;
  }

  /** When the newest data arrived. Not for an end without data, which may come long after it. */
  dataAt(socket: Socket): number {
    this.#readLateMs = this.#heldTime(socket, 'data');
    return this.now() - this.#readLateMs;
  }

  /** Milliseconds by which the latest instant is earlier than the clock was. */
  get ms(): number {
    return this.#sentLateMs + this.#readLateMs;
  }
}
