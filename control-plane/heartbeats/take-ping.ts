/**
 * Receives pings. Pings of one monitor within a second are recorded together: the first at once,
 * and the last one when the second is over. So a flood of pings costs one durable commit a second,
 * and no deadline is too early.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type { PingOrigin } from './heartbeats.ts';

const togetherMs = 1_000;

interface Open {
  /** Arrival of the first ping of the second, by the wall clock. */
  at: number;
  /** Resolves once the first ping is durable. */
  recorded: Promise<void>;
  /** The last ping after the first one. */
  last: PingOrigin | null;
}

export class PingIntake {
  readonly #clock: Clock;
  readonly #record: (pingToken: string, origin: PingOrigin) => Promise<void>;
  /** By token. */
  readonly #open = new Map<string, Open>();

  constructor(clock: Clock, record: (pingToken: string, origin: PingOrigin) => Promise<void>) {
    this.#clock = clock;
    this.#record = record;
  }

  /** Resolves when the ping, or one less than a second before it, is durable. */
  take(pingToken: string, origin: PingOrigin): Promise<void> {
    const open = this.#open.get(pingToken);
    const at = origin.at ?? this.#clock.now();
    // If the process was delayed or a clock was set, the timer does not apply to this ping.
    if (open !== undefined && Math.abs(at - open.at) < togetherMs) {
      open.last = origin;
      return open.recorded;
    }
    const recorded = this.#record(pingToken, origin);
    this.#open.set(pingToken, { at, recorded, last: null });
    recorded.then(
      () => {
        this.#clock.after(togetherMs, () => {
          this.#close(pingToken);
        });
      },
      () => this.#open.delete(pingToken),
    );
    return recorded;
  }

  /** For a signal that follows: pings that wait are older than it, and one after it is recorded at once. */
  forget(pingToken: string): void {
    this.#open.delete(pingToken);
  }

  #close(pingToken: string): void {
    const last = this.#open.get(pingToken)?.last ?? null;
    this.#open.delete(pingToken);
    // When the write fails, the write of the next ping fails too and reports it.
    if (last !== null) this.take(pingToken, last).catch(() => undefined);
  }
}
