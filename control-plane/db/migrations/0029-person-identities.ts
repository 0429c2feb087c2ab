/** Who somebody is at an OpenID provider. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  await sql
    .raw(
      `create table person_identities (
        issuer text not null,
        subject text not null,
        person_id text not null references people (id) on delete cascade${later},
        created_at ${int} not null,
        primary key (issuer, subject)
      )${strict}`,
    )
    .execute(db);
  await sql
    .raw(`create index person_identities_by_person on person_identities (person_id)`)
    .execute(db);
}
