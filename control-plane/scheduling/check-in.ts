/** The long poll of an agent: its registration, its assigned checks, and its jobs. */
import type { Kysely, Selectable } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import {
  leaseMs,
  type AssignedCheck,
  type CheckInAnswer,
  type CheckInRequest,
  type Job,
} from '@monitor/shared/contract/agent-protocol.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import { agentOfCheck, agentsFor, type Candidate } from './decide/assignment.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { JobsTable } from './tables.ts';
import { checkAssembly, type CheckRow, groupsOf, runsOnAgents } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { accountRuntime, needsAmong, needsOfChecks } from './check-needs.ts';
import { cancellationsFor } from './cancellations.ts';
import { leaseTo } from './jobs.ts';
import { runFirst } from './schedule-check.ts';
import { scheduledMaintenance } from '../maintenance/index.ts';

/** The first protocol whose agents derive ids with a key. */
const keyedIdsFrom = 2;
/** Limit of jobs in one answer. */
const jobsPerCheckIn = 50;
/** Waiting jobs are read in pages of this size. */
const jobsPerPage = 200;

interface Caller {
  accountId: string;
  location: string;
  keyId: string;
}

/** The key may have been revoked while the agent waited; it must learn nothing more then. */
async function refuseRevoked(db: Kysely<Database>, { accountId, keyId }: Caller): Promise<void> {
  const key = await db
    .selectFrom('location_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', keyId)
    .executeTakeFirst();
  if (key === undefined) throw badToken();
}

/** By the clock of the control plane: the clock of the agent may be ahead. */
function overloadedSince({ load }: CheckInRequest, now: number): number | null {
  const since = load?.overloadedSince ?? null;
  return since === null ? null : Math.min(since, now);
}

async function saveAgent(
  db: Kysely<Database>,
  { accountId, location }: Caller,
  request: CheckInRequest,
  now: number,
): Promise<void> {
  const values = {
    version: request.version,
    capabilities_json: JSON.stringify(request.capabilities),
    capacity_light: request.capacity.light,
    capacity_heavy: request.capacity.heavy,
    running: request.running,
    outbox_depth: request.outbox.depth,
    outbox_oldest_at: request.outbox.oldestAt,
    outbox_dropped: request.outbox.droppedTotal,
    clock_offset_ms: request.clock.offsetMs,
    started_at: request.startedAt,
    last_seen_at: now,
    gone_at: null,
    load_json: request.load === undefined ? null : JSON.stringify(request.load),
    overloaded_since: overloadedSince(request, now),
  };
  await db
    .insertInto('agents')
    .values({
      ...{ id: request.agentId, account_id: accountId, location, ...values },
      overload_ended_at: null,
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'location', 'id']).doUpdateSet((set) => ({
        ...values,
        overload_ended_at:
          values.overloaded_since !== null
            ? null
            : set
                .case()
                .when('agents.overloaded_since', 'is not', null)
                .then(now)
                .else(set.ref('agents.overload_ended_at'))
                .end(),
      })),
    )
    .execute();
}

type AssignableRow = CheckRow & { schedule_from: number };

async function activeChecks(
  db: Kysely<Database>,
  { accountId, location }: Caller,
): Promise<AssignableRow[]> {
  return db
    .selectFrom('checks')
    .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
    .innerJoin('schedule_periods', (join) =>
      join
        .onRef('schedule_periods.check_id', '=', 'checks.id')
        .on('schedule_periods.ends_at', 'is', null),
    )
    .selectAll('checks')
    .select('schedule_periods.starts_at as schedule_from')
    .where('checks.account_id', '=', accountId)
    .where('check_locations.account_id', '=', accountId)
    .where('check_locations.location', '=', location)
    .execute();
}

async function proxyOf(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  caller: Caller,
): Promise<string | null> {
  const row = await db
    .selectFrom('private_locations')
    .select('proxy_url')
    .where('account_id', '=', caller.accountId)
    .where('slug_name', '=', caller.location)
    .executeTakeFirst();
  return row?.proxy_url == null ? null : secrets.decryptStored(row.proxy_url, caller.accountId);
}

/** The checks that an agent is assigned now. */
async function assignmentsOf(
  services: Services,
  caller: Caller,
  agentId: string,
): Promise<AssignableRow[]> {
  const members = services.hub.members(caller.accountId, caller.location);
  const rows = await activeChecks(services.db, caller);
  const groups = await groupsOf(services.db, caller.accountId, rows);
  const runtimeId = await accountRuntime(services.db, caller.accountId);
  return rows.filter((row) => {
    const needs = needsAmong(row, groups, runtimeId);
    return agentOfCheck({ id: row.id, ...needs }, members) === agentId;
  });
}

