/**
 * Ends a call on which nothing has moved for too long: nothing was taken by the socket, nothing came.
 * Silence may last a given time, or as long as the last few megabytes took, whichever is longer: so
 * much may lie in the buffers of this machine, on its way over a slow link.
 */
import type { Clock } from '@monitor/shared/clock.ts';

/** Linux keeps at most so much of one connection (`net.ipv4.tcp_wmem`). */
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

  /** Since the connection stood. */
  get maxIdleMs(): number {
    return this.#maxIdleMs;
  }

  /** Aborted when the time is up. */
  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  get isExpired(): boolean {
    return this.#stalled.signal.aborted;
  }

  /** From now on the next movement is due within this. */
  expect(withinMs: number): void {
    this.#withinMs = withinMs;
    this.#arm();
  }

  /** The connection stands: times of sending count from here. */
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
