/** The long poll of an agent: its registration, its assigned checks, and its jobs. */
import type { RowOf } from '../db/tables.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import {
  leaseMs,
  maxVisitMs,
  type AssignedCheck,
  type CheckInAnswer,
  type CheckInRequest,
  type Job,
} from '@monitor/shared/contract/agent-protocol.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import { fromFlag } from '../db/columns.ts';
import { eachOf, unindexed } from '../db/expressions.ts';
import { checkAssembly, runsOnAgents } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { leaseWaiting } from './jobs.ts';
import { jobsPerCheckIn } from './location-hub.ts';
import type { HeldState, Holding } from './holding.ts';
import type { LocationView } from './location-view.ts';
import { runFirst } from './schedule-check.ts';
import { leaseShards } from './run-shards.ts';
import type { WaitingJobs } from './waiting-jobs.ts';

/** The first protocol whose agents derive ids with a key. */
const keyedIdsFrom = 2;
/** A key that was made at another replica is known here by then. */
const newKeyMs = 2_000;

interface Caller {
  accountId: string;
  location: string;
  keyId: string;
}

type JobRow = Omit<
  RowOf<'jobs'>,
  'account_id' | 'location' | 'agent_id' | 'lease_until' | 'expires_at' | 'cancel_requested_at'
> & { shard?: Job['shard']; check_revision?: number };

/** A shard as a job of the first attempt that it is part of. */
function jobOfShard({ shard: index, total, ...row }: RowOf<'run_shards'>): JobRow {
  return {
    ...row,
    ...{ shard: { index, total }, sequence_started_at: null, not_before: row.created_at },
    ...{ streams_logs: 0, updates_snapshots: 0 },
  };
}

/** Jobs with their assembled checks; inherited settings are read once for all of them. */
async function toJobs(
  services: Services,
  caller: Caller,
  rows: readonly JobRow[],
  { leaseUntil, proxyUrl }: { leaseUntil: number; proxyUrl: string | null },
): Promise<Job[]> {
  if (rows.length === 0) return [];
  const checks = await services.db
    .selectFrom('checks')
    .selectAll()
    .where(unindexed<string>('account_id'), '=', caller.accountId)
    .where('id', 'in', eachOf([...new Set(rows.map((row) => row.check_id))]))
    .execute();
  const byId = new Map(checks.map((check) => [check.id, check]));
  const assemble = await checkAssembly(services, caller, checks);
  return rows.flatMap((row) => {
    const check = byId.get(row.check_id);
    if (check === undefined || !runsOnAgents(check.type)) return [];
    // Changed just now: its lease runs out, and who has the check as it was takes it.
    if (row.check_revision !== undefined && row.check_revision !== check.revision) return [];
    return [
      {
        id: row.id,
        runId: row.run_id,
        check: assemble(check, row.created_at, proxyUrl),
        source: row.source,
        scheduledFor: row.scheduled_for,
        slotLocation: row.slot_location,
        attempt: row.attempt,
        sequenceStartedAt: row.sequence_started_at,
        notBefore: row.not_before,
        leaseUntil,
        environmentUrl: row.environment_url,
        ...(fromFlag(row.streams_logs) ? { streamsLogs: true } : {}),
        ...(fromFlag(row.updates_snapshots) ? { updatesSnapshots: true } : {}),
        ...(row.shard === undefined ? {} : { shard: row.shard }),
      },
    ];
  });
}

/** Leases waiting jobs of the location to the agent, and shards as far as it has room for them. */
async function leaseJobs(
  services: Services,
  caller: Caller,
  { agentId, roomForShards: room = 0 }: CheckInRequest,
  { view, jobs }: { view: LocationView; jobs: WaitingJobs },
): Promise<Job[]> {
  const now = services.clock.now();
  const jobIds = jobs.offersTo(agentId, view.members, { now, most: jobsPerCheckIn });
  const shardIds = jobs.shardsFor(agentId, view.members, { now, room });
  if (jobIds.length + shardIds.length === 0) return [];
  // Other polls must not try to take the same ones.
  jobs.remove([...jobIds, ...shardIds]);
  const leaseUntil = now + leaseMs;
  try {
    const { rows, shards } = await services.commits.run(async (db) => ({
      rows:
        jobIds.length === 0
          ? []
          : await leaseWaiting(db, { ...caller, agentId, jobIds }, { now, leaseUntil }),
      shards: await leaseShards(db, { ...caller, agentId }, shardIds, now),
    }));
    if (rows.length < jobIds.length) services.hub.doubtJobs(caller);
    const taken = [...rows, ...shards.map(jobOfShard)];
    return await toJobs(services, caller, taken, { leaseUntil, proxyUrl: view.proxyUrl });
  } catch (error) {
    services.hub.doubtJobs(caller);
    throw error;
  }
}

