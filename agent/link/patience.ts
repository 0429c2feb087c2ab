const growth = 2;
/** An answer is due within so many times as long as answers took of late. */
const usualMargin = 4;

/**
 * How long to wait before a silent connection counts as dead. Little at first, so that a half-open one
 * is noticed soon; more after it was too little and where answers are seen to take long, so that a slow
 * link gets through in the end.
 */
export class Patience {
  readonly #leastMs: number;
  readonly #mostMs: number;
  readonly #margin: number;
  #ms: number;

  constructor(leastMs: number, mostMs: number, margin = usualMargin) {
    this.#leastMs = leastMs;
    this.#mostMs = mostMs;
    this.#margin = margin;
    this.#ms = leastMs;
  }

  get ms(): number {
    return this.#ms;
  }

  ranOut(): void {
    this.#ms = Math.min(this.#mostMs, this.#ms * growth);
  }

  /** An answer came, after a silence of so long. */
  answered(silenceMs: number): void {
    const fitting = Math.min(this.#mostMs, Math.max(this.#leastMs, silenceMs * this.#margin));
    // Slow links have quick moments: less patience only step by step.
    this.#ms = Math.max(fitting, this.#ms / growth);
  }
}
