/**
 * Pings as they arrive. Those of one monitor that come within a second of one another are recorded
 * together: the first at once, and what came after it when the second is over, so that a flood of pings
 * costs one durable commit a second and no deadline is earlier for it.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type { PingOrigin } from './heartbeats.ts';

const togetherMs = 1_000;

interface Open {
  /** When the ping that began it came, by the wall clock. */
  at: number;
  /** Resolves once the ping that began it is durable. */
  recorded: Promise<void>;
  /** The last ping that came since. */
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
    // Where the process was held up, or a clock was set, its timer says nothing about this ping.
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

  #close(pingToken: string): void {
    const last = this.#open.get(pingToken)?.last ?? null;
    this.#open.delete(pingToken);
    // A write that fails now fails for the next ping as well, which says so.
    if (last !== null) this.take(pingToken, last).catch(() => undefined);
  }
}
