/** When nothing could be received and when the clock was set; what agents say of their own load. */
import { sql, type Kysely } from 'kysely';

const statements = [
  `create table reception_gaps (
    id integer primary key autoincrement, cause text not null,
    from_at integer not null, to_at integer not null,
    lost_ms integer not null, step_ms integer not null
  ) strict`,
  `alter table agents add column load_json text`,
  `alter table agents add column overloaded_since integer`,
  `alter table agents add column overload_ended_at integer`,
  `alter table fault_notices add column message text`,
  `alter table fault_notices add column check_count integer not null default 0`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
