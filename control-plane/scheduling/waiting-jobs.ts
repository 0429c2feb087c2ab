/**
 * The waiting jobs of a location and the cancelled ones, shared by all polls: while there are none, a
 * poll asks the database nothing.
 */
import { eachOf, unindexed } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import { needsOfChecks } from './check-needs.ts';
import { agentsFor, type Candidate, type Needs } from './decide/assignment.ts';
import { keyOfNeeds } from './decide/assignments.ts';
import { cancelledOpenRuns } from './open-runs.ts';
import type { LocatedCheck } from './location-view.ts';
import { openShards, type OpenShard } from './run-shards.ts';
import type { Place } from './serving-agents.ts';

interface WaitingJob {
  id: string;
  expiresAt: number;
  needs: Needs;
}

interface WaitingShard extends WaitingJob {
  runId: string;
}

export class WaitingJobs {
  #jobs: WaitingJob[] = [];
  #shards: WaitingShard[] = [];
  #cancelled: ReadonlyMap<string, readonly string[]> = new Map();
  /** When the first lease of an agent ends, unless it is renewed. */
  #firstLeaseEnd = Number.POSITIVE_INFINITY;
  /** Ids of the agents that share a check with these needs, for the present agents. */
  #able = new Map<string, ReadonlySet<string>>();
  #members: ReadonlyMap<string, Candidate> = new Map();

  get isEmpty(): boolean {
    return this.count === 0;
  }

  get count(): number {
    return this.#jobs.length + this.#shards.length;
  }

  /** True when a lease ended since the jobs were read. */
  isOutdated(now: number): boolean {
    return this.#firstLeaseEnd <= now;
  }

  /** Ids of cancelled runs that an agent has a lease for, or reported. */
  cancelledOf(agentId: string): readonly string[] {
    return this.#cancelled.get(agentId) ?? [];
  }

  get agentsWithCancelled(): Iterable<string> {
    return this.#cancelled.keys();
  }

  /** Reads the jobs again. */
  async read(
    db: Db,
    place: Place,
    checks: ReadonlyMap<string, LocatedCheck>,
    now: number,
  ): Promise<void> {
    const { accountId, location } = place;
    const rows = await db
      .selectFrom('jobs')
      .select(['id', 'run_id', 'check_id', 'agent_id', 'lease_until', 'expires_at'])
      .select('cancel_requested_at')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .orderBy('not_before')
      .orderBy('id')
      .execute();
    const shards = await openShards(db, place);
    const isLeased = (row: Pick<OpenShard, 'agent_id' | 'lease_until'>): boolean =>
      row.agent_id !== null && (row.lease_until ?? 0) > now;
    const waiting = rows.filter((row) => row.cancel_requested_at === null && !isLeased(row));
    const needsOf = await this.#needsOf(db, accountId, checks, [
      ...new Set(waiting.map((row) => row.check_id)),
    ]);
    this.#jobs = waiting.flatMap(({ id, check_id: checkId, expires_at: expiresAt }) => {
      const needs = needsOf(checkId);
      return needs === undefined ? [] : [{ id, expiresAt, needs }];
    });
    this.#shards = await this.#waitingAmong(
      db,
      accountId,
      shards.filter((row) => row.cancel_requested_at === null && !isLeased(row)),
    );
    const all = [...rows, ...shards];
    this.#firstLeaseEnd = all
      .filter(isLeased)
      .reduce((end, row) => Math.min(end, row.lease_until ?? end), Number.POSITIVE_INFINITY);
    const cancelled = await cancelledOpenRuns(db, place);
    for (const { agent_id: agentId, run_id: runId, ...row } of all) {
      if (row.cancel_requested_at === null || agentId === null) continue;
      const ofAgent = cancelled.get(agentId) ?? [];
      if (!ofAgent.includes(runId)) cancelled.set(agentId, [...ofAgent, runId]);
    }
    this.#cancelled = cancelled;
  }

  /** Those whose check is as it was when they were made. */
  async #waitingAmong(
    db: Db,
    accountId: string,
    shards: readonly OpenShard[],
  ): Promise<WaitingShard[]> {
    if (shards.length === 0) return [];
    const checks = await db
      .selectFrom('checks')
      .selectAll()
      .where(unindexed<string>('account_id'), '=', accountId)
      .where('id', 'in', eachOf([...new Set(shards.map((row) => row.check_id))]))
      .execute();
    const needs = await needsOfChecks(db, accountId, checks);
    const revisions = new Map(checks.map((check) => [check.id, check.revision]));
    return shards.flatMap(({ id, run_id: runId, expires_at: expiresAt, ...row }) => {
      const ofCheck = needs.get(row.check_id);
      if (ofCheck === undefined || revisions.get(row.check_id) !== row.check_revision) return [];
      return [{ id, runId, expiresAt, needs: ofCheck }];
    });
  }

  /** Checks of other locations, whose runs continue here, are not among those of the view. */
  async #needsOf(
    db: Db,
    accountId: string,
    checks: ReadonlyMap<string, LocatedCheck>,
    checkIds: readonly string[],
  ): Promise<(checkId: string) => Needs | undefined> {
    const others = checkIds.filter((id) => !checks.has(id));
    if (others.length === 0) return (id) => checks.get(id)?.needs;
    const rows = await db
      .selectFrom('checks')
      .selectAll()
      .where(unindexed<string>('account_id'), '=', accountId)
      .where('id', 'in', eachOf(others))
      .execute();
    const needs = await needsOfChecks(db, accountId, rows);
    return (id) => checks.get(id)?.needs ?? needs.get(id);
  }

  /** Ids of at most so many jobs that this agent may take, the first ones first. */
  offersTo(
    agentId: string,
    members: ReadonlyMap<string, Candidate>,
    { now, most }: { now: number; most: number },
  ): string[] {
    this.#follow(members);
    const found: string[] = [];
    for (const { id, expiresAt, needs } of this.#jobs) {
      if (found.length === most) break;
      if (expiresAt > now && this.#isAble(agentId, needs)) found.push(id);
    }
    return found;
  }

  /**
   * Ids of the shards that this agent may take: as many as it has room for, and one of each run, since the
   * others are there to share it. `without` are offered to others.
   */
  shardsFor(
    agentId: string,
    members: ReadonlyMap<string, Candidate>,
    { now, room, without }: { now: number; room: number; without?: ReadonlySet<string> },
  ): string[] {
    if (this.#shards.length === 0 || members.get(agentId)?.runsShards !== true) return [];
    this.#follow(members);
    const found = new Map<string, string>();
    for (const { id, runId, expiresAt, needs } of this.#shards) {
      if (found.size >= room) break;
      if (found.has(runId) || without?.has(id) === true || expiresAt <= now) continue;
      if (this.#isAble(agentId, needs)) found.set(runId, id);
    }
    return [...found.values()];
  }

  #follow(members: ReadonlyMap<string, Candidate>): void {
    if (this.#members === members) return;
    this.#members = members;
    this.#able = new Map();
  }

  #isAble(agentId: string, needs: Needs): boolean {
    const key = keyOfNeeds(needs);
    let able = this.#able.get(key);
    if (able === undefined) {
      able = new Set(agentsFor(needs, [...this.#members.values()]).map(({ id }) => id));
      this.#able.set(key, able);
    }
    return able.has(agentId);
  }

  /** Forgets jobs that an agent takes now. */
  remove(jobIds: readonly string[]): void {
    const taken = new Set(jobIds);
    this.#jobs = this.#jobs.filter(({ id }) => !taken.has(id));
    this.#shards = this.#shards.filter(({ id }) => !taken.has(id));
  }
}
