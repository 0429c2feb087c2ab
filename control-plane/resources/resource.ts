/**
 * A plain resource: rows of one table of an account, with the verbs that the API, deployments and importers call. Its
 * definition says how fields are stored and shown, and what else its changes do.
 */
import { type Insertable, sql } from 'kysely';
import type { Services } from '../core/services.ts';
import { lockRows } from '../db/lock.ts';
import { deleteOwnRows, type Owned, ownRows, ownRowsAmong, updateOwnRows } from '../db/own-rows.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import { type ApiError, notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';

export type Key = string | number;
export type Caller = Pick<ApiPrincipal, 'accountId' | 'role'>;
export type Column<Table extends Owned> = keyof RowOf<Table> & string;
/** Columns that the engine writes, or `fresh`. */
type Made = 'id' | 'dashboard_id' | 'account_id' | 'created_at' | 'updated_at';
type Columns<Table extends Owned> = Omit<Insertable<Database[Table]>, Made>;
type Awaitable<T> = T | Promise<T>;

export interface Saving<Table extends Owned, Fields> {
  unit: Db;
  /** What the body has. */
  changes: Partial<Fields>;
  accountId: string;
  /** Null for a new one. */
  before: RowOf<Table> | null;
}

export interface Definition<Table extends Owned, Fields, Wire> {
  table: Table;
  /** What people call it: "there is no snippet 7". */
  noun: string;
  /** The column that names a row in paths and projects. */
  key: Column<Table>;
  /** Its `id` is a number. */
  isNumbered?: true;
  /** The order of lists; by default that of the key. */
  order?: readonly Column<Table>[];
  /** Lists begin with the last. */
  isNewestFirst?: true;
  /** Columns of a new row that none of its fields has. */
  fresh?(now: number): Partial<Insertable<Database[Table]>>;
  /** Why a new one is refused whose name another has. */
  taken?(fields: Fields): ApiError;
  /** The fields of a row, as a body has them. Those that `changes` give need not be decrypted. */
  fieldsOf(row: RowOf<Table>, changes?: Partial<Fields>): Fields;
  /** The columns for all fields. Refuses what may not be stored. */
  toColumns(fields: Fields, saving: Saving<Table, Fields>): Awaitable<Columns<Table>>;
  present(rows: readonly RowOf<Table>[], caller: Caller): Awaitable<Wire[]>;
  /** The transaction of a change; by default a commit. */
  commit?<T>(accountId: string, work: (unit: Db) => Promise<T>): Promise<T>;
  /** Further writes of the transaction that created or changed the row. */
  saved?(
    unit: Db,
    row: RowOf<Table>,
    fields: Partial<Fields>,
    before: RowOf<Table> | null,
  ): Promise<void>;
  /** Before a row is changed. */
  changing?(unit: Db, before: RowOf<Table>): Promise<void>;
  /** Before a row is deleted: refuses it, or drops what refers to it. */
  removing?(unit: Db, row: RowOf<Table>): Promise<void>;
  /** Once a creation, change or deletion is committed. */
  done?(row: RowOf<Table>, isDeleted: boolean): void;
}

export type Resource<Table extends Owned, Fields extends object, Wire> = ReturnType<
  typeof resourceOf<Table, Fields, Wire>
>;

