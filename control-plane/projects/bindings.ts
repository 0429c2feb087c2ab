/** Adds to answers which project owns what they show. */
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import type { Services } from '../core/services.ts';
import { fromFlag } from '../db/columns.ts';
import { eachTextIn } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import { withoutType } from '../http/audited-calls.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { BoundRoute } from '../http/handlers.ts';

interface Binding {
  project: { id: string; logicalId: string; name: string };
  binding: { logicalId: string; pending: boolean };
}

const owners = prepareQuery<
  { accountId: string; type: ResourceType; ids: string },
  Record<'id' | 'logical_id' | 'name' | 'physical_id' | 'own_name', string> & {
    is_uncommitted: number;
  }
>((db, argument) =>
  db
    .selectFrom('project_resources')
    .innerJoin('projects', 'projects.id', 'project_resources.project_id')
    .select([
      'projects.id',
      'projects.logical_id',
      'projects.name',
      'project_resources.physical_id',
    ])
    .select(['project_resources.logical_id as own_name', 'project_resources.is_uncommitted'])
    .where('project_resources.account_id', '=', argument('accountId'))
    .where('project_resources.type', '=', argument('type'))
    .where('project_resources.physical_id', 'in', eachTextIn(argument('ids'))),
);

/** The owners of resources of a type, by the ids of these. */
export async function ownersOf(
  db: Db,
  accountId: string,
  type: ResourceType,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Binding>> {
  if (ids.length === 0) return new Map();
  const rows = await owners.run(db, { accountId, type, ids: JSON.stringify(ids) });
  return new Map(
    rows.map((row) => [
      row.physical_id,
      {
        project: { id: row.id, logicalId: row.logical_id, name: row.name },
        binding: { logicalId: row.own_name, pending: fromFlag(row.is_uncommitted) },
      },
    ]),
  );
}

/** What projects own, by its part of a path. */
const types = new Map<string, ResourceType>([
  ['checks', 'check'],
  ['check-groups', 'check-group'],
  ['alert-channels', 'alert-channel'],
  ['maintenance-windows', 'maintenance-window'],
  ['dashboards', 'dashboard'],
  ['private-locations', 'private-location'],
  ['status-pages', 'status-page'],
]);
const shown = /^\/v\d+\/(?:check-groups\/\{\w+\}\/)?([a-z-]+)(?:\/\{\w+\})?$/;

/**
 * A route whose answer, or each entry of it, says which project owns it; others stay as they are. The first version of
 * checks says it in the older form as well.
 */
export function withBindings({ db }: Pick<Services, 'db'>, route: BoundRoute): BoundRoute {
  const { authentication, method, path, status } = route.route;
  const type = types.get(shown.exec(withoutType(path))?.[1] ?? '');
  if (type === undefined || authentication !== 'apiKey' || method === 'DELETE') return route;
  const isFlat = type === 'check' && path.startsWith('/v1/');
  const isCreation = method === 'POST' && status === 201;
  return {
    ...route,
    async handle(input, call) {
      const answer = await route.handle(input, call);
      const { accountId } = (call as { principal: ApiPrincipal }).principal;
      const page = isFields(answer) && Array.isArray(answer['entries']) ? answer : null;
      const entries = (page?.['entries'] ?? [answer].flat()) as Fields[];
      const ids = entries.map(({ id }) => String(id));
      // What was made a moment ago has no owner yet.
      const owned = isCreation ? new Map() : await ownersOf(db, accountId, type, ids);
      const bound = entries.map((entry) => {
        const owner = owned.get(String(entry['id'])) ?? null;
        const projectBindings = { owner, references: [] };
        if (!isFlat) return { ...entry, projectBindings };
        const { project = null, binding = null } = owner ?? {};
        const { logicalId = null, pending = null } = binding ?? {};
        const member = owner === null ? null : true;
        return { ...entry, projectBindings, project, logicalId, member, pending };
      });
      if (page !== null) return { ...page, entries: bound };
      return Array.isArray(answer) ? bound : bound[0];
    },
  };
}
