/**
 * Sums of results that another installation measured, in the hours before a check was made here. They are marked by
 * where they end. A result of our agents lies before only where the clock of an agent is slow. Reports with
 * objectives, status pages and Prometheus leave them out, since nothing here measured them.
 */
import type { MetricDefinition } from '@monitor/shared/contract/checks/metric.ts';
import { measuredMetrics } from '@monitor/shared/domain/metrics.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { Cells, hourMs, type RolledResult } from './decide/roll-ups/cell.ts';
import { addToHours, lockHours } from './roll-up.ts';

/** The checks with imported sums after some time, and before which time they are. */
export const importedSince = async (
  db: Db,
  accountId: string,
  since: number,
): Promise<ReadonlyMap<string, number>> => {
  const rows = await ownRows(db, 'imported_history', accountId)
    .where('until_at', '>', since)
    .execute();
  return new Map(rows.map(({ check_id, until_at }) => [check_id, until_at]));
};

/** Before it the sums of a check are imported. */
export const importedUntil = prepareQuery<{ checkId: string }, { at: number }>((db, argument) =>
  db
    .selectFrom('imported_history')
    .select('until_at as at')
    .where('check_id', '=', argument('checkId')),
);

export const retryHistories = (db: Db, accountId: string) =>
  updateOwnRows(db, 'imported_history', accountId)
    .set({ problem: null, retry_at: null, part_hours: null })
    .execute();

/** By the unit of a metric: no run takes an hour. A count may be of days, which are negative once a certificate has expired. */
const plausible: Record<MetricDefinition['unit'], readonly [least: number, most: number]> = {
  milliseconds: [0, hourMs],
  score: [0, 1_000],
  percentage: [0, 100],
  count: [-1e6, 1e6],
  bytes: [0, 1e12],
};

/** Numbers that no installation measures break no sum. */
function isPlausible(metric: string, value: number): boolean {
  const [least, most] = plausible[measuredMetrics.get(metric)?.unit ?? 'count'];
  return value >= least && value <= most;
}

/** The results of whole hours, to be added at once to what is stored of these hours. */
export class ImportedSums {
  readonly #cells = new Cells(isPlausible);
  #results = 0;
  #oldestAt: number | null = null;
  /** Results that ended with an error of the other installation, which says nothing about the target. */
  leftOut = 0;

  add(result: RolledResult): void {
    this.#cells.add(result);
    this.#results += 1;
    this.#oldestAt = Math.min(this.#oldestAt ?? Infinity, result.startedAt);
  }

  /** `history` says how far back these hours reach; nothing is added twice, whatever is killed when. */
  async store(
    db: Db,
    history: Omit<RowOf<'imported_history'>, 'results' | 'left_out' | 'oldest_at'>,
    now: number,
  ): Promise<void> {
    const { account_id: _account, check_id, ...progress } = history;
    const counted = { results: this.#results, left_out: this.leftOut };
    const oldestAt = this.#oldestAt;
    await lockHours(db, check_id);
    const stored = await db
      .insertInto('imported_history')
      .values({ ...history, ...counted, oldest_at: oldestAt })
      .onConflict((conflict) =>
        conflict
          .column('check_id')
          .doUpdateSet(({ eb }) => ({
            ...progress,
            results: eb('imported_history.results', '+', counted.results),
            left_out: eb('imported_history.left_out', '+', counted.left_out),
            // Each part is older than those before.
            ...(oldestAt === null ? {} : { oldest_at: oldestAt }),
          }))
          .where(
            'imported_history.from_at',
            counted.results + counted.left_out > 0 ? '>' : '>=',
            history.from_at,
          ),
      )
      .returning('check_id')
      .executeTakeFirst();
    // Else another replica has added the same.
    if (stored !== undefined) await addToHours(db, this.#cells, now);
  }
}
