/**
 * Runs in progress as their agents report them, and which of these are cancelled: every replica lists
 * them and sends the cancellations. The index holds the few agents that have any.
 */
import { sql, type Kysely } from 'kysely';

/** Builds before this one keep reports in memory, and ignore the columns. */
export const oldestBuild = '0022-bundles-in-the-store';

export async function up(db: Kysely<unknown>): Promise<void> {
  const statements = [
    `alter table agents add column open_runs_json text`,
    `alter table agents add column cancelled_runs_json text`,
    `create index agents_with_cancelled_runs on agents (account_id, location)
      where cancelled_runs_json is not null`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
