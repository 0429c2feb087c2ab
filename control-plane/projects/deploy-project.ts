/**
 * Makes what a project owns equal to what its files say, in one transaction: all of it or nothing.
 * What is equal already is not written.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  DiffEntry,
  ProjectBody,
  ProjectChange,
  ProjectResource,
  ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { unknownFields } from '@monitor/shared/known-fields.ts';
import { actorOf, recordAudit } from '../audit/index.ts';
import { dropSubscription, lockChecks } from '../checks/index.ts';
import { JoinedCommits } from '../db/after-commit.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import { ApiError, invalidField } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import { readingContext } from '../http/call-context.ts';
import { logicalIdsOf } from './export-account.ts';
import {
  type Fields,
  isEqual,
  type Kind,
  kinds,
  only,
  requireRole,
  type Stored,
  type Unit,
  without,
} from './kinds/index.ts';
import { hasNumericId, keyOf, References } from './references.ts';
import {
  isAssignment,
  nameOf,
  parseAssignment,
  parseSubscription,
  relationFields,
  slugOf,
  subscribe,
  subscriptionNamed,
  subscriptionsOf,
} from './relations.ts';
import {
  deleteProjectRow,
  findProject,
  link,
  type LinkRow,
  linksOf,
  lockProject,
  ownerOf,
  type ProjectRow,
  projectToWire,
  relink,
  noteCommit,
  saveProject,
  unlink,
} from './store.ts';

export interface DeployOptions {
  /** Does all of it and undoes it. */
  dryRun?: boolean;
  /** What the project no longer lists stays, and belongs to nobody. */
  preserveResources?: boolean;
  /** Whether new checks run at once. */
  scheduleOnDeploy?: boolean;
  /** Takes over what the account has under the name of a new resource, if no project owns it. */
  adopt?: boolean;
  /** Fields with a default that a payload leaves out get it, also those that existing clients do not know. */
  complete?: boolean;
  /** Of the client, for the audit log. */
  address?: string | null;
  /** Ends it, and undoes what it did. */
  signal?: AbortSignal;
  /** Fields of the body outside of its resources that are not kept. */
  ignored?: readonly string[];
  /** Called with a percentage. */
  onProgress?: (percent: number) => void;
  /** The last step of the transaction. */
  finish?: (db: Db, change: ProjectChange) => Promise<void>;
}

/** Others wait for the database meanwhile, but requests without it are answered. */
const resourcesPerTurn = 10;

/** Carries what a dry run found out of the transaction that it rolls back. */
class Undone extends Error {
  readonly change: ProjectChange;

  constructor(change: ProjectChange) {
    super('a dry run is rolled back');
    this.change = change;
  }
}

/** The same error with the resource that it is about. */
function named(error: unknown, type: ResourceType, logicalId: string): unknown {
  if (!(error instanceof ApiError)) return error;
  return new ApiError(error.code, `${type} "${logicalId}": ${error.message}`, error.attributes);
}

const wordOf: Readonly<Partial<Record<ResourceType, string>>> = {
  check: 'checks',
  'check-group': 'check-groups',
  'alert-channel': 'alert-channels',
  'alert-channel-subscription': 'alert-channels',
  'private-location': 'private-locations',
  'maintenance-window': 'maintenance-windows',
  dashboard: 'dashboards',
  'status-page': 'status-pages',
  variable: 'variables',
  snippet: 'snippets',
  'escalation-policy': 'escalation-policies',
  'status-page-service': 'status-pages',
};

/** The names of what changed, by what was done to it. */
function namesIn({ diff }: ProjectChange): Record<string, string[]> {
  const names = (wanted: DiffEntry['action']): string[] =>
    diff.flatMap(({ action, type, logicalId }) =>
      action === wanted ? [`${type} ${logicalId}`] : [],
    );
  const all = {
    ...{ created: names('CREATE'), updated: names('UPDATE') },
    ...{ deleted: names('DELETE'), detached: names('DETACHED') },
  };
  return Object.fromEntries(Object.entries(all).filter(([, each]) => each.length > 0));
}

/** The log of calls knows who asked for it; this is what was done, written with it or not at all. */
async function noteChange(
  { services, call, accountId }: Unit,
  { operation, logicalId }: ChangeOf,
  made: ProjectChange,
): Promise<void> {
  if (made.project === null || (made.diff.length === 0 && operation === 'deployProject')) return;
  const names = { name: made.project.name, ...namesIn(made) };
  await recordAudit(services, {
    ...{ accountId, actor: actorOf(call.principal), address: call.address, operation },
    ...{ outcome: 'DONE', resource: { type: 'projects', id: logicalId } },
    ...(operation === 'deployProject' ? { after: names } : { before: names }),
  });
}

