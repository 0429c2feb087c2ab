/** Maintenance of checks, groups, services and pages, that pages publish. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

const statements = [
  `alter table maintenance_windows add column pause_scope_json text not null default '{}'`,
  `alter table maintenance_windows add column mute_scope_json text not null default '{}'`,
  'alter table maintenance_windows add column visibility_json text',
  `alter table maintenance_windows add column channel_ids_json text not null default '[]'`,
  'alter table maintenance_windows add column due_at INT',
  `create index maintenance_windows_due on maintenance_windows (due_at)
    where due_at is not null`,
  // An occurrence goes by its scheduled start.
  `create table changed_maintenances (
    window_id INT not null references maintenance_windows (id) CASCADE,
    account_id text not null references accounts (id) CASCADE, starts_at INT not null,
    begun_at INT, verifying_at INT, ends_at INT, completed_at INT,
    primary key (window_id, starts_at)) BY_KEY`,
  'create index changed_maintenances_of_account on changed_maintenances (account_id)',
  `create table maintenance_updates (seq COUNTED, id text not null unique,
    account_id text not null references accounts (id) CASCADE,
    window_id INT not null references maintenance_windows (id) CASCADE,
    starts_at INT not null, kind text not null, status text not null, description text not null,
    notify_subscribers FLAG not null, created_at INT not null, updated_at INT, reached_page_id text,
    reached_subscription_id text, due_at INT, finished_at INT) STRICT`,
  `create index maintenance_updates_of_window on maintenance_updates
    (window_id, starts_at, seq)`,
  `create index maintenance_updates_due on maintenance_updates
    (due_at) where finished_at is null`,
];

/** It pauses, silences and publishes what it knows of a window. */
export const oldestBuild = '0051-push-devices';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statements) await sql.raw(ddl(statement, engine)).execute(db);
}
