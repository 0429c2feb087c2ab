/**
 * The assignment of all checks of a location, kept up to date: a change costs what it moves. Who
 * gets a check is decided by `decide/assignment.ts`.
 */
import { hash32 } from '@monitor/shared/domain/hash.ts';
import { agentsFor, bestAgent, type Candidate, type Needs } from './assignment.ts';

export interface AssignableCheck {
  id: string;
  needs: Needs;
}

interface KnownCheck {
  /** Of its id. */
  hash: number;
  agentId: string | undefined;
}

/** An agent with the hash of its id. */
interface HashedAgent extends Candidate {
  hash: number;
}

/** Checks that need the same capabilities share their agents. */
interface NeedsClass {
  needs: Needs;
  agents: readonly HashedAgent[];
  checks: Map<string, KnownCheck>;
}

const nothing: ReadonlySet<string> = new Set();

/** A check that another agent is to hold; undefined for none. */
export interface Move {
  checkId: string;
  from: string | undefined;
  to: string | undefined;
}

/** Ids of agents that hold other checks than before. */
export interface Moves {
  moved: Move[];
  /** They gained a check, or lost one that nobody took over. */
  changed: Set<string>;
  /** They only lost checks, to others. */
  relieved: Set<string>;
}

export function keyOfNeeds({ type, needsRuntime, runtimeId, needsBrowser }: Needs): string {
  return `${type} ${needsRuntime ? 1 : 0} ${runtimeId ?? ''} ${needsBrowser ? 1 : 0}`;
}

export class Assignments {
  readonly #classes = new Map<string, NeedsClass>();
  /** The class of each check. */
  readonly #classOf = new Map<string, string>();
  readonly #checksOf = new Map<string, Set<string>>();
  #hashes: ReadonlyMap<string, number> = new Map();

  /** Ids of the checks that an agent is assigned. */
  checksOf(agentId: string): ReadonlySet<string> {
    return this.#checksOf.get(agentId) ?? nothing;
  }

  /** The agent that a check is assigned to. */
  agentOf(checkId: string): string | undefined {
    return this.#classes.get(this.#classOf.get(checkId) ?? '')?.checks.get(checkId)?.agentId;
  }

  /** Follows the present agents and checks, of which only those with the given ids may have changed. */
  update(
    members: ReadonlyMap<string, Candidate>,
    checks: ReadonlyMap<string, AssignableCheck>,
    changedIds: Iterable<string> | null = null,
  ): Moves {
    const moves: Moves = { moved: [], changed: new Set(), relieved: new Set() };
    const ids = changedIds ?? new Set([...this.#classOf.keys(), ...checks.keys()]);
    const fresh = this.#followChecks(checks, ids, moves);
    this.#hashes = new Map(
      [...members.keys()].map((id) => [id, this.#hashes.get(id) ?? hash32(id)]),
    );
    const hashed = [...members.values()].map((agent) => ({
      ...agent,
      hash: this.#hashes.get(agent.id) ?? 0,
    }));
    for (const [key, of] of this.#classes) {
      if (of.checks.size === 0) this.#classes.delete(key);
      else this.#followAgents(of, agentsFor(of.needs, hashed), fresh, moves);
    }
    for (const agentId of moves.changed) moves.relieved.delete(agentId);
    return moves;
  }

  /** Forgets those of these checks that are gone, and gives the new ones, which have no agent yet. */
  #followChecks(
    checks: ReadonlyMap<string, AssignableCheck>,
    ids: Iterable<string>,
    moves: Moves,
  ): Set<string> {
    const fresh = new Set<string>();
    for (const id of ids) {
      const check = checks.get(id);
      const before = this.#classOf.get(id);
      const key = check === undefined ? undefined : keyOfNeeds(check.needs);
      if (key === before) continue;
      if (before !== undefined) {
        const of = this.#classes.get(before);
        const known = of?.checks.get(id);
        if (known !== undefined) this.#assign(id, known, undefined, moves);
        of?.checks.delete(id);
        this.#classOf.delete(id);
      }
      if (check === undefined || key === undefined) continue;
      let of = this.#classes.get(key);
      if (of === undefined) {
        of = { needs: check.needs, agents: [], checks: new Map() };
        this.#classes.set(key, of);
      }
      of.checks.set(id, { hash: hash32(id), agentId: undefined });
      this.#classOf.set(id, key);
      fresh.add(id);
    }
    return fresh;
  }

  /** Only agents that came can take a check from the agent that has it, unless that one left. */
  #followAgents(
    of: NeedsClass,
    agents: readonly HashedAgent[],
    fresh: ReadonlySet<string>,
    moves: Moves,
  ): void {
    const before = new Map(of.agents.map((agent) => [agent.id, agent]));
    const after = new Map(agents.map((agent) => [agent.id, agent]));
    const isSame = (agent: HashedAgent): boolean => before.get(agent.id)?.weight === agent.weight;
    const came = agents.filter((agent) => !isSame(agent));
    of.agents = agents;
    const hasLost = [...before.values()].some(({ id, weight }) => after.get(id)?.weight !== weight);
    const areAgentsSame = came.length === 0 && !hasLost;
    for (const id of areAgentsSame ? fresh : of.checks.keys()) {
      const known = of.checks.get(id);
      if (known === undefined) continue;
      const holder = known.agentId === undefined ? undefined : after.get(known.agentId);
      const keeps = holder !== undefined && isSame(holder);
      if (keeps && came.length === 0) continue;
      const best = bestAgent(known.hash, keeps ? [holder, ...came] : agents);
      this.#assign(id, known, best?.id, moves);
    }
  }

  #assign(id: string, known: KnownCheck, agentId: string | undefined, moves: Moves): void {
    if (known.agentId === agentId) return;
    moves.moved.push({ checkId: id, from: known.agentId, to: agentId });
    if (known.agentId !== undefined) {
      const held = this.#checksOf.get(known.agentId);
      held?.delete(id);
      if (held?.size === 0) this.#checksOf.delete(known.agentId);
      (agentId === undefined ? moves.changed : moves.relieved).add(known.agentId);
    }
    known.agentId = agentId;
    if (agentId === undefined) return;
    const held = this.#checksOf.get(agentId) ?? new Set();
    held.add(id);
    this.#checksOf.set(agentId, held);
    moves.changed.add(agentId);
  }
}
