/** Checks that somebody tries before saving: kept for an hour, and in no list. */
import { sql, type Kysely } from 'kysely';

/** Builds before this one list such a check, inactive, until it is deleted. */
export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table checks add column is_trial integer not null default 0').execute(db);
}
