/**
 * Notices when the event loop was busy: a timer that should fire every few milliseconds fires late.
 * Ticks only while something is being measured.
 */
const everyMs = 20;
const noticeableMs = 20;
const remembered = 256;

export class LagMeter {
  readonly #lags: { from: number; until: number }[] = [];
  #users = 0;
  #timer: NodeJS.Timeout | null = null;
  #expectedAt = 0;

  /**
   * Begins a measurement; the returned function ends it and says whether the loop lagged meanwhile.
   * Calling that again changes nothing.
   */
  begin(): () => boolean {
    const startedAt = performance.now();
    this.#users += 1;
    if (this.#timer === null) {
      this.#expectedAt = startedAt + everyMs;
      this.#timer = setInterval(() => {
        this.#tick();
      }, everyMs);
    }
    let isOver = false;
    return () => {
      if (isOver) return false;
      isOver = true;
      this.#tick();
      this.#users -= 1;
      if (this.#users === 0 && this.#timer !== null) {
        clearInterval(this.#timer);
        this.#timer = null;
      }
      return this.#lags.some((lag) => lag.until > startedAt);
    };
  }

  #tick(): void {
    const now = performance.now();
    if (now - this.#expectedAt > noticeableMs) {
      this.#lags.push({ from: this.#expectedAt, until: now });
      if (this.#lags.length > remembered) this.#lags.shift();
    }
    if (now >= this.#expectedAt) this.#expectedAt = now + everyMs;
  }
}
