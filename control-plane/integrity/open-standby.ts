/** Opens the standby of DATABASE_READ_URL, or explains why it cannot be one. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Config } from '../core/config.ts';
import { databaseFailure } from '../db/failure.ts';
import { addFact } from '../db/installation.ts';
import { openPostgres } from '../db/postgres.ts';
import type { Db } from '../db/tables.ts';
import { describeFailure, OperatorError, usageError } from '../errors/operator-error.ts';
import { nameOfServer } from './name-of-database.ts';

const fact = 'installation_id';

/**
 * True when a database belongs to the installation with that id; null for a standby to which the id
 * has not come yet.
 */
async function belongsTo(standby: Db, id: string): Promise<boolean | null> {
  const { rows } = await sql<{ is_standby: boolean; has_table: boolean }>`
    select pg_is_in_recovery() as is_standby, to_regclass('installation') is not null as has_table
  `.execute(standby);
  const value =
    rows[0]?.has_table === true
      ? await standby
          .selectFrom('installation')
          .select('value')
          .where('name', '=', fact)
          .executeTakeFirst()
      : undefined;
  if (value === undefined) return rows[0]?.is_standby === true ? null : false;
  return value.value === id;
}

/**
 * Null without the setting. A standby that is away is no error.
 * @throws OperatorError for a database that cannot be opened, or that is of another installation.
 */
export async function openStandby(
  { DATABASE_READ_URL: url, DATABASE_POOL, DATABASE_PREPARED }: Config,
  primary: Db,
  replicaId: string,
): Promise<Db | null> {
  if (url === undefined) return null;
  const id = await addFact(primary, fact, randomUUID());
  const standby = openPostgres({
    ...{ url, connections: DATABASE_POOL, isPrepared: DATABASE_PREPARED },
    applicationName: `monitor/${replicaId}`,
  });
  const what = `DATABASE_READ_URL: the database ${nameOfServer(url)}`;
  try {
    if ((await belongsTo(standby, id)) !== false) return standby;
  } catch (error) {
    if (databaseFailure(error) === 'unavailable') return standby;
    await standby.destroy();
    throw new OperatorError(
      `${what} cannot be used (${describeFailure(error)}): check the user, the password and the name of the database`,
      { usage: true, cause: error },
    );
  }
  await standby.destroy();
  throw usageError(
    `${what} is not a standby of the one in DATABASE_URL: name one that replicates it, or unset DATABASE_READ_URL`,
  );
}
