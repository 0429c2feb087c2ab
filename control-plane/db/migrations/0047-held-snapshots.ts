/** What an agent holds by its own account: any replica must know it when another agent hands over. */
import { sql, type Kysely } from 'kysely';

export const oldestBuild = '0046-window-mutes';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table agents add column held_snapshot text').execute(db);
}
