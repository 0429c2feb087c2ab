/** Results of which an agent could keep only the verdict and the times say so. */
import { sql, type Kysely } from 'kysely';

const statements = [
  `alter table check_results add column is_payload_dropped integer not null default 0`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
