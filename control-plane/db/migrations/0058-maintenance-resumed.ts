/** An occurrence that is opened again begins then; updates and notices outlive their window. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It keeps both, and does not know of the gap. */
export const oldestBuild = '0052-planned-work';

const resumed = 'alter table changed_maintenances add column resumed_at INT';

/** SQLite cannot drop a foreign key. */
const withoutForeignKey: Record<Engine, readonly string[]> = {
  postgres: ['alter table maintenance_updates drop constraint maintenance_updates_window_id_fkey'],
  sqlite: [
    `create table outliving_updates (seq COUNTED, id text not null unique,
      account_id text not null references accounts (id) CASCADE, window_id INT not null,
      starts_at INT not null, kind text not null, status text not null,
      description text not null, notify_subscribers FLAG not null, created_at INT not null,
      updated_at INT, reached_page_id text, reached_subscription_id text, due_at INT,
      finished_at INT) STRICT`,
    'insert into outliving_updates select * from maintenance_updates',
    'drop table maintenance_updates',
    'alter table outliving_updates rename to maintenance_updates',
    `create index maintenance_updates_of_window on maintenance_updates
      (window_id, starts_at, seq)`,
    `create index maintenance_updates_due on maintenance_updates
      (due_at) where finished_at is null`,
  ],
};

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of [resumed, ...withoutForeignKey[engine]]) {
    await sql.raw(ddl(statement, engine)).execute(db);
  }
}