type JobRow = Selectable<JobsTable>;

/** Jobs with their assembled checks; inherited settings are read once for all of them. */
async function toJobs(
  services: Services,
  caller: Caller,
  rows: readonly JobRow[],
  leaseUntil: number,
): Promise<Job[]> {
  if (rows.length === 0) return [];
  const checks = await services.db
    .selectFrom('checks')
    .selectAll()
    .where('account_id', '=', caller.accountId)
    .where('id', 'in', [...new Set(rows.map((row) => row.check_id))])
    .execute();
  const byId = new Map(checks.map((check) => [check.id, check]));
  const assemble = await checkAssembly(services, caller, checks);
  const proxyUrl = await proxyOf(services, caller);
  return rows.flatMap((row) => {
    const check = byId.get(row.check_id);
    if (check === undefined || !runsOnAgents(check.type)) return [];
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
      },
    ];
  });
}

/** Waiting jobs of the location that this agent gets, considering the capabilities of all its agents. */
async function findJobs(
  { hub }: Services,
  db: Kysely<Database>,
  caller: Caller,
  agent: Candidate,
  now: number,
): Promise<JobRow[]> {
  const found: JobRow[] = [];
  const members = hub.members(caller.accountId, caller.location);
  // A job that this agent cannot run must not hide one that it can.
  for (let offset = 0; found.length < jobsPerCheckIn; offset += jobsPerPage) {
    const page = await db
      .selectFrom('jobs')
      .selectAll()
      .where('account_id', '=', caller.accountId)
      .where('location', '=', caller.location)
      .where('expires_at', '>', now)
      .where('cancel_requested_at', 'is', null)
      .where((where) => where.or([where('agent_id', 'is', null), where('lease_until', '<=', now)]))
      .orderBy('not_before')
      .orderBy('id')
      .limit(jobsPerPage)
      .offset(offset)
      .execute();
    if (page.length === 0) break;
    const checks = await db
      .selectFrom('checks')
      .selectAll()
      .where('account_id', '=', caller.accountId)
      .where(
        'id',
        'in',
        page.map((row) => row.check_id),
      )
      .execute();
    const needs = await needsOfChecks(db, caller.accountId, checks);
    found.push(
      ...page.filter((row) => {
        const needed = needs.get(row.check_id);
        return needed !== undefined && agentsFor(needed, members).some(({ id }) => id === agent.id);
      }),
    );
    if (page.length < jobsPerPage) break;
  }
  return found.slice(0, jobsPerCheckIn);
}

