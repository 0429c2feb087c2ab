/**
 * Ends a call without progress: the socket accepted no bytes and received none. The timeout is a
 * given time, or the time that the last few megabytes took, whichever is longer, because so much
 * may be in the send buffers of this machine.
 */
import type { Clock } from '@monitor/shared/clock.ts';

/** Limit of the send buffer of a connection on Linux (`net.ipv4.tcp_wmem`). */
const bufferBytes = 4_194_304;

export class IdleTimeout implements Disposable {
  readonly #clock: Clock;
  readonly #stalled = new AbortController();
  #withinMs: number;
  #cancel: () => void = () => undefined;
  /** The last two periods of at least `bufferBytes`, besides the current one. */
  #lastStretchAt: number;
  #stretchAt: number;
  #stretchBytes = 0;
  #movedAt: number;
  #maxIdleMs = 0;

  constructor(clock: Clock, withinMs: number) {
    this.#clock = clock;
    this.#withinMs = withinMs;
    this.#movedAt = this.#lastStretchAt = this.#stretchAt = clock.monotonic();
    this.#arm();
  }

  /** Longest idle time since the connection was established. */
  get maxIdleMs(): number {
    return this.#maxIdleMs;
  }

  /** Aborted at the timeout. */
  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  get isExpired(): boolean {
    return this.#stalled.signal.aborted;
  }

  /** Sets the timeout for the next progress. */
  expect(withinMs: number): void {
    this.#withinMs = withinMs;
    this.#arm();
  }

  /** The connection is established: sending times count from here. */
  begin(withinMs: number): void {
    this.#movedAt = this.#lastStretchAt = this.#stretchAt = this.#clock.monotonic();
    this.#maxIdleMs = 0;
    this.expect(withinMs);
  }

  moved(bytes: number): void {
    const now = this.#clock.monotonic();
    this.#maxIdleMs = Math.max(this.#maxIdleMs, now - this.#movedAt);
    this.#movedAt = now;
    this.#stretchBytes += bytes;
    if (this.#stretchBytes >= bufferBytes) {
      this.#lastStretchAt = this.#stretchAt;
      this.#stretchAt = now;
      this.#stretchBytes = 0;
    }
    this.#arm();
  }

  #arm(): void {
    this.#cancel();
    const seenMs = this.#clock.monotonic() - this.#lastStretchAt;
    const dueMs = Math.max(this.#withinMs, this.#stretchBytes > 0 ? seenMs : 0);
    this.#cancel = this.#clock.after(dueMs, () => {
      const waited = `nothing moved for ${Math.round(dueMs / 1000)} s`;
      this.#stalled.abort(Object.assign(new Error(waited), { code: 'ETIMEDOUT' }));
    });
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }
}
