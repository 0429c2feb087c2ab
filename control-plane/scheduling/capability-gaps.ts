import type { Db } from '../db/tables.ts';
import { gapOf, type Candidate, type Needs } from './decide/assignment.ts';
import { findCheck } from '../checks/index.ts';
import { candidateFromRow, needsOfChecks } from './check-needs.ts';

/** Checks that no agent of a location can run, and the missing capability; read once per location. */
export class CapabilityGaps {
  readonly #db: Db;
  readonly #needs = new Map<string, Needs | null>();
  readonly #agents = new Map<string, Candidate[]>();

  constructor(db: Db) {
    this.#db = db;
  }

  async gapOf(accountId: string, checkId: string, location: string) {
    const needs = await this.#needsOf(accountId, checkId);
    return needs === null ? null : gapOf(needs, await this.#agentsOf(accountId, location));
  }

  async #needsOf(accountId: string, checkId: string): Promise<Needs | null> {
    const known = this.#needs.get(checkId);
    if (known !== undefined) return known;
    const row = await findCheck(this.#db, accountId, checkId);
    const needs =
      row === undefined
        ? null
        : ((await needsOfChecks(this.#db, accountId, [row])).get(checkId) ?? null);
    this.#needs.set(checkId, needs);
    return needs;
  }

  async #agentsOf(accountId: string, location: string): Promise<Candidate[]> {
    const key = `${accountId}/${location}`;
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const rows = await this.#db
      .selectFrom('agents')
      .select(['id', 'capacity_light', 'capabilities_json'])
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('gone_at', 'is', null)
      .execute();
    const agents = rows.map(candidateFromRow);
    this.#agents.set(key, agents);
    return agents;
  }
}
