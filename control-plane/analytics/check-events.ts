/** What happened around a check, from the modules that know of it. */
import {
  type CheckEvent,
  type checkEventRoutes,
  maxEventsOfKind,
  maxEventsWindowMs,
} from '@monitor/shared/contract/check-event.ts';
import type { Kysely } from 'kysely';
import { changesBetween, deploymentsBetween } from '../audit/index.ts';
import type { Window } from '../core/decide/results-window.ts';
import { windowOf } from '../core/query-window.ts';
import type { Services } from '../core/services.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
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
function projectOf(db: Kysely<Database>, accountId: string, checkId: string) {
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
  db: Kysely<Database>,
  accountId: string,
  { id: checkId, group_id: groupId, body_json: body }: StoredCheck,
  { from, to }: Window,
): Promise<CheckEvent[]> {
  const newest = { from, to, limit: maxEventsOfKind };
  const { triggerIncident } = fromJson<{ triggerIncident?: { serviceId: string } | null }>(body);
  const of = { checkId, serviceId: triggerIncident?.serviceId ?? null };
  const resources = [
    { type: 'checks', id: checkId },
    ...(groupId === null ? [] : [{ type: 'check-groups', id: String(groupId) }]),
  ];
  const project = await projectOf(db, accountId, checkId);
  const incidents = await incidentsBetween(db, accountId, of, newest);
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
  const ranges = [
    ...incidents.map((one) => ({ kind: 'INCIDENT' as const, ...one })),
    ...(maintained.get(checkId) ?? [])
      .map(({ windowId, ...one }) => ({
        ...{ kind: 'MAINTENANCE' as const, id: String(windowId), ...one },
      }))
      .slice(-maxEventsOfKind),
  ];
  const instants = [
    ...deployed.map((one) => ({ kind: 'DEPLOYMENT' as const, ...one })),
    ...changes.map((one) => ({ kind: 'CHANGE' as const, ...one })),
  ];
  return [
    ...ranges.map(({ kind, id, name, startsAt, endsAt }) => ({
      ...{ kind, id, name, fields: [], startedAt: toTimestamp(startsAt) },
      endedAt: toTimestampOrNull(endsAt),
    })),
    ...instants.map(({ kind, id, name, fields, at }) => ({
      ...{ kind, id, name, fields, startedAt: toTimestamp(at), endedAt: null },
    })),
  ].sort((left, right) => left.startedAt.localeCompare(right.startedAt));
}

export function checkEventHandlers({
  readPool,
  clock,
}: Services): Handlers<typeof checkEventRoutes> {
  return {
    listCheckEvents: ({ params: { checkId }, query }, { principal: { accountId } }) => {
      const window = windowOf(query, clock.now(), maxEventsWindowMs, maxEventsWindowMs);
      return readPool.read(accountId, async (db) => {
        const check = await db
          .selectFrom('checks')
          .select(['id', 'group_id', 'body_json'])
          .where('account_id', '=', accountId)
          .where('id', '=', checkId)
          .where('is_trial', '!=', 2)
          .executeTakeFirstOrThrow(() => notFound('check', checkId));
        return eventsOf(db, accountId, check, window);
      });
    },
  };
}
