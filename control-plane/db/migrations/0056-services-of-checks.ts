/** Services of status pages that follow checks. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

const statements = [
  'alter table services add column rule_json text',
  'alter table services add column override_json text',
  `create table service_sources (id COUNTED, account_id text not null,
    service_id text not null references services (id) CASCADE,
    check_id text references checks (id) CASCADE,
    group_id INT references check_groups (id) CASCADE) STRICT`,
  'create index service_sources_of_service on service_sources (service_id)',
  'create index service_sources_of_check on service_sources (check_id) where check_id is not null',
  'create index service_sources_of_group on service_sources (group_id) where group_id is not null',
];

/** Its pages show such services by their incidents alone. */
export const oldestBuild = '0051-push-devices';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statements) await sql.raw(ddl(statement, engine)).execute(db);
}
