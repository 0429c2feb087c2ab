/**
 * What one agent is to hold. A change costs the same however many checks there are: the digest is a sum
 * over the checks, and the last changes are remembered for answers that contain only these.
 */
import { hash } from 'node:crypto';

/** Older changes are forgotten: whoever has to hear of them gets everything. */
const minRemembered = 1_000;
const digestBytes = 16;

/** A point in the changes of a holding. */
export interface HeldState {
  holding: Holding;
  sequence: number;
}

function hashOf(checkId: string, revision: string): bigint {
  const bytes = hash('sha256', `${checkId} ${revision}`, 'buffer');
  return (bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8);
}

export class Holding {
  /** By check; a revision changes with everything that the agent must hear of the check. */
  readonly #revisions = new Map<string, string>();
  #sum = 0n;
  /** Ids of checks that changed, in order; the first one is number `#forgotten`. */
  #changes: string[] = [];
  #forgotten = 0;

  constructor(revisions: Iterable<readonly [checkId: string, revision: string]>) {
    for (const [id, revision] of revisions) this.#put(id, revision);
  }

  get state(): HeldState {
    return { holding: this, sequence: this.#forgotten + this.#changes.length };
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

  /** The agent is to hold this revision of a check; undefined when it is to hold the check no longer. */
  change(checkId: string, revision: string | undefined): void {
    if (this.#revisions.get(checkId) === revision) return;
    this.#put(checkId, revision);
    this.#changes.push(checkId);
    if (this.#changes.length <= Math.max(2 * minRemembered, this.#revisions.size)) return;
    this.#forgotten += this.#changes.length - minRemembered;
    this.#changes = this.#changes.slice(-minRemembered);
  }

  /** What an agent must hear that holds what was to be held then; null when it needs everything. */
  changesSince({ holding, sequence }: HeldState): { upserts: string[]; removals: string[] } | null {
    const from = sequence - holding.#forgotten;
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
