/** Key-value facts about the installation. */
import { fromJson } from './columns.ts';
import { prepareQuery } from './prepared.ts';
import type { Db } from './tables.ts';

const upsert = prepareQuery<{ name: string; value: string }>((db, argument) =>
  db
    .insertInto('installation')
    .values({ name: argument('name'), value: argument('value') })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((set) => ({ value: set.ref('excluded.value') })),
    ),
);

/** Writes a fact; an earlier value is replaced. */
export async function writeFact(db: Db, name: string, value: string): Promise<void> {
  await upsert.run(db, { name, value });
}

/**
 * Writes a fact unless it is known; gives the value that is known then. Of several replicas that
 * start at once, all get the value of one.
 */
export async function addFact(db: Db, name: string, value: string): Promise<string> {
  await db
    .insertInto('installation')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await readFact(db, name)) ?? value;
}

/** Undefined for an unknown fact. */
export async function readFact(db: Db, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('installation')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value;
}

/** Drops a fact while it has this value: another replica may have written it anew. */
export async function dropFact(db: Db, name: string, value: string): Promise<void> {
  await db.deleteFrom('installation').where('name', '=', name).where('value', '=', value).execute();
}

const moveFact = 'moved_from';

/** Where the rows of this PostgreSQL came from. `at` is an ISO 8601 instant. */
export interface Move {
  from: string;
  at: string;
  state: 'copying' | 'done';
}

export async function writeMove(db: Db, move: Move): Promise<void> {
  await writeFact(db, moveFact, JSON.stringify(move));
}

/** Null for a database that was not moved here. */
export async function readMove(db: Db): Promise<Move | null> {
  const value = await readFact(db, moveFact);
  return value === undefined ? null : fromJson<Move>(value);
}
