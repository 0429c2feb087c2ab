/** Milliseconds of an attempt in which the agent itself waited; null for results of older agents. */
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table check_results add column agent_wait_ms real').execute(db);
}
