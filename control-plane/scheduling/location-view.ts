/**
 * What the agents of a location are to hold, as this process knows it: the agents, their checks and
 * the assignment. All polls share it; it is read again when a version of it changed.
 */
import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { groupsOf, type CheckRow } from '../checks/index.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import type { Database } from '../db/tables.ts';
import {
  maintenanceDay,
  scheduledMaintenance,
  type MaintenancePlan,
} from '../maintenance/index.ts';
import { needsAmong } from './check-needs.ts';
import type { Candidate, Needs } from './decide/assignment.ts';
import { Assignments } from './decide/assignments.ts';
import { mayNeedMore } from './decide/runtime-needs.ts';
import type { LocationVector, Place } from './serving-agents.ts';
import { publicKeysOf } from './private-locations/result-keys.ts';
import { SharedAssembly } from './shared-assembly.ts';

interface ViewParts {
  db: Kysely<Database>;
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

/** What an agent is to hold. */
export interface Holding {
  /** By check; a revision changes with everything that the agent must hear of the check. */
  revisions: ReadonlyMap<string, string>;
  /** Equal for equal revisions. */
  digest: string;
}

/** Ids of agents by why they are to hold something else. */
interface Changes {
  changed: ReadonlySet<string> | 'all';
  /** They only lost checks, to others. */
  relieved: ReadonlySet<string>;
}

const digestChars = 22;

function digestOf(revisions: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const id of [...revisions.keys()].sort()) hash.update(`${id} ${revisions.get(id)}\n`);
  return hash.digest('base64url').slice(0, digestChars);
}

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

function changedChecks(
  before: ReadonlyMap<string, LocatedCheck>,
  after: ReadonlyMap<string, LocatedCheck>,
): string[] {
  return [...after.values()]
    .filter(({ id, revision }) => before.get(id)?.revision !== revision)
    .map(({ id }) => id);
}

export class LocationView {
  readonly #parts: ViewParts;
  readonly #place: Place;
  readonly #assignments = new Assignments();
  readonly #assembly: SharedAssembly;
  readonly #holdings = new Map<string, Holding>();
  /** Of the checks; null before they were read. */
  #loaded: { version: string; runtimeId: string | null } | null = null;
  #members: ReadonlyMap<string, Candidate> = new Map();
  #checks: ReadonlyMap<string, LocatedCheck> = new Map();
  #plan: MaintenancePlan = { day: Number.NaN, of: () => ({ pauses: [], key: '' }) };
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
      const revisions = new Map<string, string>();
      for (const id of this.#assignments.checksOf(agentId)) {
        const revision = this.#checks.get(id)?.revision ?? 0;
        revisions.set(id, `${revision} ${this.#shared} ${this.#plan.of(id).key}`);
      }
      holding = { revisions, digest: digestOf(revisions) };
      this.#holdings.set(agentId, holding);
    }
    return holding;
  }

  /** Reads what changed in the database; gives the ids of agents that are to hold something else than before. */
  async refresh(vector: LocationVector, members: ReadonlyMap<string, Candidate>): Promise<Changes> {
    const version = `${vector.accountVersion}.${vector.environmentRevision}.${vector.version}`;
    const isCurrent =
      this.#loaded?.version === version && this.#loaded.runtimeId === vector.runtimeId;
    const touched =
      isCurrent && !this.isOutdated() ? new Set<string>() : await this.#read(version, vector);
    this.#members = this.resultKeys.length === 0 ? members : withoutPlain(members);
    this.epoch = vector.epoch;
    this.version = `${version}.${vector.epoch}`;
    const moves = this.#assignments.update(this.#members, this.#checks);
    if (touched === 'all') {
      this.#holdings.clear();
      return { changed: 'all', relieved: new Set() };
    }
    const changed = new Set([...touched, ...moves.changed]);
    const relieved = new Set([...moves.relieved].filter((id) => !touched.has(id)));
    for (const agentId of [...changed, ...relieved]) this.#holdings.delete(agentId);
    return { changed, relieved };
  }

  async #read(
    version: string,
    { environmentRevision, runtimeId }: LocationVector,
  ): Promise<Set<string> | 'all'> {
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
    this.#loaded = { version, runtimeId };
    return isAll ? 'all' : this.#holdersOf(changedChecks(before, checks));
  }

  /** Agents that hold any of these checks. */
  #holdersOf(checkIds: readonly string[]): Set<string> {
    const wanted = new Set(checkIds);
    if (wanted.size === 0) return wanted;
    const holds = (agentId: string): boolean =>
      [...this.#assignments.checksOf(agentId)].some((id) => wanted.has(id));
    return new Set([...this.#members.keys()].filter(holds));
  }

  /** The active checks. What a check needs is read only for new revisions. */
  async #readChecks(
    runtimeId: string | null,
    known: ReadonlyMap<string, LocatedCheck>,
  ): Promise<ReadonlyMap<string, LocatedCheck>> {
    const { db } = this.#parts;
    const { accountId, location } = this.#place;
    const rows = await db
      .selectFrom('checks')
      .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
      .innerJoin('schedule_periods', (join) =>
        join
          .onRef('schedule_periods.check_id', '=', 'checks.id')
          .on('schedule_periods.ends_at', 'is', null),
      )
      .select(['checks.id', 'checks.revision', 'checks.type'])
      .where('checks.account_id', '=', accountId)
      .where('check_locations.account_id', '=', accountId)
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
