/**
 * The agents that serve each location, and their long polls. Who serves is in the database; this is a
 * copy that follows it: at once when this process or a message says so, otherwise within a second.
 *
 * The replica that an agent checked in at last waits for it, and only that one may decide that the
 * agent is gone. Only time in which this process could have received a check-in counts, so neither
 * a replica that was frozen nor the others have to compare clocks. The agents of a replica that is
 * gone are taken over by another one, which gives them the time to come back.
 *
 *   polling    a check-in of the agent is waiting here: it is alive
 *   between    its last check-in was answered: it must come back within `returnWithinMs`
 *   hung up    its connection broke while polling: it must come back within `hangUpGraceMs`
 *   failed     its check-in could not be written: it may back off before it tries again
 *   gone       it said goodbye or did not come back; it no longer counts
 */
import type { CheckInRequest } from '@monitor/shared/contract/agent-protocol.ts';
import { sleep } from '@monitor/shared/clock.ts';
import type { Bus } from '../core/bus.ts';
import { Gathered } from '../core/gathered.ts';
import { engineOf } from '../db/engine.ts';
import { inTransaction } from '../db/unit.ts';
import type { Reception } from '../reception/index.ts';
import { AgentRegistry } from './agent-registry.ts';
import type { Candidate } from './decide/assignment.ts';
import type { HeldState } from './holding.ts';
import { LocationView } from './location-view.ts';
import {
  adoptAgents,
  agentsOfReplica,
  heldSnapshots,
  keyOfPlace,
  leaveLocation,
  readVectors,
  servingAgents,
  type Arrival,
  type LocationVector,
  type Place,
} from './serving-agents.ts';
import { WaitingJobs } from './waiting-jobs.ts';
import type { Services } from '../core/services.ts';

const returnMs = { answered: 12_000, 'hung-up': 5_000, failed: 30_000 } as const;
/** Agents of a previous process, or of another replica, get this long to come back. */
const adoptedReturnMs = 30_000;
/** Minimum time to return after a gap: the check-in may wait in the socket. */
const minReturnMs = 3_000;
/** Smaller differences of timers and clocks are ignored. */
const minCountedMs = 100;
/** The longest time that agents get to come back after the database was away. */
const maxReturnMs = 90_000;
const followEveryMs = 1_000;
const adoptEveryMs = 5_000;
/** While the set of agents changes, polls are woken at most this often. */
const wakeEveryMs = 250;
/**
 * In a large location each newcomer takes checks of many agents. One that only lost checks is woken
 * once it has lost none for a while, which grows with the number of agents: until then its check may
 * run twice, and is stored once.
 */
const largeLocation = 100;
const relievedMsPerMember = 2;
const maxRelievedMs = 2_000;
/** Reading many checks again waits, so that a location that keeps changing does not stop the rest. */
const pausePerLoad = 5;
const maxPauseMs = 1_000;
const manyChecks = 1_000;
/** Locations of which the versions are read in one statement. */
const vectorsAtOnce = 500;
/** Limit of jobs in one answer. */
export const jobsPerCheckIn = 50;

/** The last answer to an agent, so that the next one contains only changes. */
interface SentAnswer {
  snapshot: string;
  held: HeldState;
  /** Runs that the agent was asked to cancel. */
  calledOff: ReadonlySet<string>;
}

/** An agent that this replica waits for. */
/** A clock that was set back over a restart, and a call that came late, turn back once. */
const copyAfterTurns = 3;

interface Attendance {
  polls: number;
  /** When the process began that checked in last. */
  startedAt: number;
  /** How often a process came after one that began later. */
  turnsBack: number;
  /** How many shards it would begin at once. */
  room: number;
  stopWaiting: (() => void) | null;
}

const newAttendance = (): Attendance => ({
  polls: 0,
  startedAt: 0,
  turnsBack: 0,
  room: 0,
  stopWaiting: null,
});

