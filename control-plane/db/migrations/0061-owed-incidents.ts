/** Incidents that published work suppresses, which are opened once it is over. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It searches for them by itself. */
export const oldestBuild = '0052-planned-work';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const statement = `create table owed_incidents (
    check_id text primary key references checks (id) CASCADE, account_id text not null,
    service_id text not null) BY_KEY`;
  await sql.raw(ddl(statement, engine)).execute(db);
}
