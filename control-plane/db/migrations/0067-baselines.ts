/** Images that people approved, and runs that make them anew for a client. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It assigns none, its test sessions update none, and it deletes images that nobody fetched: docs/upgrade.md. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of [
    `create table baselines (id text primary key,
      account_id text not null references accounts (id) CASCADE,
      check_id text not null references checks (id) CASCADE, location text not null,
      platform text not null, project text not null, path text not null, image_path text not null,
      size_bytes INT not null, deployed_digest text, approved_at INT not null,
      unique (check_id, location, platform, path)) BY_KEY`,
    'create index baselines_by_image on baselines (account_id, image_path)',
    'alter table jobs add column updates_snapshots FLAG not null default 0',
  ]) {
    await sql.raw(ddl(statement, engine)).execute(db);
  }
}
