/**
 * One shape for all alerts about agents, a location without one included; names of the field. Whether an
 * outage is over follows from the error streak of the location.
 */
import { sql, type Kysely } from 'kysely';

const statements = [
  `alter table check_faults rename to error_streaks`,
  `drop index check_faults_of_location`,
  `create index error_streaks_of_location on error_streaks (account_id, location)`,
  `alter table location_faults rename to location_error_streaks`,
  `alter table fault_notices rename to agent_health_alerts`,
  // An outage that is over already is recognised by this.
  `delete from location_error_streaks where exists (
    select 1 from agent_health_alerts a
    where a.account_id = location_error_streaks.account_id
      and a.location = location_error_streaks.location
      and a.code = '' and a.conclusive_at is not null)`,
  `alter table agent_health_alerts drop column conclusive_at`,
  // Agents could send this as a code of their own.
  `delete from agent_health_alerts where code = 'NO_AGENT'`,
  `insert into agent_health_alerts
    (account_id, location, code, since, incident_key, channels_json, sent_at, message, check_count)
    select account_id, location, 'NO_AGENT', unserved_since, incident_key, channels_json, sent_at, null, 0
    from location_notices`,
  `drop table location_notices`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
