/**
 * Sums of results that another installation measured, in the hours before a check was made here. They are marked by
 * where they end: none lies after, and before lies a result of ours only where a clock is slow. Reports with
 * objectives, status pages and Prometheus leave them out, since nothing here measured them.
 */
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { Cells, type RolledResult } from './decide/roll-ups/cell.ts';
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
  updateOwnRows(db, 'imported_history', accountId).set({ problem: null }).execute();

/** The results of whole hours, to be added at once: a result of ours may lie there, by another clock. */
export class ImportedSums {
  readonly #cells = new Cells();
  results = 0;

  add(result: RolledResult): void {
    this.#cells.add(result);
    this.results += 1;
  }

  /** `history` says how far back these hours reach; nothing is added twice, whatever is killed when. */
  async store(
    db: Db,
    history: Omit<RowOf<'imported_history'>, 'results'>,
    now: number,
  ): Promise<void> {
    const { from_at, problem } = history;
    const { results } = this;
    await lockHours(db, history.check_id);
    const stored = await db
      .insertInto('imported_history')
      .values({ ...history, results })
      .onConflict((conflict) =>
        conflict
          .column('check_id')
          .doUpdateSet(({ eb }) => ({
            ...{ from_at, problem, host: history.host },
            results: eb('imported_history.results', '+', results),
          }))
          .where('imported_history.from_at', problem === null ? '>' : '>=', from_at),
      )
      .returning('check_id')
      .executeTakeFirst();
    // Else another replica has added the same.
    if (stored !== undefined) await addToHours(db, this.#cells, now);
  }
}
