/**
 * The agents that serve each location now, and their long polls. In memory: after a restart it is
 * filled from the agents table, and agents send the rest with their next check-in.
 *
 *   polling    a check-in of the agent is waiting here: it is alive
 *   between    its last check-in was answered: it must come back within `returnWithinMs`
 *   hung up    its connection broke while polling: it must come back within `hangUpGraceMs`
 *   gone       it said goodbye or did not come back; it no longer counts
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Candidate } from './decide/assignment.ts';
import type { Reception } from '../reception/index.ts';

const returnWithinMs = 12_000;
const hangUpGraceMs = 5_000;
/** Minimum time to return after a gap: the check-in may wait in the socket. */
const minReturnMs = 3_000;
/** Smaller differences of timers and clocks are ignored. */
const minCountedMs = 100;

/** The last answer to an agent, so that the next one contains only changes. */
interface SentAnswer {
  snapshot: string;
  /** Identifies the state of each check; see `scheduling/check-in.ts`. */
  revisions: Map<string, string>;
  /** Runs that the agent was asked to cancel. */
  calledOff: ReadonlySet<string>;
}

interface Member extends Candidate {
  stopWaiting: (() => void) | null;
  lastAnswer: SentAnswer | null;
}

interface LocationEntry {
  members: Map<string, Member>;
  waiters: Set<() => void>;
  version: number;
}

export interface AgentsChanged {
  accountId: string;
  location: string;
  /** Ids of the agents that left; empty when one joined. */
  gone: readonly string[];
  servingCount: number;
}

function areEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each));
}

export class LocationHub {
  readonly #entries = new Map<string, LocationEntry>();
  readonly #clock: Clock;
  readonly #reception: Pick<Reception, 'receivableMs' | 'hasReadAll'>;
  #isClosed = false;
  readonly #onAgentsChanged: (change: AgentsChanged) => void;

  constructor(
    clock: Clock,
    reception: Pick<Reception, 'receivableMs' | 'hasReadAll'>,
    onAgentsChanged: (change: AgentsChanged) => void,
  ) {
    this.#clock = clock;
    this.#reception = reception;
    this.#onAgentsChanged = onAgentsChanged;
  }

