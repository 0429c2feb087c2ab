/** Key-value facts about the installation. */
import type { Kysely } from 'kysely';
import { prepareQuery } from './prepared.ts';
import type { Database } from './tables.ts';

const upsert = prepareQuery<{ name: string; value: string }>((db, argument) =>
  db
    .insertInto('installation')
    .values({ name: argument('name'), value: argument('value') })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((set) => ({ value: set.ref('excluded.value') })),
    ),
);

/** Writes a fact; an earlier value is replaced. */
export async function writeFact(db: Kysely<Database>, name: string, value: string): Promise<void> {
  await upsert.run(db, { name, value });
}

/**
 * Writes a fact unless it is known; gives the value that is known then. Of several replicas that
 * start at once, all get the value of one.
 */
export async function addFact(db: Kysely<Database>, name: string, value: string): Promise<string> {
  await db
    .insertInto('installation')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await readFact(db, name)) ?? value;
}

/** Undefined for an unknown fact. */
export async function readFact(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('installation')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.value;
}

export async function dropFact(db: Kysely<Database>, name: string): Promise<void> {
  await db.deleteFrom('installation').where('name', '=', name).execute();
}
