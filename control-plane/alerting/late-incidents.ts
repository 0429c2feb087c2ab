/**
 * Incidents of checks that began to fail while published work suppressed their incidents, and that still fail once it
 * is over.
 */
import { sql, type Kysely } from 'kysely';
import { lockChecks } from '../checks/index.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { openIncidentOf } from '../incidents/index.ts';
import { suppressesIncidents, suppressedIncidentsAt } from '../maintenance/index.ts';
import { AlertedChecks } from './alerted-checks.ts';
import type { AlertType } from './decide/decision.ts';
import type { AlertState } from './decide/state.ts';
import { Mutes } from './mutes.ts';
import { readStates } from './state-rows.ts';

const opening: AlertType[] = ['ALERT_FAILURE', 'ALERT_DEGRADED_FAILURE', 'ALERT_FAILURE_REMAIN'];

/** Accounts with a window, present or past, that suppresses incidents. */
async function accountsOf(db: Kysely<Database>): Promise<string[]> {
  const named = '%"suppressAutoIncidents":true%';
  const { rows } = await sql<{ account_id: string }>`
    select account_id from maintenance_windows where visibility_json like ${named}
    union select account_id from past_maintenance_windows where window_json like ${named}`.execute(
    db,
  );
  return rows.map(({ account_id: id }) => id);
}

async function openOf(
  services: Services,
  db: Kysely<Database>,
  accountId: string,
  checks: AlertedChecks,
  checkId: string,
  { condition, alert }: AlertState,
): Promise<void> {
  if (condition !== 'failing' || alert === null || alert.isOver) return;
  const check = await checks.find(accountId, checkId);
  if (check?.isActive !== true || check.triggerIncident === null) return;
  const raised = await ownRows(db, 'check_alerts', accountId)
    .where('check_id', '=', checkId)
    .where('incident_key', '=', alert.key)
    .where('alert_type', 'in', opening)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  if (raised === undefined) return;
  const { serviceId } = check.triggerIncident;
  const at = raised.created_at;
  if (!(await suppressedIncidentsAt(db, accountId, serviceId, at))) return;
  if (await suppressesIncidents(db, accountId, serviceId, services.clock.now())) return;
  // Somebody has resolved it already.
  const since = await ownRows(db, 'incidents', accountId)
    .where('check_id', '=', checkId)
    .where('created_at', '>=', at)
    .limit(1)
    .executeTakeFirst();
  if (since !== undefined) return;
  const incident = { accountId, checkId, checkName: check.row.name, at: services.clock.now() };
  await openIncidentOf(services, db, incident, check.triggerIncident);
}

export async function openLateIncidents(services: Services): Promise<void> {
  const { db, commits, clock, outbox } = services;
  for (const accountId of await accountsOf(db)) {
    await commits.run(async (unit) => {
      const failing = await ownRows(unit, 'alert_states', accountId)
        .where('failing_since', 'is not', null)
        .orderBy('check_id')
        .execute();
      const ids = await lockChecks(
        unit,
        failing.map(({ check_id: id }) => id),
      );
      const checks = new AlertedChecks(unit, new Mutes(unit, clock.now()));
      for (const [checkId, state] of await readStates(unit, ids)) {
        await openOf(services, unit, accountId, checks, checkId, state);
      }
    });
  }
  outbox.wake();
}
