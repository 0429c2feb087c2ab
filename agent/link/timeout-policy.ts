const growth = 2;
/** An answer is due within so many times as long as answers took of late. */
const usualMargin = 4;

/**
 * How long to wait before a silent connection counts as dead. Little at first, so that a half-open one
 * is noticed soon; more after it was too little and where answers are seen to take long, so that a slow
 * link gets through in the end.
 */
export class TimeoutPolicy {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #margin: number;
  #ms: number;

  constructor(minMs: number, maxMs: number, margin = usualMargin) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#margin = margin;
    this.#ms = minMs;
  }

  get ms(): number {
    return this.#ms;
  }

  ranOut(): void {
    this.#ms = Math.min(this.#maxMs, this.#ms * growth);
  }

  /** An answer came, after a silence of so long. */
  answered(silenceMs: number): void {
    const fitting = Math.min(this.#maxMs, Math.max(this.#minMs, silenceMs * this.#margin));
    // Slow links have quick moments: the timeout shrinks step by step.
    this.#ms = Math.max(fitting, this.#ms / growth);
  }
}
