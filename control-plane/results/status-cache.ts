/**
 * An in-memory cache of check statuses, the most frequent read. Every write of a status, or of a
 * name or location that is shown with it, calls `drop` inside its transaction. On SQLite reads and
 * transactions are serialised: a read that began before the write finds a new generation and caches
 * nothing; a later read sees the new values. On PostgreSQL other processes write as well, so that a
 * status is kept for a second; writers of this process call `drop` after the commit once more, for those
 * that read before it.
 */
import type { RowOf } from '../db/tables.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { CheckConsumer } from '../checks/index.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { updateOwnRows } from '../db/own-rows.ts';

export interface KnownStatus {
  row: RowOf<'check_statuses'> & { name: string };
  locations: readonly string[];
}

const maxKept = 50_000;

export class StatusCache {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #keptMs: number;
  readonly #known = new Map<string, KnownStatus & { at: number }>();
  #generation = 0;

  /** `keptMs`: Infinity where no other process writes. */
  constructor(clock: Pick<Clock, 'monotonic'>, keptMs: number) {
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  /** The status of a check from the cache or from `load`; undefined without one. */
  async read(
    accountId: string,
    checkId: string,
    load: () => Promise<KnownStatus | undefined>,
  ): Promise<KnownStatus | undefined> {
    const known = this.#known.get(checkId);
    const at = this.#clock.monotonic();
    if (known?.row.account_id === accountId && at - known.at < this.#keptMs) return known;
    const generation = this.#generation;
    const loaded = await load();
    if (loaded !== undefined && generation === this.#generation) {
      if (this.#known.size >= maxKept) this.#known.clear();
      this.#known.set(checkId, { ...loaded, at });
    }
    return loaded;
  }

  drop(checkId: string): void {
    this.#generation += 1;
    this.#known.delete(checkId);
  }
}

const forgetStatus: NonNullable<CheckConsumer['deleted']> = (services, _db, { row }) => {
  const drop = (): void => {
    services.statuses.drop(row.id);
  };
  drop();
  return Promise.resolve(drop);
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
  changed: async (services, db, change) => {
    const { before, effective, row } = change;
    // A pause ends the failure of a check that is pinged: no run would show that it passes.
    if (isPinged(row.type) && effective.activated && !before.activated) {
      await updateOwnRows(db, 'check_statuses', row.account_id)
        .set({ has_failures: 0 })
        .where('check_id', '=', row.id)
        .execute();
    }
    return forgetStatus(services, db, change);
  },
  deleted: forgetStatus,
};
