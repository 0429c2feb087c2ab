const growth = 2;
/** The timeout of an answer, as a multiple of recent answer times. */
const usualMargin = 4;

/**
 * Timeouts of silent connections. They are short at first, so that a half-open connection is
 * noticed soon. They grow after they were too short, and where answers take long, so that slow
 * links succeed.
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

  /** An answer arrived after this idle time. */
  answered(silenceMs: number): void {
    const fitting = Math.min(this.#maxMs, Math.max(this.#minMs, silenceMs * this.#margin));
    // Slow links have fast moments: the timeout shrinks step by step.
    this.#ms = Math.max(fitting, this.#ms / growth);
  }
}
