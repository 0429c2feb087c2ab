/**
 * Incidents that checks open and resolve automatically: with the alert (not with the first failure)
 * and with the recovery. Spec: Events 3; Check, `triggerIncident`. Users may edit such an incident
 * like any other. Their updates stay, and once they resolved it, the check adds nothing. A check
 * that is deleted or deactivated cannot recover any more, so its incident is resolved with a note
 * that says so. No text names the check: status pages are public, and names of checks are not
 * written for the public.
 */
import type { z } from 'zod';
import type { triggerIncident } from '@monitor/shared/contract/check.ts';
import { severity } from '@monitor/shared/contract/primitives.ts';
import { fromFlag } from '../db/columns.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { asOf, lastUpdateStatus, type IncidentStatus } from './decide/incident.ts';
import { type CheckConsumer, isDeactivated, type SavedCheck } from '../checks/index.ts';
import { suppressesIncidents } from '../maintenance/index.ts';
import type { AfterCommit } from '../db/after-commit.ts';
import type { Services } from '../core/services.ts';
import { addIncidentUpdate } from './incident-updates.ts';
import { replaceServices } from './store.ts';

export interface AutomatedIncident {
  accountId: string;
  checkId: string;
  checkName: string;
  /** When the alert or the recovery was decided. */
  at: number;
}

export interface OpenIncident {
  id: string;
  /** When its newest public update became public. */
  lastPublicAt: number;
  /** What was written last. */
  status: IncidentStatus;
  /** Setting at the time of the alert. */
  notifySubscribers: boolean;
}

type Check = Pick<AutomatedIncident, 'accountId' | 'checkId'>;

/** A check that fails every day opens hundreds of incidents; users re-open only recent ones. */
const latestIncidents = 10;

/** Usually one; more when users re-opened earlier ones. */
async function openIncidentsOf(
  db: Db,
  { accountId, checkId }: Check,
  now: number,
): Promise<OpenIncident[]> {
  const latest = await ownRows(db, 'incidents', accountId)
    .where('check_id', '=', checkId)
    .orderBy('seq', 'desc')
    .limit(latestIncidents)
    .execute();
  return stillOpen(
    db,
    accountId,
    latest.map(({ id }) => id),
    now,
  );
}

/** Those of the named incidents that are neither resolved nor deleted. */
export async function stillOpen(
  db: Db,
  accountId: string,
  ids: readonly string[],
  now: number,
): Promise<OpenIncident[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('incident_updates')
    .select(['incident_id', 'seq', 'status', 'public_at', 'notify_subscribers'])
    .where('account_id', '=', accountId)
    .where('incident_id', 'in', ids)
    .orderBy('seq')
    .execute();
  return [...Map.groupBy(rows, ({ incident_id: id }) => id)].flatMap(([id, updates]) => {
    const timeline = updates.map(({ seq, status, public_at }) => ({
      seq,
      status: status as IncidentStatus,
      publicAt: public_at,
    }));
    const published = asOf(timeline, now);
    const [first] = updates;
    const status = lastUpdateStatus(published);
    if (first === undefined || status === undefined || status === 'RESOLVED') return [];
    const lastPublicAt = published.at(-1)?.publicAt ?? now;
    return [{ id, lastPublicAt, status, notifySubscribers: fromFlag(first.notify_subscribers) }];
  });
}

/** Opens an incident for a check without an open one, in the transaction of the alert. */
export async function openIncidentOf(
  services: Services,
  db: Db,
  check: AutomatedIncident,
  template: z.output<typeof triggerIncident>,
): Promise<void> {
  const { accountId, checkId, checkName, at } = check;
  const { logger, clock } = services;
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
  await openIncident(services, db, {
    ...{ accountId, checkId, at, template },
    serviceIds: [service.id],
  });
}

/** Opens an incident with its first update. */
export async function openIncident(
  { newId }: Pick<Services, 'newId'>,
  db: Db,
  incident: {
    accountId: string;
    checkId: string | null;
    serviceIds: readonly string[];
    template: Omit<z.output<typeof triggerIncident>, 'serviceId'>;
    at: number;
  },
): Promise<string> {
  const { accountId, checkId, serviceIds, template, at } = incident;
  const { name, severity, description, notifySubscribers } = template;
  const id = newId();
  await db
    .insertInto('incidents')
    .values({
      ...{ id, account_id: accountId, name, severity, check_id: checkId },
      ...{ created_at: at, updated_at: null },
    })
    .execute();
  await replaceServices(db, id, serviceIds);
  await addIncidentUpdate(db, {
    ...{ id: newId(), accountId, incidentId: id, description, notifySubscribers },
    ...{ status: 'INVESTIGATING', publicAt: at, createdAt: at },
  });
  return id;
}

/** Adds an update to an open incident, after what people wrote. */
export async function addToIncident(
  { newId }: Pick<Services, 'newId'>,
  db: Db,
  accountId: string,
  incident: OpenIncident,
  update: { description: string; status: IncidentStatus; at: number },
): Promise<void> {
  const { description, status, at } = update;
  await addIncidentUpdate(db, {
    ...{ id: newId(), accountId, incidentId: incident.id, description, status },
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

/** One that is as severe or more stays as it is; the worst comes first among the options. */
export async function raiseSeverity(
  db: Db,
  accountId: string,
  incidentId: string,
  to: z.output<typeof severity>,
): Promise<void> {
  const { options } = severity;
  const lower = options.slice(options.indexOf(to) + 1);
  if (lower.length === 0) return;
  await updateOwnRows(db, 'incidents', accountId)
    .set({ severity: to })
    .where('id', '=', incidentId)
    .where('severity', 'in', lower)
    .execute();
}

/** Resolves the open incident of the check, if there is one. */
export async function resolveIncidentOf(
  services: Services,
  db: Db,
  check: AutomatedIncident,
): Promise<void> {
  await resolve(services, db, check, 'The check that opened this incident passes again.');
}

/** Closes the incident of a check. */
async function closeIncidentOf(
  services: Services,
  db: Db,
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
  services: Services,
  db: Db,
  { accountId, checkId, at }: Check & { at: number },
  description: string,
): Promise<void> {
  const { clock } = services;
  await db.deleteFrom('owed_incidents').where('check_id', '=', checkId).execute();
  for (const incident of await openIncidentsOf(db, { accountId, checkId }, clock.now())) {
    await addToIncident(services, db, accountId, incident, { description, status: 'RESOLVED', at });
  }
}