interface LocationEntry extends Place {
  members: ReadonlyMap<string, Candidate>;
  /** What `members`, `view` and `jobs` follow; null before anything was read. */
  vector: LocationVector | null;
  /** Null while no agent polls here. */
  view: LocationView | null;
  jobs: WaitingJobs;
  /** A job was offered that another replica seems to have taken. */
  areJobsInDoubt: boolean;
  /** By the version that its change made; forgotten once it was read. */
  changedChecks: Map<number, string>;
  attendances: Map<string, Attendance>;
  lastAnswers: Map<string, SentAnswer>;
  waiters: Map<string, Set<() => void>>;
  /** Grows whenever a poll must look again. */
  changes: number;
  loading: Promise<void> | null;
  queued: Promise<void> | null;
  /** On the monotonic clock. */
  loadedAt: number;
  loadTookMs: number;
  /** The last read failed: nothing of this may be used. */
  hasFailed: boolean;
  unwoken: Set<string>;
  cancelWaking: (() => void) | null;
  wokenAt: number;
  /** Agents that only lost checks and were not notified yet, by when they lost one last; the earliest first. */
  relievedAt: Map<string, number>;
  cancelRelieving: (() => void) | null;
}

export interface HubParts extends Pick<
  Services,
  'db' | 'clock' | 'commits' | 'secrets' | 'writes' | 'logger'
> {
  reception: Pick<Reception, 'receivableMs' | 'hasReadAll' | 'recorded'>;
  bus: Bus;
  replicaId: string;
}

const noMembers: ReadonlyMap<string, Candidate> = new Map();

function isSameVersion(one: LocationVector, other: LocationVector): boolean {
  return (
    one.version === other.version &&
    one.accountVersion === other.accountVersion &&
    one.environmentRevision === other.environmentRevision &&
    one.runtimeId === other.runtimeId &&
    one.jobsVersion === other.jobsVersion
  );
}

