/** Rows of an account alone: a query that begins here cannot forget whose they are. */
import type {
  DeleteQueryBuilder,
  DeleteResult,
  Kysely,
  Selectable,
  SelectQueryBuilder,
  UpdateQueryBuilder,
  UpdateResult,
} from 'kysely';
import type { Database } from './tables.ts';

/** Tables with an `account_id`. */
type Owned = {
  [T in keyof Database]: Database[T] extends { account_id: unknown } ? T : never;
}[keyof Database];

export function ownRows<Table extends Owned>(
  db: Kysely<Database>,
  table: Table,
  accountId: string,
): SelectQueryBuilder<Database, Table, Selectable<Database[Table]>> {
  // One table stands for all: Kysely finds no type for a union of them.
  const rows = db.selectFrom(table as 'audit_log').selectAll();
  return rows.where('account_id', '=', accountId) as never;
}

export function deleteOwnRows<Table extends Owned>(
  db: Kysely<Database>,
  table: Table,
  accountId: string,
): DeleteQueryBuilder<Database, Table, DeleteResult> {
  return db.deleteFrom(table as 'audit_log').where('account_id', '=', accountId) as never;
}

export function updateOwnRows<Table extends Owned>(
  db: Kysely<Database>,
  table: Table,
  accountId: string,
): UpdateQueryBuilder<Database, Table, Table, UpdateResult> {
  return db.updateTable(table as 'audit_log').where('account_id', '=', accountId) as never;
}
