/**
 * Sums of results that another installation measured, in the hours before a check was made here. They are marked by
 * where they end: no result of ours lies before, and no imported one after. Reports with objectives and status pages
 * leave them out, since nothing here measured them.
 */
import { updateOwnRows } from '../db/own-rows.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { Cells, dayOf, type RolledResult } from './decide/roll-ups/cell.ts';
import { pack } from './decide/roll-ups/packing.ts';
import { deleteDays, noteDays, storeRollUps } from './roll-up-rows.ts';
import { toRow } from './roll-up.ts';

/** Before it the sums of a check are imported. */
export const importedUntil = prepareQuery<{ checkId: string }, { at: number }>((db, argument) =>
  db
    .selectFrom('imported_history')
    .select('until_at as at')
    .where('check_id', '=', argument('checkId')),
);

export const retryHistories = (db: Db, accountId: string) =>
  updateOwnRows(db, 'imported_history', accountId).set({ problem: null }).execute();

/** The results of whole hours, to be stored at once: what is stored of these hours is replaced. */
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
    const { account_id, check_id, from_at, problem } = history;
    const rows = [...this.#cells].map((cell) => ({
      ...toRow(cell),
      metrics: Buffer.from(pack(cell.metrics)),
    }));
    await storeRollUps.run(db, rows);
    const days = [...new Set(rows.map(({ starts_at }) => dayOf(starts_at)))].map((starts_at) => ({
      ...{ account_id, check_id, starts_at, due_at: now },
    }));
    await noteDays.run(db, days);
    await deleteDays(db, days);
    const { results } = this;
    await db
      .insertInto('imported_history')
      .values({ ...history, results })
      .onConflict((conflict) =>
        conflict
          .column('check_id')
          .doUpdateSet(({ eb }) => ({
            ...{ from_at, problem, host: history.host },
            results: eb('imported_history.results', '+', results),
          }))
          // Another replica may have stored the same.
          .where('imported_history.from_at', problem === null ? '>' : '>=', from_at),
      )
      .execute();
  }
}