export function resourceOf<Table extends Owned, Fields extends object, Wire>(
  { db, commits, clock }: Pick<Services, 'db' | 'commits' | 'clock'>,
  definition: Definition<Table, Fields, Wire>,
) {
  const { noun, key, fieldsOf, present } = definition;
  // One table stands for all: Kysely finds no type for a union of them.
  const table = definition.table as 'services';
  const asRow = (row: unknown) => row as RowOf<Table>;
  const asColumns = (columns: unknown) => columns as Insertable<Database['services']>;
  const commit = async (
    accountId: string,
    work: (unit: Db) => Promise<RowOf<Table>>,
    isDeleted = false,
  ) => {
    const row = await (definition.commit?.(accountId, work) ?? commits.run(work));
    if (definition.done !== undefined) commits.after([() => definition.done?.(row, isDeleted)]);
    return row;
  };

  const isNumber = (column: string) => definition.isNumbered === true && column === 'id';

  /** The rows of an account, in the order of lists. */
  const rowsOf = (accountId: string) =>
    (definition.order ?? [key]).reduce(
      (query, column) => query.orderBy(sql.ref(column), definition.isNewestFirst ? 'desc' : 'asc'),
      ownRows(db, table, accountId),
    );
  const byKey = (unit: Db, accountId: string, value: Key, column: string = key) =>
    ownRows(unit, table, accountId).where(
      sql.ref(column),
      '=',
      isNumber(column) ? Number(value) : value,
    );
  const missing = (value: Key) => () => notFound(noun, String(value));
  /** The row of a key, or of another column that names it. */
  const get = async (
    accountId: string,
    value: Key,
    { unit = db, column = key }: { unit?: Db; column?: Column<Table> } = {},
  ) => asRow(await byKey(unit, accountId, value, column).executeTakeFirstOrThrow(missing(value)));
  const lock = async (unit: Db, accountId: string, value: Key) =>
    asRow(await lockRows(byKey(unit, accountId, value)).executeTakeFirstOrThrow(missing(value)));

  return {
    key,
    fieldsOf,
    present,
    rowsOf,
    isNewestFirst: definition.isNewestFirst === true,
    asRow,
    get,
    lock,

    async presentOne(row: RowOf<Table>, caller: Caller): Promise<Wire> {
      const [wire] = await present([row], caller);
      // Its parts were deleted after the row was read.
      if (wire === undefined) throw notFound(noun, String(row[key]));
      return wire;
    },

    /** What is there of these ids, or of the whole account for null. */
    among: (accountId: string, ids: readonly string[] | null, column: Column<Table> = key) =>
      ownRowsAmong(db, definition.table, accountId, { column, isNumber: isNumber(column), ids }),

    create: (accountId: string, fields: Fields): Promise<RowOf<Table>> =>
      commit(accountId, async (unit) => {
        const now = clock.now();
        const columns = {
          ...(definition.fresh?.(now) ?? { created_at: now, updated_at: null }),
          ...(await definition.toColumns(fields, {
            unit,
            accountId,
            before: null,
            changes: fields,
          })),
        };
        const row = asRow(
          await unit
            .insertInto(table)
            .values({ ...asColumns(columns), account_id: accountId })
            .$if(definition.taken !== undefined, (query) =>
              query.onConflict((conflict) => conflict.doNothing()),
            )
            .returningAll()
            .executeTakeFirstOrThrow(() => definition.taken?.(fields) ?? new Error(noun)),
        );
        await definition.saved?.(unit, row, fields, null);
        return row;
      }),

    update: (accountId: string, value: Key, changes: Partial<Fields>): Promise<RowOf<Table>> =>
      commit(accountId, async (unit) => {
        const before = await lock(unit, accountId, value);
        const fields = { ...fieldsOf(before, changes), ...changes };
        const columns = await definition.toColumns(fields, { unit, accountId, before, changes });
        await definition.changing?.(unit, before);
        const row = asRow(
          await updateOwnRows(unit, table, accountId)
            .set({ ...asColumns(columns), updated_at: clock.now() })
            .where(sql.ref(key), '=', before[key])
            .returningAll()
            .executeTakeFirstOrThrow(),
        );
        await definition.saved?.(unit, row, changes, before);
        return row;
      }),

    remove: (accountId: string, value: Key): Promise<RowOf<Table>> =>
      commit(
        accountId,
        async (unit) => {
          const row = await lock(unit, accountId, value);
          await definition.removing?.(unit, row);
          await deleteOwnRows(unit, table, accountId).where(sql.ref(key), '=', row[key]).execute();
          return row;
        },
        true,
      ),
  };
}
