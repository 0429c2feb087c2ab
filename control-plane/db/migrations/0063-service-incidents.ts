/** Incidents and drafts that services open. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** Its services open none. */
export const oldestBuild = '0056-services-of-checks';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of [
    `create table service_incidents (
      service_id text primary key references services (id) CASCADE, account_id text not null,
      group_id text not null, state text not null, incident_id text, cause_key text, cause text,
      checks_json text not null,
      created_at INT not null) BY_KEY`,
    'create index service_incidents_of_account on service_incidents (account_id, group_id)',
  ]) {
    await sql.raw(ddl(statement, engine)).execute(db);
  }
}
