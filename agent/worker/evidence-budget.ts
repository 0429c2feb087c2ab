/**
 * How much evidence of failures is gathered at once. When a whole network fails there are more failures
 * than anybody will look at: beyond the first limit none waits for a traceroute any more, and beyond the
 * second the next ones come with the events of their sockets alone.
 */
import type { EvidenceLevel } from '../net/network-evidence.ts';

const maxConcurrentTraceroutes = 100;
const maxConcurrentCaptures = 300;

/** `gathering` counts the attempt that asks. */
export function evidenceLevel(gathering: number): EvidenceLevel {
  if (gathering > maxConcurrentCaptures) return 'events';
  return gathering > maxConcurrentTraceroutes ? 'packets' : 'all';
}

/** The share of one attempt, until its result is stored. */
export interface AttemptEvidence extends Disposable {
  /** Aborted when evidence has to end with what there is: that costs evidence, never the result. */
  readonly deadline: AbortSignal;
  /** Counts the attempt among those that gather. */
  begin(): EvidenceLevel;
}

export class EvidenceBudget {
  readonly #gathering = new Map<AbortController, Promise<void>>();

  open(): AttemptEvidence {
    const deadline = new AbortController();
    const { promise: stored, resolve } = Promise.withResolvers<void>();
    return {
      deadline: deadline.signal,
      begin: () => {
        this.#gathering.set(deadline, stored);
        return evidenceLevel(this.#gathering.size);
      },
      [Symbol.dispose]: () => {
        this.#gathering.delete(deadline);
        resolve();
      },
    };
  }

  /** Ends all that is gathered. Resolves when the results it belongs to are stored. */
  async cut(): Promise<void> {
    const gathering = [...this.#gathering];
    for (const [deadline] of gathering) deadline.abort();
    await Promise.all(gathering.map(([, stored]) => stored));
  }
}
