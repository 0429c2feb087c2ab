/** A trigger is found by the hash of its token; the token itself is kept encrypted. */
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table check_triggers add column token_encrypted text`.execute(db);
}
