/**
 * An in-memory cache of check statuses, the most frequent read. Every write of a status, or of a
 * name or location that is shown with it, calls `drop` inside its transaction. Reads and
 * transactions are serialised: a read that began before the write finds a new generation and caches
 * nothing; a later read sees the new values.
 */
import type { Selectable } from 'kysely';
import type { CheckConsumer } from '../checks/index.ts';
import { prepareInserts } from '../db/insert-many.ts';
import type { CheckStatusesTable } from './tables.ts';

export interface KnownStatus {
  row: Selectable<CheckStatusesTable> & { name: string };
  locations: readonly string[];
}

const maxKept = 50_000;

export class StatusCache {
  readonly #known = new Map<string, KnownStatus>();
  #generation = 0;

  /** The status of a check from the cache or from `load`; undefined without one. */
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
      if (this.#known.size >= maxKept) this.#known.clear();
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

const insertStatus = prepareInserts('check_statuses', [
  ...(['check_id', 'account_id', 'has_failures', 'has_errors', 'is_degraded'] as const),
  ...(['last_started_at', 'created_at'] as const),
]);

export const statusesOfChecks: CheckConsumer = {
  created: async (_services, db, { row: { id: check_id, account_id, created_at } }) => {
    const empty = { has_failures: 0, has_errors: 0, is_degraded: 0, last_started_at: 0 };
    await insertStatus.run(db, [{ check_id, account_id, created_at, ...empty }]);
    return null;
  },
  changed: forgetStatus,
  deleted: forgetStatus,
};
