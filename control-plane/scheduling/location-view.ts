/**
 * What the agents of a location are to hold, as this process knows it: the agents, their checks and
 * the assignment. All polls share it; it is read again when a version of it changed.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { groupsOf, type CheckRow } from '../checks/index.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import {
  maintenanceDay,
  type MaintenancePlan,
  noMaintenance,
  scheduledMaintenance,
} from '../maintenance/index.ts';
import { needsAmong } from './check-needs.ts';
import type { Candidate, Needs } from './decide/assignment.ts';
import { Assignments } from './decide/assignments.ts';
import { mayNeedMore } from './decide/runtime-needs.ts';
import { Holding } from './holding.ts';
import type { LocationVector, Place } from './serving-agents.ts';
import { publicKeysOf } from './private-locations/result-keys.ts';
import { SharedAssembly } from './shared-assembly.ts';

interface ViewParts {
  db: Db;
  clock: Pick<Clock, 'now'>;
  secrets: SecretCipher;
}

/** A check that is assigned to some agent of the location. */
export interface LocatedCheck {
  id: string;
  revision: number;
  needs: Needs;
  /** False also while nobody asked. */
  hasRun: boolean;
}

/** Ids of agents by why they are to hold something else. */
interface Changes {
  changed: ReadonlySet<string> | 'all';
  /** They only lost checks, to others. */
  relieved: ReadonlySet<string>;
}

/** The checks whose change alone made each version of the location, as far as this process heard of them. */
export type KnownChanges = ReadonlyMap<number, string>;

const versionOf = ({ accountVersion, environmentRevision, version }: LocationVector): string =>
  `${accountVersion}.${environmentRevision}.${version}`;

const noTypes: ReadonlySet<string> = new Set();

/** Agents that cannot encrypt results are to run nothing here. */
function withoutPlain(members: ReadonlyMap<string, Candidate>): ReadonlyMap<string, Candidate> {
  return new Map(
    [...members].map(([id, one]) => [
      id,
      one.encryptsResults ? one : { ...one, checkTypes: noTypes },
    ]),
  );
}

/** Ids of checks that are new, gone or have another revision. */
function changedChecks(
  before: ReadonlyMap<string, LocatedCheck>,
  after: ReadonlyMap<string, LocatedCheck>,
): string[] {
  const ids = new Set([...before.keys(), ...after.keys()]);
  return [...ids].filter((id) => before.get(id)?.revision !== after.get(id)?.revision);
}

/** Most checks that are read one by one rather than all. */
const maxSingleReads = 500;

export class LocationView {
  readonly #parts: ViewParts;
  readonly #place: Place;
  readonly #assignments = new Assignments();
  readonly #assembly: SharedAssembly;
  readonly #holdings = new Map<string, Holding>();
  /** Of the checks; null before they were read. */
  #loaded: LocationVector | null = null;
  #members: ReadonlyMap<string, Candidate> = new Map();
  #checks = new Map<string, LocatedCheck>();
  #plan: MaintenancePlan = noMaintenance;
  #keyIds: ReadonlySet<string> = new Set();
  /** Part of every revision. */
  #shared = '';
  proxyUrl: string | null = null;
  /** Public keys for results. */
  resultKeys: readonly string[] = [];
  /** Of the set of agents and of the checks; part of every snapshot. */
  version = '';
  epoch = 0;

  constructor(parts: ViewParts, place: Place) {
    this.#parts = parts;
    this.#place = place;
    this.#assembly = new SharedAssembly(parts, place);
  }

  get members(): ReadonlyMap<string, Candidate> {
    return this.#members;
  }

  get checks(): ReadonlyMap<string, LocatedCheck> {
    return this.#checks;
  }

  /** False once a key was revoked. */
  hasKey(keyId: string): boolean {
    return this.#keyIds.has(keyId);
  }