export class LocationHub {
  readonly #parts: HubParts;
  readonly #registry: AgentRegistry;
  /** Without other replicas. */
  readonly #isAlone: boolean;
  readonly #vectors: Gathered<Place, LocationVector | undefined>;
  readonly #entries = new Map<string, LocationEntry>();
  readonly #overdue = new Map<LocationEntry, Set<string>>();
  #removing: Promise<void> | null = null;
  #following: Promise<void> | null = null;
  #cancelTick: () => void = () => {};
  /** On the monotonic clock: the last time that the database was read, and that agents were adopted. */
  #readAt = 0;
  #adoptedAt = 0;
  #isDatabaseAway = false;
  readonly #closing = new AbortController();

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#registry = new AgentRegistry(parts);
    this.#isAlone = engineOf(parts.db) === 'sqlite';
    this.#vectors = new Gathered(async (places) => {
      const vectors = await readVectors(parts.db, places);
      const byPlace = new Map(vectors.map((vector) => [keyOfPlace(vector), vector]));
      return places.map((place) => byPlace.get(keyOfPlace(place)));
    }, vectorsAtOnce);
    parts.bus.on('l', (about) => {
      const [place = '', version, checkId] = about.split(' ');
      const [accountId = '', location] = place.split('/');
      if (location === undefined) void this.#follow();
      else {
        const entry = this.#entry({ accountId, location });
        if (checkId !== undefined) entry.changedChecks.set(Number(version), checkId);
        this.#refreshSoon(entry);
      }
    });
    parts.bus.on('a', (about) => {
      if (about === '*') void this.#follow();
      for (const entry of this.#entries.values()) {
        if (entry.accountId === about && entry.view !== null) this.#refreshSoon(entry);
      }
    });
  }

  /** Reads who serves, takes over the agents of a previous process, and begins to follow. */
  async open(): Promise<void> {
    await this.#adopt();
    const vectors = await readVectors(this.#parts.db);
    const agents = Map.groupBy(await servingAgents(this.#parts.db), keyOfPlace);
    for (const vector of vectors) {
      const entry = this.#entry(vector);
      const ofPlace = agents.get(keyOfPlace(vector)) ?? [];
      entry.vector = vector;
      entry.members = new Map(ofPlace.map(({ candidate }) => [candidate.id, candidate]));
    }
    this.#readAt = this.#parts.clock.monotonic();
    this.#tick();
  }

  #entry({ accountId, location }: Place): LocationEntry {
    const key = keyOfPlace({ accountId, location });
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        ...{ accountId, location, members: noMembers, vector: null, view: null },
        ...{ jobs: new WaitingJobs(), areJobsInDoubt: false, changedChecks: new Map() },
        ...{ attendances: new Map(), lastAnswers: new Map(), waiters: new Map(), changes: 0 },
        ...{ loading: null, queued: null, hasFailed: false },
        ...{ loadedAt: Number.NEGATIVE_INFINITY, loadTookMs: 0 },
        ...{ unwoken: new Set(), cancelWaking: null, wokenAt: Number.NEGATIVE_INFINITY },
        ...{ relievedAt: new Map(), cancelRelieving: null },
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** The agents that serve a location now. */
  members(accountId: string, location: string): readonly Candidate[] {
    return [...(this.#entries.get(keyOfPlace({ accountId, location }))?.members.values() ?? [])];
  }

  /** Whether an agent takes checks there. */
  isServed(accountId: string, location: string): boolean {
    return this.members(accountId, location).some(({ checkTypes }) => checkTypes.size > 0);
  }

  isServing(accountId: string, location: string, agentId: string): boolean {
    return this.#entries.get(keyOfPlace({ accountId, location }))?.members.has(agentId) === true;
  }

  /** Every location that an agent serves now. */
  served(): { accountId: string; location: string; count: number }[] {
    return [...this.#entries.values()]
      .filter(({ members }) => members.size > 0)
      .map(({ accountId, location, members }) => ({ accountId, location, count: members.size }));
  }

  /** A check-in of an agent begins. Every call needs one of `depart`. */
  arrive(place: Place, { agentId, startedAt, roomForShards }: CheckInRequest): void {
    const { attendances } = this.#entry(place);
    const attendance = attendances.get(agentId) ?? newAttendance();
    if (startedAt < attendance.startedAt) {
      attendance.turnsBack += 1;
      if (attendance.turnsBack === copyAfterTurns) {
        this.#parts.logger.warn(
          { accountId: place.accountId, location: place.location, agentId },
          'two agents check in as one: the data folder of one is a copy of the other; ' +
            'start one with a new AGENT_DATA_DIR',
        );
      }
    }
    attendance.startedAt = startedAt;
    attendance.room = roomForShards ?? 0;
    attendance.stopWaiting?.();
    attendance.stopWaiting = null;
    attendance.polls += 1;
    attendances.set(agentId, attendance);
  }

  /**
   * Records a check-in. True when the agent did not serve before, or offers something else. The agent
   * is among the members afterwards.
   */
  async register(arrival: Arrival): Promise<boolean> {
    const isNew = await this.#registry.register(arrival);
    if (isNew) {
      this.notify(arrival.accountId, arrival.location);
      await this.#refresh(this.#entry(arrival));
    }
    return isNew;
  }

  /** The check-in of an agent ended: the agent must come back. */
  depart(place: Place, agentId: string, how: keyof typeof returnMs): void {
    const entry = this.#entry(place);
    const attendance = entry.attendances.get(agentId);
    if (attendance === undefined) return;
    attendance.polls -= 1;
    if (attendance.polls === 0) this.#expectBack(entry, agentId, attendance, returnMs[how]);
  }

  #expectBack(
    entry: LocationEntry,
    agentId: string,
    attendance: Attendance,
    withinMs: number,
  ): void {
    const { clock, reception } = this.#parts;
    attendance.stopWaiting?.();
    attendance.stopWaiting = null;
    if (this.isClosed) return;
    const since = reception.receivableMs();
    attendance.stopWaiting = clock.after(withinMs, () => {
      attendance.stopWaiting = null;
      // Only receivable time counts.
      const leftMs = withinMs - (reception.receivableMs() - since);
      if (leftMs < minCountedMs && reception.hasReadAll() && !this.#isDatabaseAway) {
        this.#removeSoon(entry, agentId);
      } else {
        this.#expectBack(entry, agentId, attendance, Math.max(leftMs, minReturnMs));
      }
    });
  }

  #removeSoon(entry: LocationEntry, agentId: string): void {
    const agentIds = this.#overdue.get(entry) ?? new Set();
    agentIds.add(agentId);
    this.#overdue.set(entry, agentIds);
    // Nobody else can have heard of it: no conclusion may count on it until that is recorded.
    if (this.#isAlone) {
      entry.members = new Map([...entry.members].filter(([id]) => id !== agentId));
    }
    this.#removing ??= this.#removeOverdue().finally(() => {
      this.#removing = null;
    });
  }

  /** Agents that are overdue together leave in one transaction for each location. */
  async #removeOverdue(): Promise<void> {
    await Promise.resolve();
    for (const [entry, overdue] of this.#overdue) {
      this.#overdue.delete(entry);
      try {
        const gone = await this.#giveUp(entry, [...overdue]);
        if (this.#isAlone && gone < overdue.size) this.#rereadMembers(entry);
      } catch (error) {
        this.#rereadMembers(entry);
        this.#logFailure(error, 'agents are gone, not recorded');
        for (const agentId of overdue) this.#expectAgain(entry, agentId, minReturnMs);
      }
    }
  }

  /** Gives the number of agents that really are gone: others may poll another replica, or this one again. */
  async #giveUp(entry: LocationEntry, agentIds: readonly string[]): Promise<number> {
    const { db, clock, replicaId } = this.#parts;
    const now = clock.now();
    const mine = await agentsOfReplica(db, entry, agentIds, replicaId);
    const late = mine
      .filter(({ id, lastSeenAt }) => {
        return lastSeenAt < now && entry.attendances.get(id)?.polls === 0;
      })
      .map(({ id }) => id);
    for (const agentId of agentIds) {
      const isMine = mine.some(({ id }) => id === agentId);
      if (!isMine) this.#forget(entry, agentId);
      else if (!late.includes(agentId)) this.#expectAgain(entry, agentId, returnMs.answered);
    }
    return late.length === 0 ? 0 : this.#leave(entry, late, { now, replicaId });
  }

  /** After its time was over. */
  #expectAgain(entry: LocationEntry, agentId: string, withinMs: number): void {
    const attendance = entry.attendances.get(agentId);
    if (attendance?.polls !== 0 || attendance.stopWaiting !== null) return;
    this.#expectBack(entry, agentId, attendance, withinMs);
  }

  #forget({ attendances }: LocationEntry, agentId: string): void {
    const attendance = attendances.get(agentId);
    if (attendance?.polls === 0 && attendance.stopWaiting === null) attendances.delete(agentId);
  }

  #rereadMembers(entry: LocationEntry): void {
    entry.vector = null;
    this.#refreshSoon(entry);
  }

  async #leave(
    entry: LocationEntry,
    agentIds: readonly string[],
    how: Parameters<typeof leaveLocation>[3],
  ): Promise<number> {
    const gone = await inTransaction(this.#parts.db, (unit) =>
      leaveLocation(unit, entry, agentIds, how),
    );
    for (const agentId of gone) this.#forget(entry, agentId);
    for (const agentId of agentIds) this.#expectAgain(entry, agentId, returnMs.answered);
    if (gone.length > 0) {
      this.notify(entry.accountId, entry.location);
      await this.#refresh(entry);
    }
    return gone.length;
  }

  /** Removes an agent that said goodbye. */
  async remove(place: Place, agentId: string): Promise<void> {
    const entry = this.#entry(place);
    const attendance = entry.attendances.get(agentId);
    attendance?.stopWaiting?.();
    if (attendance !== undefined) attendance.stopWaiting = null;
    await this.#leave(entry, [agentId], { now: this.#parts.clock.now() });
  }

  #logFailure(error: unknown, message: string): void {
    const { writes, logger } = this.#parts;
    if (!writes.noteFailure(error)) logger.error({ err: error }, message);
  }

  lastAnswer({ accountId, location }: Place, agentId: string): SentAnswer | null {
    const entry = this.#entries.get(keyOfPlace({ accountId, location }));
    return entry?.lastAnswers.get(agentId) ?? null;
  }

  remember(place: Place, agentId: string, answer: SentAnswer): void {
    const entry = this.#entry(place);
    entry.relievedAt.delete(agentId);
    if (entry.members.has(agentId)) entry.lastAnswers.set(agentId, answer);
  }

  /**
   * True when every agent holds what it is to hold, by its own last check-in at any replica: those that end
   * too, since a replica that has not heard that one of them ends still has checks for it.
   */
  async isHandedOver(place: Place): Promise<boolean> {
    const entry = this.#entry(place);
    const held = await heldSnapshots(this.#parts.db, place);
    const { view, members } = entry;
    return [...members.values()].every(({ id, checkTypes }) => {
      const digest = view?.holdingOf(id).digest;
      return checkTypes.size === 0 || held.get(id)?.endsWith(`/${digest}`) === true;
    });
  }

  /**
   * What the agents of a location are to hold and its waiting jobs, for a poll of this agent, and a
   * mark for `changed`.
   */
  async look(
    place: Place,
    agentId: string,
  ): Promise<{ view: LocationView; jobs: WaitingJobs; mark: number }> {
    const entry = this.#entry(place);
    const now = this.#parts.clock.now();
    const isCurrent = entry.view?.isOutdated() === false && !entry.hasFailed;
    if (!isCurrent || !entry.members.has(agentId) || entry.jobs.isOutdated(now)) {
      await this.#refresh(entry);
    }
    if (entry.view === null) throw new Error(`no agent ever served ${keyOfPlace(place)}`);
    return { view: entry.view, jobs: entry.jobs, mark: entry.changes };
  }

  /** Call it when an offered job could not be leased. */
  doubtJobs(place: Place): void {
    this.#entry(place).areJobsInDoubt = true;
  }

  /**
   * Call it after the commit that changed checks, agents or jobs of a location and raised its version,
   * with the check whose change alone did that; see `core/location-versions.ts`.
   */
  notify(accountId: string, location: string, change?: { version: number; checkId: string }): void {
    const alone = change === undefined ? '' : ` ${change.version} ${change.checkId}`;
    this.#parts.bus.send('l', `${keyOfPlace({ accountId, location })}${alone}`);
  }

  /** The same for all locations of an account. */
  notifyAccount(accountId: string): void {
    this.#parts.bus.send('a', accountId);
  }

  /** Wakes every poll of this process, for news that the database does not have. */
  wakeAll(): void {
    for (const entry of this.#entries.values()) this.#wakeNow(entry, entry.waiters.keys());
  }

  #tick(): void {
    if (this.isClosed) return;
    this.#cancelTick = this.#parts.clock.after(followEveryMs, () => {
      void this.#follow().finally(() => {
        this.#tick();
      });
    });
  }

  /** Compares all versions with those of the database. Never fails. */
  #follow(): Promise<void> {
    this.#following ??= this.#compare()
      .catch((error: unknown) => {
        this.#isDatabaseAway = true;
        this.#logFailure(error, 'changes of locations could not be read, trying again');
      })
      .finally(() => {
        this.#following = null;
      });
    return this.#following;
  }

  async #compare(): Promise<void> {
    const { db, clock } = this.#parts;
    if (!this.#isAlone && clock.monotonic() - this.#adoptedAt >= adoptEveryMs) {
      await this.#adopt();
    }
    const vectors = await readVectors(db);
    this.#noteRead();
    const stale = new Set<LocationEntry>();
    for (const vector of vectors) {
      const entry = this.#entry(vector);
      const { vector: known, view } = entry;
      const isSame =
        known?.epoch === vector.epoch && (view === null || isSameVersion(known, vector));
      if (!isSame) stale.add(entry);
    }
    const now = clock.now();
    for (const entry of this.#entries.values()) {
      if (entry.view === null) continue;
      const isOutdated = entry.view.isOutdated() || entry.jobs.isOutdated(now);
      if (isOutdated || entry.areJobsInDoubt || entry.hasFailed) stale.add(entry);
      else if (!stale.has(entry)) this.#offerJobs(entry);
    }
    await Promise.all([...stale].map((entry) => this.#refresh(entry)));
  }

  /** Agents that were refused while the database was away may have backed off. */
  #noteRead(): void {
    const now = this.#parts.clock.monotonic();
    if (this.#isDatabaseAway) {
      this.#isDatabaseAway = false;
      const withinMs = Math.min(maxReturnMs, returnMs.answered + 2 * (now - this.#readAt));
      for (const entry of this.#entries.values()) {
        for (const [agentId, attendance] of entry.attendances) {
          if (attendance.polls === 0) this.#expectBack(entry, agentId, attendance, withinMs);
        }
      }
    }
    this.#readAt = now;
  }

  async #adopt(): Promise<void> {
    const { db, clock, replicaId } = this.#parts;
    const now = this.#isAlone ? null : clock.now();
    for (const { agentId, ...place } of await adoptAgents(db, replicaId, now)) {
      const entry = this.#entry(place);
      const attendance = entry.attendances.get(agentId) ?? newAttendance();
      entry.attendances.set(agentId, attendance);
      if (attendance.polls === 0) this.#expectBack(entry, agentId, attendance, adoptedReturnMs);
    }
    this.#adoptedAt = clock.monotonic();
  }

  #refreshSoon(entry: LocationEntry): void {
    this.#refresh(entry).catch((error: unknown) => {
      this.#logFailure(error, 'the changes of a location could not be read, trying again');
    });
  }

  /** Reads what changed; resolves after a read that began later than the call. */
  #refresh(entry: LocationEntry): Promise<void> {
    entry.queued ??= this.#loadAfter(entry, entry.loading);
    return entry.queued;
  }

  async #loadAfter(entry: LocationEntry, before: Promise<void> | null): Promise<void> {
    const { clock } = this.#parts;
    // It was logged by those who waited for it.
    await before?.catch(() => {});
    if ((entry.view?.checks.size ?? 0) >= manyChecks) {
      const pauseMs = Math.min(maxPauseMs, pausePerLoad * entry.loadTookMs);
      const leftMs = entry.loadedAt + pauseMs - clock.monotonic();
      if (leftMs > 0) await sleep(clock, leftMs, this.#closing.signal);
    }
    entry.loading = entry.queued;
    entry.queued = null;
    const begunAt = clock.monotonic();
    try {
      entry.hasFailed = true;
      await this.#load(entry);
      entry.hasFailed = false;
    } finally {
      entry.loadedAt = clock.monotonic();
      entry.loadTookMs = entry.loadedAt - begunAt;
      if (entry.queued === null) entry.loading = null;
    }
  }

  async #load(entry: LocationEntry): Promise<void> {
    const { db, clock, reception } = this.#parts;
    const before = entry.vector;
    const vector = await this.#vectors.run(entry);
    if (vector === undefined) return;
    const hasMoved = before?.epoch !== vector.epoch;
    if (hasMoved) await this.#readMembers(entry);
    const { changedChecks } = entry;
    if (before !== null && vector.version < before.version) changedChecks.clear();
    if (entry.view === null && entry.attendances.size === 0) {
      changedChecks.clear();
      entry.vector = vector;
      return;
    }
    const view = entry.view ?? new LocationView(this.#parts, entry);
    const { changed, relieved } = await view.refresh(vector, entry.members, changedChecks);
    for (const version of changedChecks.keys()) {
      if (version <= vector.version) changedChecks.delete(version);
    }
    const areJobsNew =
      entry.view === null ||
      entry.areJobsInDoubt ||
      before?.jobsVersion !== vector.jobsVersion ||
      entry.jobs.isOutdated(clock.now());
    if (areJobsNew) {
      // Leases of agents may have ended while they could not be renewed.
      await reception.recorded();
      await entry.jobs.read(db, entry, view.checks, clock.now());
      entry.areJobsInDoubt = false;
    }
    entry.view = view;
    entry.vector = vector;
    entry.changes += 1;
    this.#wake(entry, changed === 'all' ? entry.waiters.keys() : changed, hasMoved);
    this.#wakeRelieved(entry, relieved);
    if (areJobsNew) this.#offerJobs(entry);
  }

  async #readMembers(entry: LocationEntry): Promise<void> {
    const { db, replicaId } = this.#parts;
    const agents = await servingAgents(db, entry);
    const before = entry.members;
    entry.members = new Map(agents.map(({ candidate }) => [candidate.id, candidate]));
    const gone = [...before.keys()].filter((id) => !entry.members.has(id));
    for (const agentId of gone) entry.lastAnswers.delete(agentId);
    for (const { candidate, replicaId: waitsFor } of agents) {
      if (waitsFor !== replicaId || entry.attendances.has(candidate.id)) continue;
      const attendance = newAttendance();
      entry.attendances.set(candidate.id, attendance);
      this.#expectBack(entry, candidate.id, attendance, returnMs.answered);
    }
  }

  /** A set of agents that keeps changing wakes polls a few times a second. */
  #wake(entry: LocationEntry, agentIds: Iterable<string>, hasMoved: boolean): void {
    if (!hasMoved) {
      this.#wakeNow(entry, agentIds);
      return;
    }
    for (const agentId of agentIds) entry.unwoken.add(agentId);
    if (entry.cancelWaking !== null) return;
    const { clock } = this.#parts;
    const wake = (): void => {
      entry.cancelWaking = null;
      entry.wokenAt = clock.monotonic();
      const unwoken = entry.unwoken;
      entry.unwoken = new Set();
      this.#wakeNow(entry, unwoken);
    };
    const leftMs = entry.wokenAt + wakeEveryMs - clock.monotonic();
    if (leftMs <= 0) wake();
    else if (!this.isClosed) entry.cancelWaking = clock.after(leftMs, wake);
  }

  #wakeRelieved(entry: LocationEntry, agentIds: ReadonlySet<string>): void {
    if (entry.members.size < largeLocation) {
      this.#wake(entry, agentIds, true);
      return;
    }
    const now = this.#parts.clock.monotonic();
    for (const agentId of agentIds) {
      entry.relievedAt.delete(agentId);
      entry.relievedAt.set(agentId, now);
    }
    this.#expectRelieved(entry);
  }

  #expectRelieved(entry: LocationEntry): void {
    const { clock } = this.#parts;
    const waitMs = Math.min(maxRelievedMs, relievedMsPerMember * entry.members.size);
    const [firstAt] = entry.relievedAt.values();
    if (firstAt === undefined || entry.cancelRelieving !== null || this.isClosed) return;
    const leftMs = Math.max(wakeEveryMs, firstAt + waitMs - clock.monotonic());
    entry.cancelRelieving = clock.after(leftMs, () => {
      entry.cancelRelieving = null;
      const until = clock.monotonic() - waitMs;
      const due = [...entry.relievedAt].filter(([, at]) => at <= until).map(([id]) => id);
      for (const agentId of due) entry.relievedAt.delete(agentId);
      this.#wakeNow(entry, due);
      this.#expectRelieved(entry);
    });
  }

  #wakeNow(entry: LocationEntry, agentIds: Iterable<string>): void {
    entry.changes += 1;
    for (const agentId of [...agentIds]) {
      for (const wake of entry.waiters.get(agentId) ?? []) wake();
    }
  }

  /** Wakes as many polls as the waiting jobs need, and those that must cancel a run. */
  #offerJobs({ jobs, waiters, members, attendances }: LocationEntry): void {
    const wake = (agentId: string): void => {
      for (const wakeOne of waiters.get(agentId) ?? []) wakeOne();
    };
    for (const agentId of jobs.agentsWithCancelled) wake(agentId);
    const offered = new Set<string>();
    const now = this.#parts.clock.now();
    for (const agentId of jobs.isEmpty ? [] : [...waiters.keys()]) {
      if (offered.size >= jobs.count) break;
      const before = offered.size;
      for (const id of jobs.offersTo(agentId, members, { now, most: jobsPerCheckIn })) {
        offered.add(id);
      }
      const room = attendances.get(agentId)?.room ?? 0;
      for (const id of jobs.shardsFor(agentId, members, { now, room, without: offered })) {
        offered.add(id);
      }
      // One without room says so anew once it is asked.
      const isAsked = room === 0 && jobs.shardsFor(agentId, members, { now, room: 1 }).length > 0;
      if (offered.size > before || isAsked) wake(agentId);
    }
  }

  /** Resolves when the location changed for the agent since `mark`, at the time limit, or on abort. */
  changed(
    place: Place,
    agentId: string,
    mark: number,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const entry = this.#entry(place);
    if (entry.changes !== mark || withinMs <= 0 || signal.aborted || this.isClosed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const waiting = entry.waiters.get(agentId) ?? new Set();
      const done = (): void => {
        cancel();
        waiting.delete(done);
        if (waiting.size === 0 && entry.waiters.get(agentId) === waiting) {
          entry.waiters.delete(agentId);
        }
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#parts.clock.after(withinMs, done);
      waiting.add(done);
      entry.waiters.set(agentId, waiting);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Holds a call that waits for nothing. Resolves at its end, on abort, or when the process stops. */
  async hold(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0) return;
    await sleep(this.#parts.clock, ms, AbortSignal.any([signal, this.#closing.signal]));
  }

  /** True while the process stops: callers must get an error, not an answer without agents. */
  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Wakes all long polls. Agents stay registered, because they continue with their last answer. */
  close(): void {
    this.#closing.abort();
    this.#cancelTick();
    for (const entry of this.#entries.values()) {
      entry.cancelWaking?.();
      entry.cancelRelieving?.();
      for (const { stopWaiting } of entry.attendances.values()) stopWaiting?.();
      for (const waiting of [...entry.waiters.values()]) for (const wake of [...waiting]) wake();
    }
  }

  /** Resolves when nothing of this is being read or written any more. */
  async idle(): Promise<void> {
    await this.#removing;
    await this.#following;
    for (const { loading, queued } of this.#entries.values()) {
      await Promise.allSettled([loading, queued]);
    }
  }
}