interface ChangeOf {
  operation: 'deployProject' | 'deleteProject';
  logicalId: string;
}

/** Runs the change of a project in one transaction; nobody else changes the same project meanwhile. */
async function inOne(
  services: Services,
  principal: ApiPrincipal,
  of: ChangeOf,
  options: DeployOptions,
  change: (unit: Unit) => Promise<ProjectChange>,
): Promise<ProjectChange> {
  const { accountId } = principal;
  const work = async (db: Db) => {
    await lockProject(db, accountId, of.logicalId, { takesOver: options.adopt === true });
    const commits = new JoinedCommits(db);
    const joined = { ...services, db, commits };
    const { address = null } = options;
    const call = { ...readingContext(principal, services.clock.now()), address };
    const runsLater = options.scheduleOnDeploy === false;
    const unit = { services: joined, call, accountId, runsLater };
    const made = await change(unit);
    if (options.dryRun === true) throw new Undone(made);
    options.signal?.throwIfAborted();
    await noteChange(unit, of, made);
    await options.finish?.(db, made);
    return { made, steps: commits.steps };
  };
  try {
    const { made, steps } = await services.commits.run(work);
    services.commits.after(steps);
    const changed = new Set(made.diff.flatMap(({ type }) => wordOf[type] ?? []));
    if (changed.size > 0) services.afterDeployment.announce(accountId, changed);
    return made;
  } catch (error) {
    if (error instanceof Undone) return error.change;
    throw error;
  }
}

/** A resource that the project owns already. */
interface Known {
  known: LinkRow;
  before: Stored;
}

interface Change {
  body: Fields;
  payload: Fields;
  before: Fields;
  isComplete: boolean;
}

interface Asked {
  known: LinkRow | undefined;
  before: Stored | undefined;
  body: Record<string, unknown>;
  payload: Fields;
}

type Unowned = Map<string, { id: string; before: Stored }>;

/** The fields of a body to change: without those that a payload does not have and that stay as people set them. */
function changesFor(kind: Kind, { body, payload, before, isComplete }: Change): Fields {
  const { keptUnlessGiven = [], ofOperation = [], settle } = kind;
  const kept = isComplete ? ofOperation : keptUnlessGiven;
  const changes = without(
    body,
    kept.filter((name) => payload[name] === undefined),
  );
  return settle?.(changes, { stored: before, payload, isComplete }) ?? changes;
}

class Deployment {
  readonly #unit: Unit;
  readonly #options: DeployOptions;
  readonly #row: ProjectRow;
  readonly #links: Map<string, LinkRow>;
  readonly #known: readonly LinkRow[];
  readonly #total: number;
  #done = 0;
  readonly diff: DiffEntry[] = [];
  readonly warnings: string[] = [];
  /** What the account had when the first was taken over. */
  readonly #exported = new Map<ResourceType, Unowned>();
  /** What subscriptions of the project connect. */
  readonly #connected = new Set<string>();
  /** Made anew in another place. */
  readonly #replaced: { kind: Kind; logicalId: string; stored: Stored }[] = [];

