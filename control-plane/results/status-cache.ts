/**
 * The latest states of checks, in memory: nothing is asked for as often as they are. What writes a
 * status, or the name or locations shown with it, calls `drop` from inside its transaction. Readers
 * take turns with transactions, so one that began before the write finds the generation changed and
 * keeps nothing; one that comes after it reads what was written.
 */
import type { Selectable } from 'kysely';
import type { CheckConsumer } from '../checks/index.ts';
import type { CheckStatusesTable } from './tables.ts';

export interface KnownStatus {
  row: Selectable<CheckStatusesTable> & { name: string };
  locations: readonly string[];
}

const mostKept = 50_000;

export class StatusCache {
  readonly #known = new Map<string, KnownStatus>();
  #generation = 0;

  /** The status of a check, from memory or by `load`; undefined when there is none. */
  async read(
    accountId: string,
    checkId: string,
    load: () => Promise<KnownStatus | undefined>,
  ): Promise<KnownStatus | undefined> {
    const known = this.#known.get(checkId);
    if (known?.row.account_id === accountId) return known;
    const generation = this.#generation;
    const loaded = await load();
    if (loaded !== undefined && generation === this.#generation) {
      if (this.#known.size >= mostKept) this.#known.clear();
      this.#known.set(checkId, loaded);
    }
    return loaded;
  }

  drop(checkId: string): void {
    this.#generation += 1;
    this.#known.delete(checkId);
  }
}

const forgetStatus: NonNullable<CheckConsumer['deleted']> = (services, _db, { row }) => {
  services.statuses.drop(row.id);
  return Promise.resolve(null);
};

export const statusesOfChecks: CheckConsumer = { changed: forgetStatus, deleted: forgetStatus };