  #entry(accountId: string, location: string): LocationEntry {
    const key = `${accountId}/${location}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { members: new Map(), waiters: new Set(), version: 0 };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** The agents that serve a location now. */
  members(accountId: string, location: string): readonly Candidate[] {
    return [...this.#entry(accountId, location).members.values()];
  }

  /** Every location that an agent serves now. */
  served(): { accountId: string; location: string; count: number }[] {
    return [...this.#entries]
      .filter(([, { members }]) => members.size > 0)
      .map(([key, { members }]) => {
        const slash = key.indexOf('/');
        return {
          accountId: key.slice(0, slash),
          location: key.slice(slash + 1),
          count: members.size,
        };
      });
  }

  isServed(accountId: string, location: string): boolean {
    return (this.#entries.get(`${accountId}/${location}`)?.members.size ?? 0) > 0;
  }

  /** Marks an agent as polling. True when it was not serving before, or when its capabilities changed. */
  arrive(accountId: string, location: string, agent: Candidate): boolean {
    const entry = this.#entry(accountId, location);
    const known = entry.members.get(agent.id);
    known?.stopWaiting?.();
    const isNew =
      known === undefined ||
      known.weight !== agent.weight ||
      !areEqual(known.checkTypes, agent.checkTypes) ||
      !areEqual(known.runtimes, agent.runtimes) ||
      known.hasBrowser !== agent.hasBrowser;
    entry.members.set(agent.id, {
      ...agent,
      stopWaiting: null,
      lastAnswer: known?.lastAnswer ?? null,
    });
    if (isNew) this.#changed(accountId, location, []);
    return isNew;
  }

  /** The check-in of an agent ended: the agent must come back. */
  depart(accountId: string, location: string, agentId: string, how: 'answered' | 'hung-up'): void {
    const member = this.#entry(accountId, location).members.get(agentId);
    if (member === undefined) return;
    this.#expectBack(
      accountId,
      location,
      member,
      how === 'answered' ? returnWithinMs : hangUpGraceMs,
    );
  }

  /** Counts an agent as serving until it had time to check in; used at the start of the process. */
  expect(accountId: string, location: string, agent: Candidate, withinMs: number): void {
    const entry = this.#entry(accountId, location);
    if (entry.members.has(agent.id)) return;
    const member: Member = { ...agent, stopWaiting: null, lastAnswer: null };
    entry.members.set(agent.id, member);
    this.#expectBack(accountId, location, member, withinMs);
  }

  #expectBack(accountId: string, location: string, member: Member, withinMs: number): void {
    member.stopWaiting?.();
    if (this.#isClosed) return;
    const since = this.#reception.receivableMs();
    member.stopWaiting = this.#clock.after(withinMs, () => {
      // Only receivable time counts.
      const leftMs = withinMs - (this.#reception.receivableMs() - since);
      if (leftMs < minCountedMs && this.#reception.hasReadAll()) {
        this.remove(accountId, location, member.id);
      } else {
        this.#expectBack(accountId, location, member, Math.max(leftMs, minReturnMs));
      }
    });
  }

  /** Removes an agent from the location. */
  remove(accountId: string, location: string, agentId: string): void {
    const { members } = this.#entry(accountId, location);
    const member = members.get(agentId);
    if (member === undefined) return;
    member.stopWaiting?.();
    members.delete(agentId);
    this.#changed(accountId, location, [agentId]);
  }

  #changed(accountId: string, location: string, gone: readonly string[]): void {
    const servingCount = this.#entry(accountId, location).members.size;
    this.#onAgentsChanged({ accountId, location, gone, servingCount });
    this.notify(accountId, location);
  }

  lastAnswer(accountId: string, location: string, agentId: string): SentAnswer | null {
    return this.#entry(accountId, location).members.get(agentId)?.lastAnswer ?? null;
  }

  remember(accountId: string, location: string, agentId: string, answer: SentAnswer): void {
    const member = this.#entry(accountId, location).members.get(agentId);
    if (member !== undefined) member.lastAnswer = answer;
  }

  /** Call it when checks, agents or jobs of a location changed; it wakes the long polls. */
  notify(accountId: string, location: string): void {
    const entry = this.#entry(accountId, location);
    entry.version += 1;
    const { waiters } = entry;
    entry.waiters = new Set();
    for (const wake of waiters) wake();
  }

  /** The same for all locations of an account. */
  notifyAccount(accountId: string): void {
    for (const key of this.#entries.keys()) {
      if (key.startsWith(`${accountId}/`)) this.notify(accountId, key.slice(accountId.length + 1));
    }
  }

  /** The same for all locations. */
  notifyAll(): void {
    for (const key of this.#entries.keys()) {
      const slash = key.indexOf('/');
      this.notify(key.slice(0, slash), key.slice(slash + 1));
    }
  }

  version(accountId: string, location: string): number {
    return this.#entry(accountId, location).version;
  }

  /** Resolves when the location changed since `version`, at the time limit, or on abort. */
  changed(
    accountId: string,
    location: string,
    version: number,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const entry = this.#entry(accountId, location);
    if (entry.version !== version || withinMs <= 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        entry.waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#clock.after(withinMs, done);
      entry.waiters.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** True while the process stops: callers must get an error, not an answer without agents. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Wakes all long polls. Agents stay registered, because they continue with their last answer. */
  close(): void {
    this.#isClosed = true;
    for (const entry of this.#entries.values()) {
      for (const member of entry.members.values()) member.stopWaiting?.();
      for (const wake of entry.waiters) wake();
    }
  }
}