/** For how long an agent that said it has no room for a shard is not asked again. */
const noRoomMs = 2_000;

/** How long such a check-in may wait yet: a shard that waits for this agent may have room by now. */
function untilRoomIsOld(
  { agentId, roomForShards }: CheckInRequest,
  { view, jobs }: { view: LocationView; jobs: WaitingJobs },
  now: number,
  waitedMs: number,
): number {
  const isAsked =
    roomForShards === 0 && jobs.shardsFor(agentId, view.members, { now, room: 1 }).length > 0;
  return isAsked ? noRoomMs - waitedMs : Infinity;
}

interface News {
  full: boolean;
  upserts: AssignedCheck[];
  removals: string[];
}

/** What the agent holds by its own account; null when this process cannot know. */
function heldBy(
  { hub }: Services,
  caller: Caller,
  { agentId, snapshot }: CheckInRequest,
  { digest, state }: Holding,
): HeldState | null {
  const answer = hub.lastAnswer(caller, agentId);
  if (answer !== null && answer.snapshot === snapshot) return answer.held;
  // Another process may have answered last; the digest says that the answer was the same.
  return snapshot?.endsWith(`/${digest}`) === true ? state : null;
}

/** The changes since the last answer to the agent, or everything when its snapshot differs. */
async function newsFor(
  view: LocationView,
  held: HeldState | null,
  holding: Holding,
): Promise<News> {
  const changes = held === null ? null : holding.changesSince(held);
  return {
    full: changes === null,
    upserts: await view.assemble(changes?.upserts ?? holding.checkIds),
    removals: changes?.removals ?? [],
  };
}

/**
 * An answer replaces what the agent knows; an error lets it keep its checks, so a stopping process
 * sends errors.
 */
function refuseWhenStopping({ hub }: Services): void {
  if (!hub.isClosed) return;
  throw new ApiError('UNAVAILABLE', 'the control plane is stopping; ask again in a moment');
}

const stepMs = 1_000;

/**
 * Arrival and answer times of a check-in by one clock: if it was set in between, the agent would
 * measure half of the step.
 */
function serverTime(clock: Clock, receivedAt: number, arrivedAt: number) {
  const sentAt = clock.now();
  const cameAt = Math.round(sentAt - (clock.monotonic() - arrivedAt));
  const isSet = Math.abs(cameAt - receivedAt) > stepMs;
  return { sentAt, receivedAt: isSet ? cameAt : receivedAt, isSet };
}

/**
 * A check-in that offers nothing and waits for little, as `doctor` sends it, only asks whether it would be answered.
 * It leaves no trace: whether the location is served, and since when, is what people look at then.
 */
function isVisit({ hub }: Services, caller: Caller, request: CheckInRequest): boolean {
  const { agentId, capabilities, waitMs } = request;
  return (
    capabilities.checkTypes.length === 0 &&
    waitMs <= maxVisitMs &&
    !hub.isServing(caller.accountId, caller.location, agentId)
  );
}

function answerOfVisit(
  { clock, ids }: Services,
  { accountId, location }: Caller,
  { protocol }: CheckInRequest,
  receivedAt: number,
): CheckInAnswer {
  return {
    serverTime: { receivedAt, sentAt: clock.now() },
    ...{ location, epoch: 0, snapshot: '', full: true },
    ...(protocol >= keyedIdsFrom && { idKey: ids.keyOf(accountId, location) }),
    ...{ upserts: [], removals: [], jobs: [], cancellations: [] },
  };
}

/**
 * Answers a check-in: at once when there are changes or jobs, otherwise at the next change or when
 * the wait is over. Aborting the signal (the agent disconnected) discards the answer.
 */
export async function checkIn(
  services: Services,
  caller: Caller,
  request: CheckInRequest,
  receivedAt: number,
  signal: AbortSignal,
): Promise<CheckInAnswer> {
  const { hub } = services;
  refuseWhenStopping(services);
  if (isVisit(services, caller, request)) {
    await hub.hold(request.waitMs, signal);
    refuseWhenStopping(services);
    return answerOfVisit(services, caller, request, receivedAt);
  }
  hub.arrive(caller, request);
  let how: Parameters<typeof hub.depart>[2] = 'failed';
  try {
    const answer = await answerOf(services, caller, request, receivedAt, signal);
    how = signal.aborted ? 'hung-up' : 'answered';
    return answer;
  } catch (error) {
    if (error instanceof ApiError && error.code !== 'UNAVAILABLE') how = 'answered';
    throw error;
  } finally {
    hub.depart(caller, request.agentId, how);
  }
}

