/** The long poll of an agent: who it is, what it should run, which jobs it gets. */
import type { Kysely } from 'kysely';
import {
  leaseMs,
  type AssignedCheck,
  type CheckInAnswer,
  type CheckInRequest,
  type Job,
} from '@monitor/shared/contract/agent-protocol.ts';
import { badToken } from '../api-error.ts';
import { agentOfCheck, type Candidate } from '../domain/assignment.ts';
import type { Database, JobsTable } from '../db/tables.ts';
import { runsOnAgents, toAssigned, type CheckRow } from '../resources/checks/store.ts';
import type { Services } from '../services.ts';
import { effectiveAmong, effectiveFields, groupOf, groupsOf } from './effective-check.ts';

/** Most jobs handed out in one answer. */
const jobsPerCheckIn = 50;

interface Caller {
  accountId: string;
  location: string;
  keyId: string;
}

/** A key may be revoked while its agent waits; it must not learn anything more then. */
async function refuseRevoked(db: Kysely<Database>, { accountId, keyId }: Caller): Promise<void> {
  const key = await db
    .selectFrom('location_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', keyId)
    .executeTakeFirst();
  if (key === undefined) throw badToken();
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
  };
  await db
    .insertInto('agents')
    .values({ id: request.agentId, account_id: accountId, location, ...values })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'location', 'id']).doUpdateSet(values),
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

async function proxyOf(db: Kysely<Database>, caller: Caller): Promise<string | null> {
  const row = await db
    .selectFrom('private_locations')
    .select('proxy_url')
    .where('account_id', '=', caller.accountId)
    .where('slug_name', '=', caller.location)
    .executeTakeFirst();
  return row?.proxy_url ?? null;
}

/** The checks an agent should run now. */
async function assignmentsOf(
  services: Services,
  caller: Caller,
  agentId: string,
): Promise<AssignedCheck[]> {
  const members = services.hub.members(caller.accountId, caller.location);
  const proxyUrl = await proxyOf(services.db, caller);
  const rows = await activeChecks(services.db, caller);
  const mine = rows.filter((row) => agentOfCheck(row.id, row.type, members) === agentId);
  const groups = await groupsOf(services.db, caller.accountId, mine);
  return mine.map((row) =>
    toAssigned(row, effectiveAmong(row, groups), row.schedule_from, proxyUrl),
  );
}

type JobRow = {
  [Column in keyof JobsTable]: JobsTable[Column];
};

async function toJob(
  services: Services,
  caller: Caller,
  row: JobRow,
  leaseUntil: number,
): Promise<Job | undefined> {
  const check = await services.db
    .selectFrom('checks')
    .selectAll()
    .where('account_id', '=', caller.accountId)
    .where('id', '=', row.check_id)
    .executeTakeFirst();
  if (check === undefined || !runsOnAgents(check.type)) return undefined;
  return {
    id: row.id,
    runId: row.run_id,
    check: toAssigned(
      check,
      effectiveFields(check, await groupOf(services.db, check)),
      row.created_at,
      await proxyOf(services.db, caller),
    ),
    source: row.source,
    scheduledFor: row.scheduled_for,
    slotLocation: row.slot_location,
    attempt: row.attempt,
    sequenceStartedAt: row.sequence_started_at,
    notBefore: row.not_before,
    leaseUntil,
  };
}

/** Leases waiting jobs of the location to the agent. */
async function leaseJobs(services: Services, caller: Caller, agentId: string): Promise<Job[]> {
  const now = services.clock.now();
  const leaseUntil = now + leaseMs;
  const rows = await services.db.transaction().execute(async (db) => {
    const waiting = await db
      .selectFrom('jobs')
      .selectAll()
      .where('account_id', '=', caller.accountId)
      .where('location', '=', caller.location)
      .where('expires_at', '>', now)
      .where((where) => where.or([where('agent_id', 'is', null), where('lease_until', '<=', now)]))
      .orderBy('not_before')
      .limit(jobsPerCheckIn)
      .execute();
    if (waiting.length > 0) {
      await db
        .updateTable('jobs')
        .set({ agent_id: agentId, lease_until: leaseUntil })
        .where('account_id', '=', caller.accountId)
        .where(
          'id',
          'in',
          waiting.map((row) => row.id),
        )
        .execute();
    }
    return waiting;
  });
  const jobs = await Promise.all(rows.map((row) => toJob(services, caller, row, leaseUntil)));
  return jobs.filter((job) => job !== undefined);
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
  revisions: Map<string, number>;
}

/** What changed for the agent since it was last told, or everything when it holds something else. */
async function newsFor(services: Services, caller: Caller, request: CheckInRequest): Promise<News> {
  const { accountId, location } = caller;
  const told = services.hub.told(accountId, location, request.agentId);
  const held = told !== null && told.snapshot === request.snapshot ? told.revisions : null;
  const assigned = await assignmentsOf(services, caller, request.agentId);
  const revisions = new Map(assigned.map((check) => [check.id, check.revision]));
  if (held === null) return { full: true, upserts: assigned, removals: [], revisions };
  return {
    full: false,
    upserts: assigned.filter((check) => held.get(check.id) !== check.revision),
    removals: [...held.keys()].filter((id) => !revisions.has(id)),
    revisions,
  };
}

function candidateOf(request: CheckInRequest): Candidate {
  return {
    id: request.agentId,
    weight: Math.max(1, request.capacity.light),
    checkTypes: new Set(request.capabilities.checkTypes),
  };
}

/**
 * Answers a check-in: at once when there is news or a job, otherwise when something changes or the
 * wait is over. Aborting the signal (the agent hung up) makes the answer irrelevant.
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
  await saveAgent(services.db, caller, request, receivedAt);
  hub.arrive(accountId, location, candidateOf(request));
  const waitUntil = clock.monotonic() + request.waitMs;
  for (;;) {
    const version = hub.version(accountId, location);
    const news = await newsFor(services, caller, request);
    const jobs = signal.aborted ? [] : await leaseJobs(services, caller, agentId);
    const remainingMs = waitUntil - clock.monotonic();
    const hasNews =
      news.full || news.upserts.length > 0 || news.removals.length > 0 || jobs.length > 0;
    if (!hasNews && remainingMs > 0 && !signal.aborted) {
      await hub.changed(accountId, location, version, remainingMs, signal);
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
    hub.remember(accountId, location, agentId, { snapshot, revisions: news.revisions });
    return {
      serverTime: { receivedAt, sentAt: clock.now() },
      location,
      epoch: await epochOf(services.db, caller),
      snapshot,
      full: news.full,
      upserts: news.upserts,
      removals: news.removals,
      jobs,
      cancellations: [],
    };
  }
}
