/** Rows of an account alone: a query that begins here cannot forget whose they are. */
import {
  sql,
  type DeleteQueryBuilder,
  type DeleteResult,
  type SelectQueryBuilder,
  type UpdateQueryBuilder,
  type UpdateResult,
} from 'kysely';
import { eachNumberOf, eachOf } from './expressions.ts';
import type { Database, Db, RowOf } from './tables.ts';

/** Tables with an `account_id`. */
export type Owned = {
  [T in keyof Database]: Database[T] extends { account_id: unknown } ? T : never;
}[keyof Database];

export function ownRows<Table extends Owned>(
  db: Db,
  table: Table,
  accountId: string,
): SelectQueryBuilder<Database, Table, RowOf<Table>> {
  // One table stands for all: Kysely finds no type for a union of them.
  const rows = db.selectFrom(table as 'audit_log').selectAll();
  return rows.where('account_id', '=', accountId) as never;
}

/**
 * Those that a column names, or all of them for null, in the order in which they were made. `isNumber` says that the
 * column holds numbers: clients may name anything.
 */
export async function ownRowsAmong<Table extends Owned>(
  db: Db,
  table: Table,
  accountId: string,
  {
    column,
    isNumber = false,
    ids,
  }: { column: string; isNumber?: boolean; ids: readonly string[] | null },
): Promise<RowOf<Table>[]> {
  const numbers = (ids ?? []).map(Number).filter(Number.isSafeInteger);
  const rows: unknown = await ownRows(db, table as 'services', accountId)
    .$if(ids !== null, (query) =>
      query.where(sql.ref(column), 'in', isNumber ? eachNumberOf(numbers) : eachOf(ids ?? [])),
    )
    .orderBy('created_at')
    .orderBy(sql.ref(column))
    .execute();
  return rows as RowOf<Table>[];
}

export function deleteOwnRows<Table extends Owned>(
  db: Db,
  table: Table,
  accountId: string,
): DeleteQueryBuilder<Database, Table, DeleteResult> {
  return db.deleteFrom(table as 'audit_log').where('account_id', '=', accountId) as never;
}

export function updateOwnRows<Table extends Owned>(
  db: Db,
  table: Table,
  accountId: string,
): UpdateQueryBuilder<Database, Table, Table, UpdateResult> {
  return db.updateTable(table as 'audit_log').where('account_id', '=', accountId) as never;
}