/** Records the leased jobs, so that their results are accepted even after the jobs were deleted. */
async function rememberLeases(
  db: Kysely<Database>,
  jobs: readonly JobRow[],
  now: number,
): Promise<void> {
  await db
    .insertInto('job_leases')
    .values(
      jobs.map((job) => ({
        account_id: job.account_id,
        location: job.location,
        run_id: job.run_id,
        job_id: job.id,
        check_id: job.check_id,
        slot_location: job.slot_location,
        scheduled_for: job.scheduled_for,
        attempt: job.attempt,
        leased_at: now,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'location', 'run_id', 'job_id'])
        .doUpdateSet({ leased_at: now }),
    )
    .execute();
}

/** Leases waiting jobs of the location to the agent. */
async function leaseJobs(services: Services, caller: Caller, agent: Candidate): Promise<Job[]> {
  // Leases of other agents may have expired while they could not be renewed.
  await services.reception.recorded();
  const now = services.clock.now();
  const leaseUntil = now + leaseMs;
  const rows = await inTransaction(services.db, async (db) => {
    const waiting = await findJobs(services, db, caller, agent, now);
    if (waiting.length > 0) {
      const jobIds = waiting.map((row) => row.id);
      await leaseTo(db, { accountId: caller.accountId, agentId: agent.id, jobIds }, leaseUntil);
      await rememberLeases(db, waiting, now);
    }
    return waiting;
  });
  return toJobs(services, caller, rows, leaseUntil);
}

async function epochOf(db: Kysely<Database>, caller: Caller): Promise<number> {
  const row = await db
    .selectFrom('location_states')
    .select('epoch')
    .where('account_id', '=', caller.accountId)
    .where('location', '=', caller.location)
    .executeTakeFirst();
  return row?.epoch ?? 0;
}

interface News {
  full: boolean;
  upserts: AssignedCheck[];
  removals: string[];
  revisions: Map<string, string>;
}

/** Revision of the settings that checks inherit; when it changes, the agent gets all checks again. */
async function environmentRevision(db: Kysely<Database>, accountId: string): Promise<number> {
  const row = await db
    .selectFrom('accounts')
    .select('environment_revision')
    .where('id', '=', accountId)
    .executeTakeFirst();
  return row?.environment_revision ?? 0;
}

/** The changes since the last answer to the agent, or everything when its snapshot differs. */
async function newsFor(services: Services, caller: Caller, request: CheckInRequest): Promise<News> {
  const { accountId, location } = caller;
  const answer = services.hub.lastAnswer(accountId, location, request.agentId);
  const held = answer !== null && answer.snapshot === request.snapshot ? answer.revisions : null;
  const assigned = await assignmentsOf(services, caller, request.agentId);
  const proxyUrl = await proxyOf(services, caller);
  const shared = `${await environmentRevision(services.db, accountId)} ${proxyUrl ?? ''}`;
  const pausesOf = await scheduledMaintenance(services.db, accountId, services.clock.now());
  const revisions = new Map(
    assigned.map(({ id, revision }) => [id, `${revision} ${shared} ${pausesOf(id).key}`]),
  );
  const changed =
    held === null ? assigned : assigned.filter(({ id }) => held.get(id) !== revisions.get(id));
  const assemble = changed.length === 0 ? null : await checkAssembly(services, caller, changed);
  const upserts = changed.flatMap((row) =>
    assemble === null
      ? []
      : [{ ...assemble(row, row.schedule_from, proxyUrl), pauses: pausesOf(row.id).pauses }],
  );
  const removals = held === null ? [] : [...held.keys()].filter((id) => !revisions.has(id));
  return { full: held === null, upserts, removals, revisions };
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

function candidateOf(request: CheckInRequest): Candidate {
  return {
    id: request.agentId,
    weight: Math.max(1, request.capacity.light),
    checkTypes: new Set(request.capabilities.checkTypes),
    runtimes: new Set(request.capabilities.runtimes),
    hasBrowser: request.capabilities.browsers.length > 0,
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
  const { accountId, location } = caller;
  const { hub, clock } = services;
  const { agentId } = request;
  refuseWhenStopping(services);
  const arrivedAt = clock.monotonic();
  await saveAgent(services.db, caller, request, receivedAt);
  services.reception.hearClock(caller, receivedAt - request.clock.sentAt);
  const agent = candidateOf(request);
  if (hub.arrive(accountId, location, agent)) {
    await runFirst(services, caller, await assignmentsOf(services, caller, agentId));
  }
  const waitUntil = arrivedAt + request.waitMs;
  for (;;) {
    const version = hub.version(accountId, location);
    const news = await newsFor(services, caller, request);
    const jobs = signal.aborted ? [] : await leaseJobs(services, caller, agent);
    const calledOff = [
      ...(await cancellationsFor(services.db, caller, agentId)),
      ...services.openRuns.calledOff({ accountId, location, agentId }),
    ];
    const knownToBe = hub.lastAnswer(accountId, location, agentId)?.calledOff;
    const cancellations = calledOff.filter((runId) => knownToBe?.has(runId) !== true);
    const time = serverTime(clock, receivedAt, arrivedAt);
    // The agent must learn at once that the clock was set.
    const remainingMs = time.isSet ? 0 : waitUntil - clock.monotonic();
    const hasNews =
      news.full ||
      [news.upserts, news.removals, jobs, cancellations].some((list) => list.length > 0);
    if (!hasNews && remainingMs > 0 && !signal.aborted) {
      await hub.changed(accountId, location, version, remainingMs, signal);
      refuseWhenStopping(services);
      try {
        await refuseRevoked(services.db, caller);
      } catch (error) {
        hub.depart(accountId, location, agentId, 'answered');
        throw error;
      }
      continue;
    }
    hub.depart(accountId, location, agentId, signal.aborted ? 'hung-up' : 'answered');
    const snapshot = hasNews || request.snapshot === null ? services.newId() : request.snapshot;
    hub.remember(accountId, location, agentId, {
      snapshot,
      revisions: news.revisions,
      calledOff: new Set(calledOff),
    });
    return {
      serverTime: { receivedAt: time.receivedAt, sentAt: time.sentAt },
      location,
      epoch: await epochOf(services.db, caller),
      ...(request.protocol >= keyedIdsFrom && {
        idKey: services.ids.keyOf(accountId, location),
      }),
      snapshot,
      full: news.full,
      upserts: news.upserts,
      removals: news.removals,
      jobs,
      cancellations,
    };
  }
}
