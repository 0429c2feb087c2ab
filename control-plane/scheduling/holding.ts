/**
 * The checks that one agent should have. A change costs the same however many checks there are: the digest is a sum
 * over the checks, and a log of the last changes lets an answer contain these alone.
 */
import { hash } from 'node:crypto';

/** Length of the log after it is trimmed. An agent whose last answer is older than the log gets a full answer. */
const keptChanges = 1_000;
const digestBytes = 16;

/** A position in the log of a holding. */
export interface HeldState {
  holding: Holding;
  sequence: number;
}

function hashOf(checkId: string, revision: string): bigint {
  const bytes = hash('sha256', `${checkId} ${revision}`, 'buffer');
  return (bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8);
}

export class Holding {
  /** By check. A revision changes with everything that is sent to the agent for the check. */
  readonly #revisions = new Map<string, string>();
  #sum = 0n;
  /** The log: ids of checks that changed, in order. `#trimmed` entries came before the first. */
  #changes: string[] = [];
  #trimmed = 0;

  constructor(revisions: Iterable<readonly [checkId: string, revision: string]>) {
    for (const [id, revision] of revisions) this.#put(id, revision);
  }

  get state(): HeldState {
    return { holding: this, sequence: this.#trimmed + this.#changes.length };
  }

  /** Equal for equal revisions, also in other processes. */
  get digest(): string {
    const bytes = Buffer.from(this.#sum.toString(16).padStart(2 * digestBytes, '0'), 'hex');
    return bytes.toString('base64url');
  }

  #put(checkId: string, revision: string | undefined): void {
    const before = this.#revisions.get(checkId);
    let sum = this.#sum;
    if (before !== undefined) sum -= hashOf(checkId, before);
    if (revision !== undefined) sum += hashOf(checkId, revision);
    this.#sum = BigInt.asUintN(8 * digestBytes, sum);
    if (revision === undefined) this.#revisions.delete(checkId);
    else this.#revisions.set(checkId, revision);
  }

  /** Sets the revision of a check; undefined removes the check. */
  change(checkId: string, revision: string | undefined): void {
    if (this.#revisions.get(checkId) === revision) return;
    this.#put(checkId, revision);
    this.#changes.push(checkId);
    if (this.#changes.length <= Math.max(2 * keptChanges, this.#revisions.size)) return;
    this.#trimmed += this.#changes.length - keptChanges;
    this.#changes = this.#changes.slice(-keptChanges);
  }

  /** The changes since a position, also in an earlier holding of the agent; null when that log was trimmed since. */
  changesSince({ holding, sequence }: HeldState): { upserts: string[]; removals: string[] } | null {
    const from = sequence - holding.#trimmed;
    if (from < 0) return null;
    const changed = new Set(holding.#changes.slice(from));
    if (holding !== this) {
      for (const id of new Set([...holding.#revisions.keys(), ...this.#revisions.keys()])) {
        if (holding.#revisions.get(id) !== this.#revisions.get(id)) changed.add(id);
      }
    }
    const [upserts, removals]: [string[], string[]] = [[], []];
    for (const id of changed) (this.#revisions.has(id) ? upserts : removals).push(id);
    return { upserts, removals };
  }

  get checkIds(): string[] {
    return [...this.#revisions.keys()];
  }
}
