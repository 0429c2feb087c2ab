/**
 * Limits the evidence that is collected at once. When a whole network fails, there are more
 * failures than anybody can read: beyond the first limit attempts do not wait for a traceroute, and
 * beyond the second they keep socket events only.
 */
import type { EvidenceLevel } from '../net/network-evidence.ts';

const maxConcurrentTraceroutes = 100;
const maxConcurrentCaptures = 300;

/** `gathering` includes the asking attempt. */
export function evidenceLevel(gathering: number): EvidenceLevel {
  if (gathering > maxConcurrentCaptures) return 'events';
  return gathering > maxConcurrentTraceroutes ? 'packets' : 'all';
}

/** The evidence of one attempt, until its result is stored. */
export interface AttemptEvidence extends Disposable {
  /** Aborted when evidence must end with what there is; the result is not affected. */
  readonly deadline: AbortSignal;
  /** Counts the attempt as collecting evidence. */
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

  /** Ends all collection of evidence. Resolves when the results are stored. */
  async cut(): Promise<void> {
    const gathering = [...this.#gathering];
    for (const [deadline] of gathering) deadline.abort();
    await Promise.all(gathering.map(([, stored]) => stored));
  }
}
