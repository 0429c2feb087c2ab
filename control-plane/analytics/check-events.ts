/** What happened around a check, from the modules that know of it. */
import {
  type CheckEvent,
  type checkEventRoutes,
  maxEventsOfKind,
  maxEventsWindowMs,
} from '@monitor/shared/contract/check-event.ts';
import { auditRoutes } from '@monitor/shared/contract/audit-log.ts';
import { includesRole, roleOf } from '@monitor/shared/contract/route.ts';
import { type Changed, changesBetween, deploymentsBetween } from '../audit/index.ts';
import type { Window } from '../core/decide/results-window.ts';
import { windowOf } from '../core/query-window.ts';
import type { Services } from '../core/services.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { notFound } from '../errors/api-error.ts';
import type { Handlers } from '../http/handlers.ts';
import { incidentsBetween } from '../incidents/index.ts';
import { plannedBetween } from '../maintenance/index.ts';

interface StoredCheck {
  id: string;
  group_id: number | null;
  body_json: string;
}

/** The project that a check belongs to, with its name there. */
function projectOf(db: Db, accountId: string, checkId: string) {
  return db
    .selectFrom('project_resources')
    .innerJoin('projects', 'projects.id', 'project_resources.project_id')
    .select(['projects.logical_id as project', 'project_resources.logical_id as name'])
    .where('project_resources.account_id', '=', accountId)
    .where('project_resources.type', '=', 'check')
    .where('project_resources.physical_id', '=', checkId)
    .executeTakeFirst();
}

async function eventsOf(
  db: Db,
  accountId: string,
  { id: checkId, group_id: groupId, body_json: body }: StoredCheck,
  { from, to }: Window,
  mayReadAudit: boolean,
): Promise<CheckEvent[]> {
  const newest = { from, to, limit: maxEventsOfKind };
  const { triggerIncident } = fromJson<{ triggerIncident?: { serviceId: string } | null }>(body);
  const of = { checkId, serviceId: triggerIncident?.serviceId ?? null };
  const resources = [
    { type: 'checks', id: checkId },
    ...(groupId === null ? [] : [{ type: 'check-groups', id: String(groupId) }]),
  ];
  const imported = await ownRows(db, 'imported_history', accountId)
    .where('check_id', '=', checkId)
    .where('until_at', '>', from)
    .where('oldest_at', '<', to)
    .execute();
  const project = await projectOf(db, accountId, checkId);
  const incidents = await incidentsBetween(db, accountId, of, { from, to });
  const maintained = await plannedBetween(db, accountId, [checkId], { from, to });
  const changes = await changesBetween(db, accountId, resources, newest);
  const deployed =
    project === undefined
      ? []
      : await deploymentsBetween(
          db,
          accountId,
          { project: project.project, resource: `check ${project.name}` },
          newest,
        );
  const range = ({ id, name, startsAt, endsAt }: Range) => ({
    ...{ id, name, fields: [], startedAt: toTimestamp(startsAt) },
    endedAt: toTimestampOrNull(endsAt),
  });
  const instant = ({ id, name, fields, at }: Changed) => ({
    ...{ id, name, fields: mayReadAudit ? fields : [] },
    ...{ startedAt: toTimestamp(at), endedAt: null },
  });
  const byKind = {
    IMPORT: imported.map(({ host, oldest_at, until_at }) =>
      range({ id: checkId, name: host, startsAt: oldest_at ?? until_at, endsAt: until_at }),
    ),
    INCIDENT: incidents.map(range),
    MAINTENANCE: (maintained.get(checkId) ?? []).map(({ windowId, ...one }) =>
      range({ id: String(windowId), ...one }),
    ),
    // They come newest first; those of one instant stay in order.
    DEPLOYMENT: deployed.toReversed().map(instant),
    CHANGE: changes.toReversed().map(instant),
  };
  return inTime(
    Object.entries(byKind).flatMap(([kind, events]) =>
      inTime(events.map((one) => ({ kind: kind as CheckEvent['kind'], ...one }))).slice(
        -maxEventsOfKind,
      ),
    ),
  );
}

interface Range {
  id: string;
  name: string;
  startsAt: number;
  endsAt: number | null;
}

const inTime = (events: readonly CheckEvent[]): CheckEvent[] =>
  events.toSorted((left, right) => left.startedAt.localeCompare(right.startedAt));

export function checkEventHandlers({
  readPool,
  clock,
}: Services): Handlers<typeof checkEventRoutes> {
  return {
    listCheckEvents: ({ params: { checkId }, query }, { principal: { accountId, role } }) => {
      const window = windowOf(query, clock.now(), maxEventsWindowMs, maxEventsWindowMs);
      return readPool.read(accountId, async (db) => {
        const check = await db
          .selectFrom('checks')
          .select(['id', 'group_id', 'body_json'])
          .where('account_id', '=', accountId)
          .where('id', '=', checkId)
          .where('is_trial', '!=', 2)
          .executeTakeFirstOrThrow(() => notFound('check', checkId));
        const mayReadAudit = includesRole(role, roleOf(auditRoutes.listAuditLog));
        return eventsOf(db, accountId, check, window, mayReadAudit);
      });
    },
  };
}
