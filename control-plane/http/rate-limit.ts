/**
 * Rate limits with a sliding window: any window has at most the allowed number of requests, because
 * the times of all counted requests are kept. With fixed windows, twice as many could pass around
 * an edge. This is own code because it runs on the injected clock.
 */
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import { ApiError } from '../errors/api-error.ts';

export interface RateDecision {
  isAllowed: boolean;
  remaining: number;
  /** Time until the oldest counted request leaves the window. */
  resetMs: number;
  /** The limit that applies here. */
  limit: RateLimit;
}

/** Times of the counted requests, oldest first, in a ring buffer. */
class Passed {
  #times = new Float64Array(8);
  #first = 0;
  count = 0;

  dropUntil(instant: number): void {
    while (this.count > 0 && (this.#times[this.#first] ?? 0) <= instant) {
      this.#first = (this.#first + 1) % this.#times.length;
      this.count -= 1;
    }
  }

  get oldest(): number {
    return this.#times[this.#first] ?? 0;
  }

  add(instant: number): void {
    if (this.count === this.#times.length) {
      const larger = new Float64Array(this.count * 4);
      for (let at = 0; at < this.count; at += 1) {
        larger[at] = this.#times[(this.#first + at) % this.count] ?? 0;
      }
      this.#times = larger;
      this.#first = 0;
    }
    this.#times[(this.#first + this.count) % this.#times.length] = instant;
    this.count += 1;
  }
}

/** At this many keys, idle keys are removed; the next removal is at twice the remaining number. */
const manyKeys = 10_000;

export class RateLimiter {
  readonly #monotonic: () => number;
  readonly #share: () => number;
  readonly #passed = new Map<string, { passed: Passed; windowMs: number }>();
  #forgetAt = manyKeys;

  /** `share` is the part of each limit that this replica may use, in (0, 1]. */
  constructor(monotonic: () => number, share: () => number = () => 1) {
    this.#monotonic = monotonic;
    this.#share = share;
  }

  /** Counts one request of `key`, unless the limit is reached. */
  take(key: string, { requests: inAll, ...window }: RateLimit): RateDecision {
    const limit = { ...window, requests: Math.max(1, Math.floor(inAll * this.#share())) };
    const now = this.#monotonic();
    const windowMs = limit.seconds * 1000;
    let entry = this.#passed.get(key);
    if (entry === undefined) {
      if (this.#passed.size >= this.#forgetAt) this.#forgetIdle(now);
      entry = { passed: new Passed(), windowMs };
      this.#passed.set(key, entry);
    }
    const { passed } = entry;
    passed.dropUntil(now - windowMs);
    const isAllowed = passed.count < limit.requests;
    if (isAllowed) passed.add(now);
    return {
      isAllowed,
      remaining: Math.max(0, limit.requests - passed.count),
      resetMs: passed.oldest + windowMs - now,
      limit,
    };
  }

  /** Counts one attempt, or throws 429. */
  refuseMany(key: string, limit: RateLimit): void {
    const { isAllowed, resetMs } = this.take(key, limit);
    if (isAllowed) return;
    const seconds = Math.max(1, Math.ceil(resetMs / 1000));
    throw new ApiError('TOO_MANY_REQUESTS', `too many attempts; try again in ${seconds} seconds`, {
      retryAfterSeconds: seconds,
    });
  }

  /** Takes back the newest count of a key: what was counted first, and needed no counting. */
  giveBack(key: string): void {
    const entry = this.#passed.get(key);
    if (entry !== undefined && entry.passed.count > 0) entry.passed.count -= 1;
  }

  #forgetIdle(now: number): void {
    for (const [key, { passed, windowMs }] of this.#passed) {
      passed.dropUntil(now - windowMs);
      if (passed.count === 0) this.#passed.delete(key);
    }
    this.#forgetAt = Math.max(manyKeys, this.#passed.size * 2);
  }
}
