/**
 * Import plans: a project takes over what its account has already. Their payloads are what deployments
 * take, so that the deployment of what was imported changes nothing.
 */
import type {
  ImportedResource,
  ImportPlanWire,
} from '@monitor/shared/contract/compatibility/imports.ts';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import type { Services } from '../core/services.ts';
import { fromFlag, fromJson, toTimestamp } from '../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import { lockRows } from '../db/lock.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import { type Fields, kinds, type Reading, requireRole } from './kinds/index.ts';
import { hasNumericId, keyOf } from './references.ts';
import { nameOf } from './relations.ts';
import {
  findProject,
  type LinkRow,
  linksOf,
  lockProject,
  type ProjectRow,
  unlink,
} from './store.ts';

export type PlanRow = RowOf<'import_plans'>;

export interface Filter {
  type: 'include' | 'exclude';
  resource?: { type: string; physicalId?: string | number | null };
}

interface Friend {
  type: string;
  logicalId: string;
}

/** What a plan remembers of a resource. */
interface Planned {
  type: ResourceType;
  logicalId: string;
  /** As the project will know it. */
  linkedAs: string;
}

interface Found extends Planned {
  wire: ImportedResource;
}

const maxOpenPlans = 100;

const nothingToImport = 'No importable resources were found';

export function planToWire(row: PlanRow): ImportPlanWire {
  return {
    id: row.id,
    createdAt: toTimestamp(row.created_at),
    ...(row.applied_at !== null && { appliedAt: toTimestamp(row.applied_at) }),
    ...(row.committed_at !== null && { committedAt: toTimestamp(row.committed_at) }),
  };
}

/** Throws 404. */
export async function requireProject(
  db: Db,
  accountId: string,
  logicalId: string,
): Promise<ProjectRow> {
  const row = await findProject(db, accountId, logicalId);
  if (row === undefined) throw notFound('project', logicalId);
  return row;
}

/** `Checkout API` and its id become `checkout-api-1f0c2a9b`. */
function logicalIdOf(type: ResourceType, { name, header }: Fields, id: string): string {
  const words = String(name ?? header ?? type)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60);
  return `${words === '' ? type : words}-${id.slice(0, 8)}`;
}

/** Whether a client can write files of it: none knows how to write a suite. */
const isWritable = (type: ResourceType, fields: Fields): boolean =>
  type !== 'check' || fields['checkType'] !== 'PLAYWRIGHT';

function isIncluded(filters: readonly Filter[], type: ResourceType, id: string): boolean {
  const last = filters.findLast(
    ({ resource }) =>
      resource === undefined ||
      (resource.type === type &&
        (resource.physicalId == null || String(resource.physicalId) === id)),
  );
  return last?.type === 'include';
}

/** What projects own, and what open plans of others reserve. */
async function takenIn(db: Db, accountId: string): Promise<Set<string>> {
  const links = await db
    .selectFrom('project_resources')
    .select(['type', 'physical_id'])
    .where('account_id', '=', accountId)
    .execute();
  const plans = await db
    .selectFrom('import_plans')
    .select('resources_json')
    .where('account_id', '=', accountId)
    .where('applied_at', 'is', null)
    .execute();
  const planned = plans.flatMap((plan) => fromJson<Planned[]>(plan.resources_json));
  return new Set([
    ...links.map((each) => keyOf(each.type as ResourceType, each.physical_id)),
    ...planned.map(({ type, linkedAs }) => keyOf(type, linkedAs)),
  ]);
}

