/**
 * Incidents that checks open and resolve automatically: with the alert (not with the first failure)
 * and with the recovery. Spec: Events 3; Check, `triggerIncident`. Users may edit such an incident
 * like any other. Their updates stay, and once they resolved it, the check adds nothing. A check
 * that is deleted or deactivated cannot recover any more, so its incident is resolved with a note
 * that says so. No text names the check: status pages are public, and names of checks are not
 * written for the public.
 */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import type { triggerIncident } from '@monitor/shared/contract/check.ts';
import { fromFlag } from '../db/columns.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { asOf, lastUpdateStatus, type IncidentStatus } from './decide/incident.ts';
import { type CheckConsumer, isDeactivated, type SavedCheck } from '../checks/index.ts';
import { suppressesIncidents } from '../maintenance/index.ts';
import type { AfterCommit } from '../db/after-commit.ts';
import type { Services } from '../core/services.ts';
import { addIncidentUpdate } from './incident-updates.ts';

export interface AutomatedIncident {
  accountId: string;
  checkId: string;
  checkName: string;
  /** When the alert or the recovery was decided. */
  at: number;
}

interface OpenIncident {
  id: string;
  /** When its newest public update became public. */
  lastPublicAt: number;
  /** Setting at the time of the alert. */
  notifySubscribers: boolean;
}

type Check = Pick<AutomatedIncident, 'accountId' | 'checkId'>;

/** A check that fails every day opens hundreds of incidents; users re-open only recent ones. */
const latestIncidents = 10;

/** Usually one; more when users re-opened earlier ones. */
async function openIncidentsOf(
  db: Kysely<Database>,
  { accountId, checkId }: Check,
  now: number,
): Promise<OpenIncident[]> {
  const rows = await db
    .selectFrom('incidents')
    .innerJoin('incident_updates', 'incident_updates.incident_id', 'incidents.id')
    .select(['incidents.id', 'incident_updates.seq', 'incident_updates.status'])
    .select(['incident_updates.public_at', 'incident_updates.notify_subscribers'])
    .where('incidents.account_id', '=', accountId)
    .where('incidents.id', 'in', (from) =>
      from
        .selectFrom('incidents as latest')
        .select('latest.id')
        .where('latest.account_id', '=', accountId)
        .where('latest.check_id', '=', checkId)
        .orderBy('latest.seq', 'desc')
        .limit(latestIncidents),
    )
    .orderBy('incident_updates.seq')
    .execute();
  return [...Map.groupBy(rows, ({ id }) => id)].flatMap(([id, updates]) => {
    const timeline = updates.map(({ seq, status, public_at }) => ({
      seq,
      status: status as IncidentStatus,
      publicAt: public_at,
    }));
    const published = asOf(timeline, now);
    const [first] = updates;
    if (first === undefined || lastUpdateStatus(published) === 'RESOLVED') return [];
    const lastPublicAt = published.at(-1)?.publicAt ?? now;
    return [{ id, lastPublicAt, notifySubscribers: fromFlag(first.notify_subscribers) }];
  });
}

/** Opens an incident for a check without an open one, in the transaction of the alert. */
export async function openIncidentOf(
  services: Services,
  db: Kysely<Database>,
  check: AutomatedIncident,
  template: z.output<typeof triggerIncident>,
): Promise<void> {
  const { accountId, checkId, checkName, at } = check;
  const { newId, logger, clock } = services;
  const service = await db
    .selectFrom('services')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', template.serviceId)
    .executeTakeFirst();
  if (service === undefined) {
    const { serviceId } = template;
    logger.warn({ accountId, checkId, checkName, serviceId }, 'no incident, its service is gone');
    return;
  }
  if ((await openIncidentsOf(db, check, clock.now())).length > 0) return;
  if (await suppressesIncidents(db, accountId, service.id, at)) {
    await db
      .insertInto('owed_incidents')
      .values({ check_id: checkId, account_id: accountId, service_id: service.id })
      .onConflict((conflict) => conflict.column('check_id').doUpdateSet({ service_id: service.id }))
      .execute();
    return;
  }
  const incidentId = newId();
  await db
    .insertInto('incidents')
    .values({
      id: incidentId,
      account_id: accountId,
      name: template.name,
      severity: template.severity,
      check_id: checkId,
      created_at: at,
      updated_at: null,
    })
    .execute();
  await db
    .insertInto('incident_services')
    .values({ incident_id: incidentId, service_id: service.id })
    .execute();
  await addIncidentUpdate(db, {
    id: newId(),
    accountId,
    incidentId,
    description: template.description,
    status: 'INVESTIGATING',
    publicAt: at,
    notifySubscribers: template.notifySubscribers,
    createdAt: at,
  });
}

/** Resolves the open incident of the check, if there is one. */
export async function resolveIncidentOf(
  services: Services,
  db: Kysely<Database>,
  check: AutomatedIncident,
): Promise<void> {
  await resolve(services, db, check, 'The check that opened this incident passes again.');
}

/** Closes the incident of a check. */
async function closeIncidentOf(
  services: Services,
  db: Kysely<Database>,
  { row }: SavedCheck,
  reason: 'deleted' | 'deactivated',
): Promise<AfterCommit> {
  const check = { accountId: row.account_id, checkId: row.id, at: services.clock.now() };
  const note = `Closed without a recovery: the check that opened this incident was ${reason}.`;
  await resolve(services, db, check, note);
  return null;
}

/** An automated incident is closed when its check is deactivated or deleted. */
export const incidentsOfChecks: CheckConsumer = {
  changed: async (services, db, change) =>
    isDeactivated(change) ? closeIncidentOf(services, db, change, 'deactivated') : null,
  deleted: (services, db, check) => closeIncidentOf(services, db, check, 'deleted'),
};

async function resolve(
  { newId, clock }: Services,
  db: Kysely<Database>,
  { accountId, checkId, at }: Check & { at: number },
  description: string,
): Promise<void> {
  await db.deleteFrom('owed_incidents').where('check_id', '=', checkId).execute();
  for (const incident of await openIncidentsOf(db, { accountId, checkId }, clock.now())) {
    await addIncidentUpdate(db, {
      id: newId(),
      accountId,
      incidentId: incident.id,
      description,
      status: 'RESOLVED',
      // A user may have written after the end of the recovered run: this update still comes last.
      publicAt: Math.max(at, incident.lastPublicAt),
      notifySubscribers: incident.notifySubscribers,
      createdAt: at,
    });
    await updateOwnRows(db, 'incidents', accountId)
      .set({ updated_at: at })
      .where('id', '=', incident.id)
      .execute();
  }
}
