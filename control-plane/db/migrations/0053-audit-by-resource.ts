/** The changes of one resource are found without reading the log of the account. */
import { sql, type Kysely } from 'kysely';

/** Builds before it read the log without the index. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index audit_log_by_resource
    on audit_log (account_id, resource_type, resource_id, at)`.execute(db);
}