/** Throws 409 when too many plans of the account are neither applied nor cancelled: each reserves what it names. */
async function refuseMany(db: Db, accountId: string): Promise<void> {
  const { open } = await db
    .selectFrom('import_plans')
    .select((select) => select.fn.countAll<number>().as('open'))
    .where('account_id', '=', accountId)
    .where('applied_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(open) < maxOpenPlans) return;
  throw new ApiError(
    'CONFLICT',
    `${maxOpenPlans} import plans of this account are not applied: apply or cancel some`,
  );
}

/** Refuses what is asked for by its id and belongs to a project, or to another plan. */
function refuseTaken(filters: readonly Filter[], taken: ReadonlySet<string>): void {
  for (const { type, resource } of filters) {
    if (type !== 'include' || resource?.physicalId == null) continue;
    const name = `${resource.type} ${resource.physicalId}`;
    if (!taken.has(name)) continue;
    throw new ApiError(
      'CONFLICT',
      `${name} belongs to a project already, or to another import plan`,
    );
  }
}

interface Names {
  /** Logical ids of what is planned or owned, by type and physical id. */
  of(type: ResourceType, physicalId: string): string;
}

/** Subscriptions and assignments of the checks and groups that are imported. */
async function relationsOf(
  { services: { db }, accountId }: Reading,
  found: readonly Found[],
  slugs: ReadonlyMap<string, readonly string[]>,
  names: Names,
): Promise<Found[]> {
  const isFound = new Set(found.map(({ type, linkedAs }) => keyOf(type, linkedAs)));
  const rows = await ownRows(db, 'alert_subscriptions', accountId).orderBy('id').execute();
  const subscriptions = rows.flatMap((row): Found[] => {
    const target = row.check_id ?? String(row.group_id);
    const type = row.check_id === null ? 'check-group' : 'check';
    // Clients know no subscription that is off: it stays as it is.
    if (!isFound.has(keyOf(type, target)) || !fromFlag(row.activated)) return [];
    const [of, channel] = [
      names.of(type, target),
      names.of('alert-channel', String(row.channel_id)),
    ];
    const logicalId = `${type}-alert-channel-subscription#${of}#${channel}`;
    const named = { channelId: row.channel_id, checkId: row.check_id, groupId: row.group_id };
    const payload = {
      alertChannelId: row.channel_id,
      ...(row.check_id === null ? { groupId: row.group_id } : { checkId: row.check_id }),
      activated: true,
    };
    const relation = { type: 'alert-channel-subscription' as const, logicalId };
    const wire = { ...relation, physicalId: row.id, member: true as const, payload };
    return [{ ...relation, linkedAs: nameOf(named), wire }];
  });
  const locations = await db
    .selectFrom('private_locations')
    .select(['id', 'slug_name'])
    .where('account_id', '=', accountId)
    .execute();
  const idOf = new Map(locations.map(({ id, slug_name: slug }) => [slug, id]));
  let number = 0;
  const assignments = found.flatMap(({ type, linkedAs, logicalId: of, wire }) =>
    (slugs.get(keyOf(type, linkedAs)) ?? []).flatMap((slug): Found[] => {
      const location = idOf.get(slug);
      if (location === undefined) return [];
      const kind = type === 'check' ? 'check' : 'group';
      const relation = {
        type: `private-location-${kind}-assignment` as const,
        logicalId: `private-location-${kind}-assignment#${of}#${names.of('private-location', location)}`,
      };
      const payload = { privateLocationId: location, [`${kind}Id`]: wire.physicalId };
      number += 1;
      return [
        {
          ...{ ...relation, linkedAs: relation.logicalId },
          wire: { ...relation, physicalId: number, member: true, payload },
        },
      ];
    }),
  );
  return [...subscriptions, ...assignments];
}

/** Everything that the filters choose and no project has. */
async function findResources(
  unit: Reading,
  filters: readonly Filter[],
  taken: ReadonlySet<string>,
  links: readonly LinkRow[],
): Promise<Found[]> {
  const found: Found[] = [];
  const slugs = new Map<string, readonly string[]>();
  for (const kind of kinds) {
    const { type } = kind;
    if (kind.isUnknownToClients === true) continue;
    for (const [id, { fields }] of await kind.read(unit, null)) {
      const isTaken = taken.has(keyOf(type, id));
      if (isTaken || !isIncluded(filters, type, id) || !isWritable(type, fields)) continue;
      const physicalId = hasNumericId(type) ? Number(id) : id;
      const logicalId = logicalIdOf(type, fields, id);
      const payload = { id: physicalId, ...kind.write(fields) };
      const named = { type, logicalId, linkedAs: id };
      found.push({ ...named, wire: { type, logicalId, physicalId, member: true, payload } });
      const { privateLocations } = fields;
      if (Array.isArray(privateLocations)) {
        slugs.set(keyOf(type, id), privateLocations as string[]);
      }
    }
  }
  const known = new Map([
    ...links.map((each) => [`${each.type} ${each.physical_id}`, each.logical_id] as const),
    ...found.map(({ type, linkedAs, logicalId }) => [keyOf(type, linkedAs), logicalId] as const),
  ]);
  const names: Names = { of: (type, id) => known.get(keyOf(type, id)) ?? `${type}-${id}` };
  return [...found, ...(await relationsOf(unit, found, slugs, names))];
}

/** Snippets that what is imported refers to by id. */
async function snippetsOf({ services: { db }, accountId }: Reading, found: readonly Found[]) {
  const ids = found.flatMap(({ wire: { payload } }) =>
    ['setupSnippetId', 'tearDownSnippetId'].flatMap((name) =>
      typeof payload[name] === 'number' ? [payload[name]] : [],
    ),
  );
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('snippets')
    .select(['id', 'name', 'script'])
    .where('account_id', '=', accountId)
    .where('id', 'in', [...new Set(ids)])
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ physicalId: row.id, type: 'snippet' as const, payload: row }));
}