  constructor(
    unit: Unit,
    options: DeployOptions,
    row: ProjectRow,
    links: LinkRow[],
    total: number,
  ) {
    this.#unit = unit;
    this.#options = options;
    this.#row = row;
    this.#total = total;
    this.#known = links;
    this.#links = new Map(
      links.map((each) => [keyOf(each.type as ResourceType, each.logical_id), each]),
    );
  }

  get #db(): Db {
    return this.#unit.services.db;
  }

  #note(
    type: ResourceType,
    logicalId: string,
    id: string | number,
    action: DiffEntry['action'],
  ): void {
    const physicalId = hasNumericId(type) ? Number(id) : String(id);
    this.diff.push({ logicalId, physicalId, type, action });
  }

  async #step(): Promise<void> {
    this.#options.signal?.throwIfAborted();
    this.#done += 1;
    if (this.#done % resourcesPerTurn !== 0) return;
    this.#options.onProgress?.(Math.min(99, Math.floor((this.#done / this.#total) * 100)));
    await nextTurn();
  }

  #requireRole(kind: Kind): void {
    requireRole(kind, this.#unit.call.principal.role);
  }

  /** Takes a resource out of what is left to delete; undefined when it is new. */
  #take(type: ResourceType, logicalId: string): LinkRow | undefined {
    const key = keyOf(type, logicalId);
    const known = this.#links.get(key);
    this.#links.delete(key);
    return known;
  }

  /** Remembers what the project only refers to. Refuses what the account does not have. */
  async refer(
    kind: Kind,
    resources: readonly ProjectResource[],
    references: References,
  ): Promise<void> {
    const ids = resources.flatMap(({ physicalId }) =>
      physicalId == null ? [] : [String(physicalId)],
    );
    const found = ids.length === 0 ? new Map<string, Stored>() : await kind.read(this.#unit, ids);
    for (const { logicalId, physicalId } of resources) {
      const stored = found.get(String(physicalId));
      if (stored === undefined) {
        const problem = `is ${physicalId ?? 'missing'}, which this account does not have`;
        throw named(invalidField('physicalId', problem), kind.type, logicalId);
      }
      const { slugName } = stored.fields;
      references.set(kind.type, logicalId, {
        physicalId: String(physicalId),
        ...(typeof slugName === 'string' && { slugName }),
      });
    }
  }

  /** Creates and changes the resources of a kind. */
  async save(
    kind: Kind,
    resources: readonly ProjectResource[],
    references: References,
    slugsOf: (logicalId: string) => readonly string[],
  ): Promise<void> {
    const { type } = kind;
    const links = resources.map(({ logicalId }) => this.#take(type, logicalId));
    const ids = links.flatMap((known) => known?.physical_id ?? []);
    const stored = ids.length === 0 ? new Map<string, Stored>() : await kind.read(this.#unit, ids);
    const hasNew = links.includes(undefined);
    const renamed = hasNew ? await this.#renamed(kind) : new Map();
    const unowned = hasNew && this.#options.adopt === true ? await this.#unowned(kind) : new Map();
    for (const [at, { logicalId, payload }] of resources.entries()) {
      try {
        references.ignored.length = 0;
        const given = without(payload ?? {}, kind.later);
        const body = kind.parse(given, references, slugsOf(logicalId));
        this.#warn(type, logicalId, references.ignored);
        const adopted =
          links[at] === undefined
            ? ((await this.#adopt(kind, logicalId, body, renamed)) ??
              (await this.#takeOver(kind, logicalId, unowned)))
            : null;
        const known = adopted?.known ?? links[at];
        const before = adopted?.before ?? stored.get(known?.physical_id ?? '');
        const physicalId = await this.#saveOne(kind, logicalId, {
          known,
          before,
          body,
          payload: payload ?? {},
        });
        const { slugName } = body;
        references.set(type, logicalId, {
          physicalId,
          ...(typeof slugName === 'string' && { slugName }),
        });
      } catch (error) {
        throw named(error, type, logicalId);
      }
      await this.#step();
    }
  }

  /** Sets fields that refer to kinds which are made after it. */
  async saveLater(
    kind: Kind,
    resources: readonly ProjectResource[],
    references: References,
  ): Promise<void> {
    const { type, later = [] } = kind;
    const isLater = (name: string) => later.includes(name.split('.')[0] ?? '');
    for (const { logicalId, payload } of resources) {
      if (payload == null || !Object.keys(payload).some(isLater)) continue;
      try {
        references.ignored.length = 0;
        const parsed = Object.entries(kind.parse(payload, references, []));
        this.#warn(type, logicalId, references.ignored.filter(isLater));
        const body = Object.fromEntries(parsed.filter(([name]) => isLater(name)));
        const { physicalId } = references.target({ ref: logicalId }, type, 'logicalId');
        const before = (await kind.read(this.#unit, [physicalId])).get(physicalId);
        if (before === undefined || isEqual(before.fields, body)) continue;
        this.#requireRole(kind);
        await kind.update(this.#unit, before, body);
        const isNoted = this.diff.some((one) => one.type === type && one.logicalId === logicalId);
        if (!isNoted) this.#note(type, logicalId, physicalId, 'UPDATE');
      } catch (error) {
        throw named(error, type, logicalId);
      }
    }
  }

  #warn(type: ResourceType, logicalId: string, paths: readonly string[]): void {
    const name = `${type} "${logicalId}"`;
    this.warnings.push(...paths.map((path) => `${name}: "${path}" is not kept`));
  }

  #warnOfRelation({ type, logicalId, payload }: ProjectResource): void {
    const unknown = unknownFields(relationFields, payload ?? {});
    this.#warn(
      ...[type, logicalId],
      unknown.map(({ path }) => path),
    );
  }

  /** What the project no longer lists of a kind, by its address. */
  async #renamed(kind: Kind): Promise<Map<string, Known>> {
    const { address } = kind;
    const left = [...this.#links.values()].filter(({ type }) => type === kind.type);
    if (address === undefined || left.length === 0) return new Map();
    const ids = left.map(({ physical_id: id }) => id);
    const stored = await kind.read(this.#unit, ids);
    return new Map(
      left.flatMap((known) => {
        const before = stored.get(known.physical_id);
        const name = before?.fields[address];
        return before === undefined || typeof name !== 'string'
          ? []
          : [[name.toLowerCase(), { known, before }]];
      }),
    );
  }

  async #adopt(
    { address = '', type }: Kind,
    logicalId: string,
    body: Record<string, unknown>,
    renamed: Map<string, Known>,
  ): Promise<Known | null> {
    const name = String(body[address]).toLowerCase();
    const found = renamed.get(name);
    if (found === undefined) return null;
    renamed.delete(name);
    this.#take(type, found.known.logical_id);
    await relink(this.#db, found.known, { logical_id: logicalId, is_uncommitted: 0 });
    return found;
  }

  /** What the account has of a kind, by the names that an export gives it. */
  async #unowned(kind: Kind): Promise<Unowned> {
    if (this.#exported.size === 0) {
      const names = new Map<string, string>();
      for (const each of kinds) {
        const stored = await each.read(this.#unit, null);
        const unowned: Unowned = new Map();
        for (const [id, logicalId] of logicalIdsOf(each, stored, this.#known, names)) {
          names.set(keyOf(each.type, id), logicalId);
          const before = stored.get(id);
          if (before !== undefined) unowned.set(logicalId, { id, before });
        }
        this.#exported.set(each.type, unowned);
      }
    }
    return this.#exported.get(kind.type) ?? new Map();
  }

  /** The project owns what is called so from now on. Refuses what belongs to another project. */
  async #takeOver(kind: Kind, logicalId: string, unowned: Unowned): Promise<Known | null> {
    const found = unowned.get(logicalId);
    if (found === undefined) return null;
    // A deployment that does not list it deletes it, perhaps one of somebody who may.
    this.#requireRole(kind);
    const { type } = kind;
    const owner = await ownerOf(this.#db, this.#row.account_id, type, found.id);
    if (owner !== undefined) {
      if (owner.id === this.#row.id) return null;
      throw new ApiError('CONFLICT', `it belongs to the project "${owner.name}" already`);
    }
    const known = await link(this.#db, this.#row, { type, logicalId, physicalId: found.id });
    return { known, before: found.before };
  }

  async #saveOne(
    kind: Kind,
    logicalId: string,
    { known, before, body, payload }: Asked,
  ): Promise<string> {
    const isOther = before !== undefined && kind.isOther?.(before.fields, body) === true;
    if (known !== undefined && before !== undefined && !isOther) {
      const isSame = kind.isSame ?? isEqual;
      const isComplete = this.#options.complete === true;
      const changes = changesFor(kind, { body, payload, before: before.fields, isComplete });
      if (isSame(before.fields, changes)) return known.physical_id;
      this.#requireRole(kind);
      await kind.update(this.#unit, before, changes);
      this.#note(kind.type, logicalId, known.physical_id, 'UPDATE');
      return known.physical_id;
    }
    this.#requireRole(kind);
    if (before !== undefined) this.#replaced.push({ kind, logicalId, stored: before });
    const { keptWhenReplaced = [] } = kind;
    const kept = keptWhenReplaced.filter((name) => payload[name] === undefined);
    const created = before === undefined ? body : { ...body, ...only(before.fields, kept) };
    const id = String(await kind.create(this.#unit, created));
    if (known === undefined) {
      await link(this.#db, this.#row, { type: kind.type, logicalId, physicalId: id });
    } else {
      await relink(this.#db, known, { physical_id: id });
    }
    this.#note(kind.type, logicalId, id, 'CREATE');
    return id;
  }

  async saveSubscriptions(
    resources: readonly ProjectResource[],
    references: References,
  ): Promise<void> {
    const type = 'alert-channel-subscription';
    const { accountId } = this.#unit;
    const asked = resources.map((each) => {
      const { logicalId, payload } = each;
      this.#warnOfRelation(each);
      try {
        return { logicalId, subscription: parseSubscription(payload ?? {}, references) };
      } catch (error) {
        throw named(error, type, logicalId);
      }
    });
    const channelIds = asked.map(({ subscription }) => subscription.channelId);
    const present = await subscriptionsOf(this.#db, accountId, channelIds);
    for (const { subscription } of asked) this.#connected.add(nameOf(subscription));
    for (const { logicalId, subscription } of asked) {
      const name = nameOf(subscription);
      const known = this.#take(type, logicalId);
      const isThere = present.get(name) === subscription.activated;
      if (!isThere) await subscribe(this.#db, accountId, subscription);
      const id = await this.#connect(type, logicalId, known, name);
      if (!isThere && id !== null) this.#note(type, logicalId, id, 'UPDATE');
      await this.#step();
    }
  }

  /** Links what only connects. Gives the id of a link that was there already; null of a new one. */
  async #connect(
    type: ResourceType,
    logicalId: string,
    known: LinkRow | undefined,
    name: string,
  ): Promise<number | null> {
    if (known?.physical_id === name) return known.id;
    if (known !== undefined) {
      // It connects others now.
      await this.#disconnect(known);
      await relink(this.#db, known, { physical_id: name });
      return known.id;
    }
    const { id } = await link(this.#db, this.#row, { type, logicalId, physicalId: name });
    this.#note(type, logicalId, id, 'CREATE');
    return null;
  }

  async #disconnect({ type, physical_id: name }: LinkRow): Promise<void> {
    // Under another name it is connected still.
    if (type !== 'alert-channel-subscription' || this.#connected.has(name)) return;
    await dropSubscription(this.#db, this.#unit.accountId, subscriptionNamed(name));
  }

  async saveAssignments(resources: readonly ProjectResource[]): Promise<void> {
    for (const each of resources) {
      const { type, logicalId } = each;
      this.#warnOfRelation(each);
      await this.#connect(type, logicalId, this.#take(type, logicalId), logicalId);
      await this.#step();
    }
  }

  /** Deletes, or lets go of, what the project owned and no longer lists. */
  async dropRest(): Promise<void> {
    const left = [...this.#links.values()].filter((each) => each.is_uncommitted === 0);
    const { preserveResources = false } = this.#options;
    const action = preserveResources ? 'DETACHED' : 'DELETE';
    const isKind = new Set<string>(kinds.map(({ type }) => type));
    for (const each of left.filter(({ type }) => !isKind.has(type))) {
      if (!preserveResources) await this.#disconnect(each);
      this.#note(each.type as ResourceType, each.logical_id, each.id, action);
    }
    for (const kind of kinds.toReversed()) {
      const rows = left.filter(({ type }) => type === kind.type);
      if (!preserveResources) await this.#remove(kind, rows);
      for (const { logical_id: logicalId, physical_id: id } of rows) {
        this.#note(kind.type, logicalId, id, action);
      }
    }
    await unlink(
      this.#db,
      this.#unit.accountId,
      left.map(({ id }) => id),
    );
  }

  async #remove(kind: Kind, rows: readonly LinkRow[]): Promise<void> {
    const ids = rows.map((row) => row.physical_id);
    const found = ids.length === 0 ? new Map<string, Stored>() : await kind.read(this.#unit, ids);
    const gone = [
      ...rows.map((row) => ({
        logicalId: row.logical_id,
        stored: found.get(row.physical_id),
      })),
      ...this.#replaced.filter((each) => each.kind === kind),
    ];
    for (const { logicalId, stored } of gone) {
      // Somebody has deleted it already.
      if (stored === undefined) continue;
      try {
        this.#requireRole(kind);
        await kind.remove(this.#unit, stored);
      } catch (error) {
        throw named(error, kind.type, logicalId);
      }
      await this.#step();
    }
  }
}

function refuseRepeats(resources: readonly ProjectResource[]): void {
  const seen = new Set<string>();
  for (const { type, logicalId } of resources) {
    const key = keyOf(type, logicalId);
    if (seen.has(key)) {
      throw named(invalidField('logicalId', 'is there twice'), type, logicalId);
    }
    seen.add(key);
  }
}

/** Checks are locked before anything that their changes lock, in the order of their ids. */
async function lockOwn(db: Db, links: readonly LinkRow[]): Promise<void> {
  const ids = links.flatMap((each) => (each.type === 'check' ? [each.physical_id] : []));
  await lockChecks(db, ids);
}

async function saveAll(
  unit: Unit,
  { project, resources, sharedFiles, repoInfo }: ProjectBody,
  options: DeployOptions,
): Promise<ProjectChange> {
  refuseRepeats(resources);
  const { db } = unit.services;
  const row = await saveProject(unit.services, unit.accountId, project);
  await noteCommit(unit.services, row, repoInfo ?? null);
  const links = await linksOf(db, row);
  await lockOwn(db, links);
  const deployment = new Deployment(unit, options, row, links, resources.length + links.length);
  const references = new References(sharedFiles);
  const own = Map.groupBy(
    resources.filter(({ member }) => member),
    ({ type }) => type,
  );
  const foreign = Map.groupBy(
    resources.filter(({ member }) => !member),
    ({ type }) => type,
  );
  const assignments = resources.filter((each) => each.member && isAssignment(each));
  const slugs = new Map<string, string[]>();
  for (const kind of kinds) {
    await deployment.refer(kind, foreign.get(kind.type) ?? [], references);
    const slugsOf = (logicalId: string) => slugs.get(keyOf(kind.type, logicalId)) ?? [];
    await deployment.save(kind, own.get(kind.type) ?? [], references, slugsOf);
    if (kind.type === 'private-location') {
      collectSlugs({ assignments, references, slugs, own, links });
    }
  }
  for (const kind of kinds) {
    await deployment.saveLater(kind, own.get(kind.type) ?? [], references);
  }
  await deployment.saveSubscriptions(own.get('alert-channel-subscription') ?? [], references);
  await deployment.saveAssignments(assignments);
  await deployment.dropRest();
  const outside = (options.ignored ?? []).map((path) => `"${path}" is not kept`);
  const warnings = [...outside, ...deployment.warnings];
  return {
    ...{ project: projectToWire(row), diff: deployment.diff },
    ...(warnings.length > 0 && { warnings }),
  };
}

/** Which private locations are assigned to each check and group, into `slugs`. */
function collectSlugs({
  assignments,
  references,
  slugs,
  own,
  links,
}: {
  assignments: readonly ProjectResource[];
  references: References;
  slugs: Map<string, string[]>;
  own: ReadonlyMap<ResourceType, readonly ProjectResource[]>;
  links: readonly LinkRow[];
}): void {
  const known = new Set(
    (['check', 'check-group'] as const).flatMap((type) =>
      (own.get(type) ?? []).map(({ logicalId }) => keyOf(type, logicalId)),
    ),
  );
  const byId = new Map(
    links.map((each) => [keyOf(each.type as ResourceType, each.physical_id), each.logical_id]),
  );
  for (const each of assignments) {
    try {
      const { type, logicalId } = parseAssignment(each, (of, id) => byId.get(keyOf(of, id)));
      const key = keyOf(type, logicalId);
      if (!known.has(key)) {
        const field = type === 'check' ? 'checkId' : 'groupId';
        const problem = `refers to the ${type} "${logicalId}", which the project does not hold`;
        throw invalidField(field, problem);
      }
      slugs.set(key, [...(slugs.get(key) ?? []), slugOf(each, references)]);
    } catch (error) {
      throw named(error, each.type, each.logicalId);
    }
  }
}

/**
 * Makes a project what its files say. Throws an ApiError that names the resource and the field; then
 * nothing is changed.
 */
export function deployProject(
  services: Services,
  principal: ApiPrincipal,
  body: ProjectBody,
  options: DeployOptions = {},
): Promise<ProjectChange> {
  const of: ChangeOf = { operation: 'deployProject', logicalId: body.project.logicalId };
  return inOne(services, principal, of, options, (unit) => saveAll(unit, body, options));
}

/** Deletes a project with what it owns, or without it. A project that does not exist is gone already. */
export function destroyProject(
  services: Services,
  principal: ApiPrincipal,
  logicalId: string,
  options: DeployOptions = {},
): Promise<ProjectChange> {
  const of: ChangeOf = { operation: 'deleteProject', logicalId };
  return inOne(services, principal, of, options, async (unit) => {
    const { db } = unit.services;
    const row = await findProject(db, unit.accountId, logicalId);
    if (row === undefined) return { project: null, diff: [] };
    const links = await linksOf(db, row);
    await lockOwn(db, links);
    const deployment = new Deployment(unit, options, row, links, links.length);
    await deployment.dropRest();
    await deleteProjectRow(db, row);
    return { project: projectToWire(row), diff: deployment.diff };
  });
}