/** Undefined for older agents, and where nothing has changed. No fault of it keeps checks from agents. */
async function watchNews(
  { watches, logger }: Services,
  { accountId }: Caller,
  { agentId, watch: held }: CheckInRequest,
): Promise<CheckInAnswer['watch']> {
  if (held === undefined) return undefined;
  try {
    return await watches.newsFor({ accountId, agentId }, held);
  } catch (error) {
    logger.warn({ err: error, accountId }, 'agents are not given what watches the control plane');
    return undefined;
  }
}

async function answerOf(
  services: Services,
  caller: Caller,
  request: CheckInRequest,
  receivedAt: number,
  signal: AbortSignal,
): Promise<CheckInAnswer> {
  const { accountId, location } = caller;
  const { hub, clock } = services;
  const { agentId } = request;
  const arrivedAt = clock.monotonic();
  const isNew = await hub.register({ accountId, location, request, receivedAt });
  services.reception.hearClock(caller, receivedAt - request.clock.sentAt);
  if (isNew) {
    const { view } = await hub.look(caller, agentId);
    const checks = new Map(view.withoutRun(agentId).map((check) => [check.id, check]));
    for (const id of await runFirst(services, caller, [...checks.keys()])) {
      const check = checks.get(id);
      if (check !== undefined) check.hasRun = true;
    }
  }
  const waitUntil = arrivedAt + request.waitMs;
  for (let hasWaited = false; ; hasWaited = true) {
    const { view, jobs: waiting, mark } = await hub.look(caller, agentId);
    refuseWhenStopping(services);
    if (!view.hasKey(caller.keyId)) {
      // Deleted since the call came: it must learn nothing more. Or made at another replica just now.
      if (hasWaited) throw badToken();
      await hub.changed(caller, agentId, mark, newKeyMs, signal);
      refuseWhenStopping(services);
      continue;
    }
    // Another replica took it for gone: it keeps its checks and comes back.
    if (!view.members.has(agentId)) {
      throw new ApiError('UNAVAILABLE', 'the agent does not serve its location; ask again');
    }
    const holding = view.holdingOf(agentId);
    // As it is now: what is changed while the answer is made belongs to the next one.
    const { digest, state } = holding;
    const news = await newsFor(view, heldBy(services, caller, request, holding), holding);
    const jobs = signal.aborted
      ? []
      : await leaseJobs(services, caller, request, { view, jobs: waiting });
    const calledOff = waiting.cancelledOf(agentId);
    const knownToBe = hub.lastAnswer(caller, agentId)?.calledOff;
    const cancellations = calledOff.filter((runId) => knownToBe?.has(runId) !== true);
    const time = serverTime(clock, receivedAt, arrivedAt);
    const elapsed = clock.monotonic();
    const untilAsked = untilRoomIsOld(
      request,
      { view, jobs: waiting },
      clock.now(),
      elapsed - arrivedAt,
    );
    // The agent must learn at once that the clock was set.
    const remainingMs = time.isSet ? 0 : Math.min(waitUntil - elapsed, untilAsked);
    const watch = await watchNews(services, caller, request);
    const hasNews =
      news.full ||
      watch !== undefined ||
      [news.upserts, news.removals, jobs, cancellations].some((list) => list.length > 0);
    if (!hasNews && remainingMs > 0 && !signal.aborted) {
      await hub.changed(caller, agentId, mark, remainingMs, signal);
      refuseWhenStopping(services);
      continue;
    }
    const snapshot =
      hasNews || request.snapshot === null ? `${view.version}/${digest}` : request.snapshot;
    hub.remember(caller, agentId, {
      snapshot,
      held: state,
      calledOff: new Set(calledOff),
    });
    return {
      serverTime: { receivedAt: time.receivedAt, sentAt: time.sentAt },
      location,
      epoch: view.epoch,
      ...(request.protocol >= keyedIdsFrom && {
        idKey: services.ids.keyOf(accountId, location),
      }),
      resultKeys: [...view.resultKeys],
      snapshot,
      ...news,
      jobs,
      cancellations,
      ...(watch !== undefined && { watch }),
      ...(request.capabilities.checkTypes.length === 0 && {
        handedOver: await hub.isHandedOver(caller),
      }),
    };
  }
}