function friendsOf(friends: readonly Friend[], links: readonly LinkRow[]) {
  const known = new Map(links.map((each) => [`${each.type} ${each.logical_id}`, each]));
  return friends.flatMap(({ type, logicalId }) => {
    const row = known.get(`${type} ${logicalId}`);
    if (row === undefined) return [];
    const isNumber = hasNumericId(row.type as ResourceType);
    return [{ type, logicalId, physicalId: isNumber ? Number(row.physical_id) : row.physical_id }];
  });
}

/** Plans an import; a preview is not stored. Throws 404 when there is nothing to import. */
export async function planImport(
  services: Services,
  project: ProjectRow,
  {
    filters,
    friends,
    preview,
  }: { filters: readonly Filter[]; friends: readonly Friend[]; preview: boolean },
): Promise<ImportPlanWire> {
  const accountId = project.account_id;
  return services.commits.run(async (db) => {
    // A preview reserves nothing, and waits for nobody.
    if (!preview) {
      await lockProject(db, accountId, project.logical_id, { takesOver: true });
      await requireProject(db, accountId, project.logical_id);
      await refuseMany(db, accountId);
    }
    const links = await linksOf(db, project);
    const unit: Reading = { services: { ...services, db }, accountId };
    const taken = await takenIn(db, accountId);
    refuseTaken(filters, taken);
    const found = await findResources(unit, filters, taken, links);
    if (found.length === 0) throw new ApiError('NOT_FOUND', nothingToImport);
    const planned = found.map(({ type, logicalId, linkedAs }) => ({ type, logicalId, linkedAs }));
    const row: PlanRow = {
      ...{ id: services.newId(), account_id: accountId, project_id: project.id },
      ...{ resources_json: JSON.stringify(planned), created_at: services.clock.now() },
      ...{ applied_at: null, committed_at: null },
    };
    if (!preview) await db.insertInto('import_plans').values(row).execute();
    const resources = found.map(({ wire }) => wire);
    const auxiliary = await snippetsOf(unit, found);
    return {
      ...planToWire(row),
      changes: { resources, friends: friendsOf(friends, links), auxiliary },
    };
  });
}