  /** These checks for agents of the location. Throws when a secret cannot be decrypted. */
  async assemble(checkIds: readonly string[]): Promise<AssignedCheck[]> {
    const checks = await this.#assembly.assemble(checkIds, this.proxyUrl);
    return checks.map((check) => ({ ...check, pauses: this.#plan.of(check.id).pauses }));
  }

  /** Checks of an agent that may never have run on their present schedule. */
  withoutRun(agentId: string): LocatedCheck[] {
    return [...this.#assignments.checksOf(agentId)].flatMap((id) => {
      const check = this.#checks.get(id);
      return check?.hasRun === false ? [check] : [];
    });
  }

  /** True when nothing changed but time, and a new day begins. */
  isOutdated(): boolean {
    return this.#plan.day !== maintenanceDay(this.#place.accountId, this.#parts.clock.now());
  }

  /** What an agent is to hold now. */
  holdingOf(agentId: string): Holding {
    let holding = this.#holdings.get(agentId);
    if (holding === undefined) {
      const ids = [...this.#assignments.checksOf(agentId)];
      holding = new Holding(ids.map((id) => [id, this.#revisionOf(id) ?? ''] as const));
      this.#holdings.set(agentId, holding);
    }
    return holding;
  }

  #revisionOf(checkId: string): string | undefined {
    const check = this.#checks.get(checkId);
    if (check === undefined) return undefined;
    return `${check.revision} ${this.#shared} ${this.#plan.of(checkId).key}`;
  }

  /**
   * Reads what changed in the database; gives the ids of agents that are to hold something else than before.
   * Where all versions since the last time are known changes of single checks, only these checks are read.
   */
  async refresh(
    vector: LocationVector,
    members: ReadonlyMap<string, Candidate>,
    known: KnownChanges,
  ): Promise<Changes> {
    const changes = await this.#readChanges(vector, known);
    this.#members = this.resultKeys.length === 0 ? members : withoutPlain(members);
    this.epoch = vector.epoch;
    this.version = `${versionOf(vector)}.${vector.epoch}`;
    if (changes === 'all') {
      this.#assignments.update(this.#members, this.#checks);
      this.#holdings.clear();
      return { changed: 'all', relieved: new Set() };
    }
    const touched = new Set(changes.flatMap((id) => this.#assignments.agentOf(id) ?? []));
    const moves = this.#assignments.update(this.#members, this.#checks, changes);
    for (const agentId of this.#holdings.keys()) {
      if (!this.#members.has(agentId)) this.#holdings.delete(agentId);
    }
    for (const { checkId, from, to } of moves.moved) {
      this.#holdings.get(from ?? '')?.change(checkId, undefined);
      this.#holdings.get(to ?? '')?.change(checkId, this.#revisionOf(checkId));
    }
    for (const id of changes) {
      const holding = this.#holdings.get(this.#assignments.agentOf(id) ?? '');
      holding?.change(id, this.#revisionOf(id));
    }
    return {
      changed: new Set([...touched, ...moves.changed]),
      relieved: new Set([...moves.relieved].filter((id) => !touched.has(id))),
    };
  }

  /** Ids of the checks that changed, or all when what they share did. */
  async #readChanges(vector: LocationVector, known: KnownChanges): Promise<string[] | 'all'> {
    const ids = this.#changedSince(vector, known);
    const changes =
      ids === null ? await this.#readAll(vector) : await this.#readSingly(ids, vector);
    this.#loaded = vector;
    return changes;
  }

  /** The checks that changed since the last read; null when more may have. */
  #changedSince(vector: LocationVector, known: KnownChanges): string[] | null {
    const loaded = this.#loaded;
    if (
      loaded === null ||
      this.isOutdated() ||
      loaded.accountVersion !== vector.accountVersion ||
      loaded.environmentRevision !== vector.environmentRevision ||
      loaded.runtimeId !== vector.runtimeId ||
      vector.version - loaded.version > maxSingleReads ||
      // A database that lost its last commits counts them again.
      vector.version < loaded.version
    ) {
      return null;
    }
    const ids = new Set<string>();
    for (let version = loaded.version + 1; version <= vector.version; version += 1) {
      const id = known.get(version);
      if (id === undefined) return null;
      ids.add(id);
    }
    return [...ids];
  }

  async #readSingly(ids: string[], { runtimeId }: LocationVector): Promise<string[]> {
    if (ids.length === 0) return ids;
    const checks = await this.#readChecks(runtimeId, this.#checks, ids);
    await this.#plan.selectAgain(this.#parts.db, ids);
    for (const id of ids) {
      const check = checks.get(id);
      if (check === undefined) this.#checks.delete(id);
      else this.#checks.set(id, check);
    }
    return ids;
  }

  async #readAll({ environmentRevision, runtimeId }: LocationVector): Promise<string[] | 'all'> {
    const { db, clock } = this.#parts;
    const { accountId } = this.#place;
    const before = this.#checks;
    const isSameRuntime = this.#loaded?.runtimeId === runtimeId;
    const checks = await this.#readChecks(runtimeId, isSameRuntime ? before : new Map());
    const keyIds = await this.#readKeys();
    const isKeyGone = [...this.#keyIds].some((id) => !keyIds.has(id));
    this.#keyIds = keyIds;
    const plan = await scheduledMaintenance(db, accountId, clock.now());
    const { proxyUrl, resultKeys } = await this.#readLocation();
    const shared = `${environmentRevision} ${proxyUrl ?? ''} ${resultKeys.join()}`;
    const isPlanSame = [...checks.keys()].every((id) => this.#plan.of(id).key === plan.of(id).key);
    const isAll = this.#loaded === null || shared !== this.#shared || !isPlanSame || isKeyGone;
    this.#checks = checks;
    this.#plan = plan;
    this.proxyUrl = proxyUrl;
    this.resultKeys = resultKeys;
    this.#shared = shared;
    return isAll ? 'all' : changedChecks(before, checks);
  }

  /** The active checks, or those with the given ids. What a check needs is read only for new revisions. */
  async #readChecks(
    runtimeId: string | null,
    known: ReadonlyMap<string, LocatedCheck>,
    ids: readonly string[] | null = null,
  ): Promise<Map<string, LocatedCheck>> {
    const { db } = this.#parts;
    const { accountId, location } = this.#place;
    const active = db
      .selectFrom('checks')
      .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
      .innerJoin('schedule_periods', (join) =>
        join
          .onRef('schedule_periods.check_id', '=', 'checks.id')
          .on('schedule_periods.ends_at', 'is', null),
      )
      .select(['checks.id', 'checks.revision', 'checks.type']);
    const rows = await (
      ids === null
        ? active
            .where('checks.account_id', '=', accountId)
            .where('check_locations.account_id', '=', accountId)
        : active
            .where(unindexed<string>('checks.account_id'), '=', accountId)
            .where('checks.id', 'in', eachOf(ids))
    )
      .where('check_locations.location', '=', location)
      .execute();
    const isKnown = ({ id, revision }: { id: string; revision: number }): boolean =>
      known.get(id)?.revision === revision;
    const unread = rows.filter((row) => mayNeedMore(row.type) && !isKnown(row));
    const needs = await this.#needsOf(
      unread.map(({ id }) => id),
      runtimeId,
    );
    return new Map(
      rows.map(({ id, revision, type }) => [
        id,
        {
          ...{ id, revision },
          hasRun: isKnown({ id, revision }) && known.get(id)?.hasRun === true,
          needs: (isKnown({ id, revision }) ? known.get(id)?.needs : needs.get(id)) ?? {
            ...{ type, needsRuntime: false, runtimeId: null, needsBrowser: false },
          },
        },
      ]),
    );
  }

  async #needsOf(
    checkIds: readonly string[],
    runtimeId: string | null,
  ): Promise<Map<string, Needs>> {
    if (checkIds.length === 0) return new Map();
    const { db } = this.#parts;
    const { accountId } = this.#place;
    const rows: CheckRow[] = await db
      .selectFrom('checks')
      .selectAll()
      .where(unindexed<string>('account_id'), '=', accountId)
      .where('id', 'in', eachOf(checkIds))
      .execute();
    const groups = await groupsOf(db, accountId, rows);
    return new Map(rows.map((row) => [row.id, needsAmong(row, groups, runtimeId)]));
  }

  async #readKeys(): Promise<ReadonlySet<string>> {
    const { accountId, location } = this.#place;
    const rows = await this.#parts.db
      .selectFrom('location_keys')
      .select('id')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('revoked_at', 'is', null)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async #readLocation(): Promise<{ proxyUrl: string | null; resultKeys: readonly string[] }> {
    const { accountId, location } = this.#place;
    const row = await this.#parts.db
      .selectFrom('private_locations')
      .select(['proxy_url', 'result_keys_json'])
      .where('account_id', '=', accountId)
      .where('slug_name', '=', location)
      .executeTakeFirst();
    // Data-center locations have neither.
    if (row === undefined) return { proxyUrl: null, resultKeys: [] };
    const { proxy_url: proxy, result_keys_json: keys } = row;
    const proxyUrl = proxy === null ? null : this.#parts.secrets.decryptStored(proxy, accountId);
    return { proxyUrl, resultKeys: publicKeysOf(keys) };
  }
}
