/**
 * Which of many failures are logged: each new reason, at most once a minute, and every ten minutes how long
 * and how often it has failed by then. What comes and goes for the same reason is not logged each time.
 */
import type { Clock } from '@monitor/shared/clock.ts';

const newReasonMs = 60_000;
const remindMs = 600_000;

export class FailureLog {
  readonly #clock: Clock;
  #since = 0;
  #failures = 0;
  #said: { reason: string; at: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What belongs into the line; null where none is to be written. */
  failed(reason: string): { failures: number; forSeconds: number } | null {
    const now = this.#clock.monotonic();
    this.#failures += 1;
    const isFirst = this.#failures === 1;
    if (isFirst) this.#since = now;
    const silentMs = this.#said === null ? Infinity : now - this.#said.at;
    const isOther = this.#said?.reason !== reason;
    const isDue = (isFirst || isOther) && silentMs >= newReasonMs;
    if (!isDue && !(isFirst && isOther) && silentMs < remindMs) return null;
    this.#said = { reason, at: now };
    return { failures: this.#failures, forSeconds: Math.round((now - this.#since) / 1_000) };
  }

  /** It works again; gives how often it had failed. */
  ended(): number {
    const failures = this.#failures;
    this.#failures = 0;
    return failures;
  }
}