/** Changes a plan in its transaction. Throws 404. */
async function withPlan<T>(
  { commits }: Pick<Services, 'commits'>,
  accountId: string,
  id: string,
  change: (db: Db, row: PlanRow, planned: Planned[]) => Promise<T>,
): Promise<T> {
  return commits.run(async (db) => {
    const project = await db
      .selectFrom('import_plans')
      .innerJoin('projects', 'projects.id', 'import_plans.project_id')
      .select('projects.logical_id')
      .where('import_plans.account_id', '=', accountId)
      .where('import_plans.id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('import plan', id));
    await lockProject(db, accountId, project.logical_id, { takesOver: true });
    const row = await lockRows(
      ownRows(db, 'import_plans', accountId).where('id', '=', id),
    ).executeTakeFirstOrThrow(() => notFound('import plan', id));
    return change(db, row, fromJson<Planned[]>(row.resources_json));
  });
}

const outOfOrder = (problem: string): ApiError => new ApiError('CONFLICT', problem);

async function mark(
  db: Db,
  row: PlanRow,
  changes: { applied_at: number } | { committed_at: number },
): Promise<ImportPlanWire> {
  await updateOwnRows(db, 'import_plans', row.account_id)
    .set(changes)
    .where('id', '=', row.id)
    .execute();
  return planToWire({ ...row, ...changes });
}

/** The project owns what is planned, and deployments leave it alone. */
export function applyPlan(
  services: Services,
  { accountId, role }: Pick<ApiPrincipal, 'accountId' | 'role'>,
  id: string,
): Promise<ImportPlanWire> {
  return withPlan(services, accountId, id, async (db, row, planned) => {
    // A client that has not seen the answer asks again.
    if (row.applied_at !== null) return planToWire(row);
    const types = new Set(planned.map(({ type }) => type));
    // A deployment that does not list it deletes it, perhaps one of somebody who may.
    for (const kind of kinds) if (types.has(kind.type)) requireRole(kind, role);
    const links = await db
      .selectFrom('project_resources')
      .select(['project_id', 'type', 'logical_id', 'physical_id'])
      .where('account_id', '=', accountId)
      .execute();
    const taken = new Set(links.map((each) => `${each.type} ${each.physical_id}`));
    const named = new Set(
      links.flatMap((each) =>
        each.project_id === row.project_id ? [`${each.type} ${each.logical_id}`] : [],
      ),
    );
    const known = planned.find(({ type, logicalId }) => named.has(keyOf(type, logicalId)));
    if (known !== undefined) {
      const name = `${known.type} "${known.logicalId}"`;
      throw new ApiError('CONFLICT', `the project has another ${name}; cancel this plan`);
    }
    // What only connects others may do so in several projects.
    const isKind = new Set(kinds.map(({ type }) => type));
    const other = planned.find(
      ({ type, linkedAs }) => isKind.has(type) && taken.has(keyOf(type, linkedAs)),
    );
    if (other !== undefined) {
      const name = `${other.type} "${other.logicalId}"`;
      throw new ApiError('CONFLICT', `${name} belongs to a project already; cancel this plan`);
    }
    for (const { type, logicalId, linkedAs } of planned) {
      await db
        .insertInto('project_resources')
        .values({
          ...{ account_id: accountId, project_id: row.project_id, type, logical_id: logicalId },
          ...{ physical_id: linkedAs, is_uncommitted: 1 },
        })
        .execute();
    }
    return mark(db, row, { applied_at: services.clock.now() });
  });
}

/** Changes the links that a plan has made. */
async function linksOfPlan(db: Db, row: PlanRow, planned: readonly Planned[]): Promise<number[]> {
  const names = new Set(planned.map(({ type, logicalId }) => keyOf(type, logicalId)));
  const links = await db
    .selectFrom('project_resources')
    .select(['id', 'type', 'logical_id'])
    .where('account_id', '=', row.account_id)
    .where('project_id', '=', row.project_id)
    .where('is_uncommitted', '=', 1)
    .execute();
  return links.flatMap((each) =>
    names.has(keyOf(each.type as ResourceType, each.logical_id)) ? [each.id] : [],
  );
}

export function commitPlan(
  services: Services,
  accountId: string,
  id: string,
): Promise<ImportPlanWire> {
  return withPlan(services, accountId, id, async (db, row, planned) => {
    if (row.applied_at === null) throw outOfOrder('the import plan is not applied yet');
    if (row.committed_at !== null) return planToWire(row);
    for (const link of await linksOfPlan(db, row, planned)) {
      await updateOwnRows(db, 'project_resources', accountId)
        .set({ is_uncommitted: 0 })
        .where('id', '=', link)
        .execute();
    }
    return mark(db, row, { committed_at: services.clock.now() });
  });
}

export function cancelPlan(services: Services, accountId: string, id: string): Promise<void> {
  return withPlan(services, accountId, id, async (db, row, planned) => {
    if (row.committed_at !== null) throw outOfOrder('the import plan is committed already');
    await unlink(db, accountId, await linksOfPlan(db, row, planned));
    await deleteOwnRows(db, 'import_plans', accountId).where('id', '=', id).execute();
  });
}

export async function listPlans(
  db: Db,
  accountId: string,
  { onlyUnapplied, onlyUncommitted }: { onlyUnapplied: boolean; onlyUncommitted: boolean },
  project?: ProjectRow,
): Promise<ImportPlanWire[]> {
  let rows = ownRows(db, 'import_plans', accountId).orderBy('created_at').orderBy('id');
  if (project !== undefined) rows = rows.where('project_id', '=', project.id);
  if (onlyUnapplied) rows = rows.where('applied_at', 'is', null);
  if (onlyUncommitted) rows = rows.where('committed_at', 'is', null);
  return (await rows.execute()).map(planToWire);
}
