/**
 * Results of deleted checks on PostgreSQL. SQLite deletes them with their check. Here they have no
 * foreign keys, which would cost more than the rest of a result, and a check with a million results
 * would be deleted for minutes.
 */
import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import type { Services } from '../core/services.ts';
import { byEngine, engineOf } from '../db/engine.ts';
import { textOfId } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import { daysOf, isOfDays } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';

/** Some tens of milliseconds each. */
const atOnce = { check_results: 1_000, check_runs: 5_000 };

/** True for results whose check, in this column, still exists. Every query that shows or counts results has it. */
export function isOfPresentCheck(column: string): RawBuilder<SqlBool> {
  return byEngine({
    sqlite: sql<SqlBool>`true`,
    postgres: sql<SqlBool>`exists (select 1 from checks where checks.id = ${textOfId(column)})`,
  });
}

/** The same for what names a result in this column. */
export function isOfPresentResult(column: string): RawBuilder<SqlBool> {
  return byEngine({
    sqlite: sql<SqlBool>`true`,
    postgres: sql<SqlBool>`exists (
      select 1 from check_results join checks on checks.id = check_results.check_id::text
      where check_results.id = ${sql.ref(column)}
    )`,
  });
}

/**
 * The results of a check of an account, by ids that a user sent. On PostgreSQL the check says whose they
 * are: their index has no account.
 */
export function isOfCheck(
  accountId: Expression<string> | string,
  checkId: Expression<string> | string,
): RawBuilder<SqlBool> {
  return byEngine({
    sqlite: sql<SqlBool>`check_results.check_id = ${checkId}
      and check_results.account_id = ${accountId}`,
    postgres: sql<SqlBool>`check_results.check_id = (
      select id::uuid from checks where id = ${checkId} and account_id = ${accountId}
    )`,
  });
}

/** Deletes some results of a check, or some runs once it has no results. False when nothing is left. */
async function deleteSome(db: Db, checkId: string): Promise<boolean> {
  for (const table of ['check_results', 'check_runs'] as const) {
    const ofCheck = db.selectFrom(table).where('check_id', '=', checkId);
    const some = await ofCheck.select('run_day').limit(1).executeTakeFirst();
    if (some === undefined) continue;
    const ofDay = isOfDays(table, daysOf([some.run_day]));
    await db
      .deleteFrom(table)
      .where(ofDay)
      .where(sql.ref('id'), 'in', ofCheck.select('id').where(ofDay).limit(atOnce[table]))
      .execute();
    return true;
  }
  return false;
}

/**
 * One batch of one deleted check. Replicas work side by side, each on another check. True when there
 * may be more.
 */
export async function deleteResultsOfDeletedChecks({ db }: Pick<Services, 'db'>): Promise<boolean> {
  if (engineOf(db) === 'sqlite') return false;
  return inTransaction(db, async (unit) => {
    const deleted = await lockRows(
      unit.selectFrom('deleted_checks').select('check_id').orderBy('deleted_at').limit(1),
      { skipLocked: true },
    ).executeTakeFirst();
    if (deleted === undefined) return false;
    const { check_id: checkId } = deleted;
    // A copy of an older database may have brought it back.
    const isBack = await unit
      .selectFrom('checks')
      .select('id')
      .where('id', '=', checkId)
      .executeTakeFirst();
    if (isBack === undefined && (await deleteSome(unit, checkId))) return true;
    await unit.deleteFrom('deleted_checks').where('check_id', '=', checkId).execute();
    return true;
  });
}
