/** Maintenance windows that pause checks. */
import { sql, type Kysely } from 'kysely';

const accountId = 'account_id text not null references accounts (id) on delete cascade';

const statements = [
  `alter table maintenance_windows add column timezone text`,
  `alter table maintenance_windows add column description text`,
  `alter table maintenance_windows add column pause_all_checks integer not null default 0`,

  `create table called_off_maintenances (
    window_id integer not null references maintenance_windows (id) on delete cascade,
    ${accountId}, starts_at integer not null, called_off_at integer not null,
    primary key (window_id, starts_at)
  ) strict, without rowid`,
  `create index called_off_maintenances_of_account on called_off_maintenances (account_id)`,

  `create table past_maintenance_windows (
    seq integer primary key autoincrement, ${accountId},
    window_json text not null, withdrawn_at integer not null
  ) strict`,
  `create index past_maintenance_windows_of_account
    on past_maintenance_windows (account_id, withdrawn_at)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
