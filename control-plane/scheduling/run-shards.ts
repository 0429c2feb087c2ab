/**
 * Runs of suites that the agents of a location share. The agent whose run it is, its coordinator, makes the
 * shards, claims those that wait, and gathers what all of them came to. Others are offered them with their
 * check-ins, and lease them like jobs (`jobs.ts`). A shard has at most one outcome: the first one that its
 * holder hands in. All is deleted once the run has its result.
 */
import {
  leaseMs,
  maxShardsBytes,
  type ShardAnswer,
  type ShardedRun,
  shardOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { keyedRunIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { fieldsOf, type CheckRow } from '../checks/index.ts';
import { raiseJobs } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import { eachIdOf, eachOf, isOneOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import { daysOf, isOfDays, runDayOf } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { ApiError, invalidField } from '../errors/api-error.ts';
import { needsOfChecks } from './check-needs.ts';
import { agentsFor } from './decide/assignment.ts';
import { encryptsResults } from './private-locations/store.ts';
import { servingAgents, type Place } from './serving-agents.ts';

type ShardRow = RowOf<'run_shards'>;

interface Coordinator extends Place {
  agentId: string;
}

interface Request {
  agentId: string;
  run: ShardedRun;
  has: readonly number[];
  claims: boolean;
  waitMs: number;
}

/** A lease that runs out wakes nobody. */
const lookEveryMs = 2_000;
/** An answer has one outcome at least, and more of them up to this length. */
const maxAnswerLength = 4_194_304;
/** Shards of runs in progress of a location; a slot is never older than this when it is shared. */
const maxOpenShards = 2_000;
const maxSlotAgeMs = 2 * 3_600_000;

function shardsOfRun(db: Db, { accountId, location }: Place, { runId, attempt }: ShardedRun) {
  return db
    .selectFrom('run_shards')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('run_id', '=', runId)
    .where('attempt', '=', attempt)
    .orderBy('shard')
    .execute();
}

const noSuchRun = (runId: string) =>
  new ApiError('NOT_FOUND', `no run ${runId} of a suite is in progress here`);

/** What started the run. Throws for a run that is none of this agent. */
async function startOf(
  { ids, clock }: Services,
  db: Db,
  { accountId, location, agentId }: Coordinator,
  run: ShardedRun,
): Promise<{ source: string; environmentUrl: string | null }> {
  const { checkId, runId, scheduledFor, jobId } = run;
  if (jobId !== null) {
    const job = await db
      .selectFrom('jobs')
      .select(['source', 'environment_url'])
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('id', '=', jobId)
      .where('run_id', '=', runId)
      .where('check_id', '=', checkId)
      .where('agent_id', '=', agentId)
      .executeTakeFirst();
    if (job === undefined) throw noSuchRun(runId);
    return { source: job.source, environmentUrl: job.environment_url };
  }
  const keyed = ids.keyedSha256HexOf(accountId, location);
  const isSlot =
    scheduledFor !== null &&
    Math.abs(clock.now() - scheduledFor) < maxSlotAgeMs &&
    run.slotLocation === location &&
    runId === keyedRunIdOfSlot({ checkId, location, scheduledFor }, keyed);
  if (!isSlot) throw noSuchRun(runId);
  const there = await db
    .selectFrom('check_locations')
    .select('check_id')
    .where('check_id', '=', checkId)
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .executeTakeFirst();
  if (there === undefined) throw noSuchRun(runId);
  return { source: '', environmentUrl: null };
}

async function isOver(db: Db, accountId: string, run: ShardedRun): Promise<boolean> {
  const days = daysOf([runDayOf({ run_id: run.runId, scheduled_for: run.scheduledFor })]);
  const ended = await db
    .selectFrom('check_runs')
    .select('id')
    .where('account_id', '=', accountId)
    .where(isOneOf('run_id', eachIdOf([run.runId])))
    .where(isOfDays('check_runs', days))
    .where('state', '=', 'FINAL')
    .executeTakeFirst();
  return ended !== undefined;
}

/** Why a run is not shared; null when it may be. */
async function whyWhole(
  db: Db,
  coordinator: Coordinator,
  check: CheckRow,
  run: ShardedRun,
): Promise<string | null> {
  if (check.revision !== run.checkRevision) return 'the check has changed since the run began';
  if (await encryptsResults(db, coordinator)) {
    return 'the results of this location are encrypted, and one agent cannot read those of another';
  }
  const needs = (await needsOfChecks(db, coordinator.accountId, [check])).get(check.id);
  const others = (await servingAgents(db, coordinator))
    .map(({ candidate }) => candidate)
    .filter(({ id, runsShards }) => runsShards === true && id !== coordinator.agentId);
  if (needs === undefined || agentsFor(needs, others).length === 0) {
    return 'no other agent of this location takes shards of it';
  }
  const [open] = await db
    .selectFrom('run_shards')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('account_id', '=', coordinator.accountId)
    .where('location', '=', coordinator.location)
    .execute();
  return Number(open?.count ?? 0) >= maxOpenShards
    ? 'too many runs of this location are shared at the moment'
    : null;
}

/** Makes the shards of a run; gives why it is not shared. */
async function makeShards(
  services: Services,
  db: Db,
  coordinator: Coordinator,
  run: ShardedRun,
): Promise<string | null> {
  const { accountId, location } = coordinator;
  const check = await db
    .selectFrom('checks')
    .selectAll()
    .where('id', '=', run.checkId)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  const type = check && findAgentType(check.type);
  const total = (check && type?.shardsOf?.({ ...fieldsOf(check) })) ?? 1;
  if (check === undefined || type === undefined || total < 2) throw noSuchRun(run.runId);
  const { source, environmentUrl } = await startOf(services, db, coordinator, run);
  if (await isOver(db, accountId, run)) throw noSuchRun(run.runId);
  const refusal = await whyWhole(db, coordinator, check, run);
  if (refusal !== null) return refusal;
  const now = services.clock.now();
  const shards = Array.from({ length: total }, (_, index) => ({
    ...{ id: services.newId(), account_id: accountId, location, run_id: run.runId },
    ...{ attempt: run.attempt, shard: index + 1, total, check_id: check.id },
    ...{ check_revision: check.revision, source, environment_url: environmentUrl },
    ...{ slot_location: run.slotLocation, scheduled_for: run.scheduledFor, created_at: now },
    ...{ expires_at: now + type.maxRunMs + leaseMs, agent_id: null, lease_until: null },
    ...{ cancel_requested_at: null, outcome_json: null },
  }));
  await db
    .insertInto('run_shards')
    .values(shards)
    // Another coordinator of the same run was faster.
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'location', 'run_id', 'attempt', 'shard']).doNothing(),
    )
    .execute();
  return null;
}

/** Leases these shards, as far as they wait; gives those that were leased. */
export async function leaseShards(
  db: Db,
  { accountId, location, agentId }: Coordinator,
  shardIds: readonly string[],
  now: number,
): Promise<ShardRow[]> {
  if (shardIds.length === 0) return [];
  return db
    .updateTable('run_shards')
    .set({ agent_id: agentId, lease_until: now + leaseMs })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('id', 'in', eachOf(shardIds))
    .where('expires_at', '>', now)
    .where('cancel_requested_at', 'is', null)
    .where('outcome_json', 'is', null)
    .where((where) => where.or([where('agent_id', 'is', null), where('lease_until', '<=', now)]))
    .returningAll()
    .execute();
}

function newOutcomes(rows: readonly ShardRow[], has: ReadonlySet<number>): ShardAnswer['outcomes'] {
  const outcomes: ShardAnswer['outcomes'] = [];
  let length = 0;
  for (const { shard: index, outcome_json: outcome } of rows) {
    if (outcome === null || has.has(index)) continue;
    length += outcome.length;
    if (outcomes.length > 0 && length > maxAnswerLength) break;
    outcomes.push({ index, outcome });
  }
  return outcomes;
}

async function look(
  services: Services,
  db: Db,
  coordinator: Coordinator,
  { run, has, claims }: Request,
): Promise<{ answer: ShardAnswer; isNew: boolean }> {
  const nothing = { total: 0, claim: null, outcomes: [] };
  let rows = await shardsOfRun(db, coordinator, run);
  const isNew = rows.length === 0;
  if (isNew) {
    const refusal = await makeShards(services, db, coordinator, run);
    if (refusal !== null) return { answer: { refusal, ...nothing }, isNew: false };
    rows = await shardsOfRun(db, coordinator, run);
  }
  const isOther = rows.some(
    (row) => row.check_id !== run.checkId || row.cancel_requested_at !== null,
  );
  if (isOther) throw noSuchRun(run.runId);
  const outcomes = newOutcomes(rows, new Set(has));
  const now = services.clock.now();
  let claimed: ShardRow | undefined;
  const waiting = rows.filter(
    (row) => row.outcome_json === null && (row.agent_id === null || (row.lease_until ?? 0) <= now),
  );
  for (const { id } of claims ? waiting : []) {
    [claimed] = await leaseShards(db, coordinator, [id], now);
    if (claimed !== undefined) break;
  }
  // Last, since it locks the location.
  if (isNew) await raiseJobs(db, coordinator.accountId, [coordinator.location]);
  const claim = claimed === undefined ? null : { jobId: claimed.id, index: claimed.shard };
  return { answer: { refusal: null, total: rows.length, claim, outcomes }, isNew };
}

/** Shares a run; see `shareRun` of the protocol. */
export async function shareRun(
  services: Services,
  place: Place,
  request: Request,
  signal: AbortSignal,
): Promise<ShardAnswer> {
  const { clock, commits, hub, runs } = services;
  const { agentId, run, waitMs } = request;
  const coordinator = { accountId: place.accountId, location: place.location, agentId };
  const until = clock.monotonic() + waitMs;
  for (;;) {
    const { answer, isNew } = await commits.run((db) => look(services, db, coordinator, request));
    if (isNew) hub.notify(place.accountId, place.location);
    const leftMs = until - clock.monotonic();
    const hasNews = answer.refusal !== null || answer.claim !== null || answer.outcomes.length > 0;
    if (hasNews || leftMs <= 0 || signal.aborted || runs.isClosed) return answer;
    await runs.nextEnd([run.runId], Math.min(leftMs, lookEveryMs), signal);
  }
}

/** In the shape that its coordinator reads, without fields that nobody knows. */
function readOutcome(text: string): string {
  try {
    return JSON.stringify(shardOutcome.parse(JSON.parse(text)));
  } catch {
    throw invalidField('outcome', 'is not what a shard came to');
  }
}

/** Takes the outcome of a shard from its holder. */
export async function finishShard(
  { commits, runs }: Pick<Services, 'commits' | 'runs'>,
  { accountId, location }: Place,
  { agentId, jobId, outcome }: { agentId: string; jobId: string; outcome: string },
): Promise<'accepted' | 'duplicate' | 'lost'> {
  const json = readOutcome(outcome);
  const { kind, runId } = await commits.run(async (db) => {
    const row = await db
      .selectFrom('run_shards')
      .select(['run_id', 'total', 'agent_id', 'outcome_json'])
      .where('id', '=', jobId)
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .executeTakeFirst();
    const held = row?.agent_id === agentId ? row : undefined;
    if (held === undefined) return { kind: 'lost' as const, runId: null };
    if (held.outcome_json !== null) return { kind: 'duplicate' as const, runId: null };
    if (Buffer.byteLength(json) > maxShardsBytes / held.total) {
      throw new ApiError('PAYLOAD_TOO_LARGE', 'the outcome is larger than its part of the result');
    }
    const [taken] = await db
      .updateTable('run_shards')
      .set({ outcome_json: json })
      .where('id', '=', jobId)
      .where('agent_id', '=', agentId)
      .where('cancel_requested_at', 'is', null)
      .where('outcome_json', 'is', null)
      .returning('run_id')
      .execute();
    return taken === undefined
      ? { kind: 'lost' as const, runId: null }
      : { kind: 'accepted' as const, runId: taken.run_id };
  });
  if (runId !== null) runs.ended([runId]);
  return kind;
}

/**
 * The results of these runs are stored: nobody needs their shards any more, and who still has one ends it.
 * Gives the places whose agents must hear of it.
 */
export async function endSharedRuns(
  db: Db,
  ended: readonly { accountId: string; runId: string }[],
  now: number,
): Promise<Place[]> {
  const places: Place[] = [];
  for (const [accountId, ofAccount] of Map.groupBy(ended, (run) => run.accountId)) {
    const runIds = eachOf(ofAccount.map(({ runId }) => runId));
    const ofRuns = db
      .deleteFrom('run_shards')
      .where('account_id', '=', accountId)
      .where('run_id', 'in', runIds);
    await ofRuns
      .where((where) =>
        where.or([where('agent_id', 'is', null), where('outcome_json', 'is not', null)]),
      )
      .execute();
    const inProgress = await db
      .updateTable('run_shards')
      .set({ cancel_requested_at: now })
      .where('account_id', '=', accountId)
      .where('run_id', 'in', runIds)
      .returning('location')
      .execute();
    places.push(...inProgress.map(({ location }) => ({ accountId, location })));
  }
  return places;
}

/** Deletes shards of runs that never got a result, and those that were ended and are nobody's. */
export async function pruneShards({ db, clock }: Pick<Services, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  await db
    .deleteFrom('run_shards')
    .where((where) =>
      where.or([
        where('expires_at', '<=', now),
        where.and([
          where('cancel_requested_at', 'is not', null),
          where.or([where('agent_id', 'is', null), where('lease_until', '<=', now)]),
        ]),
      ]),
    )
    .execute();
}

export type OpenShard = Pick<
  ShardRow,
  | ('id' | 'run_id' | 'check_id' | 'check_revision' | 'agent_id' | 'lease_until' | 'expires_at')
  | 'cancel_requested_at'
>;

const openOfPlace = prepareQuery<Place, OpenShard>((db, argument) =>
  db
    .selectFrom('run_shards')
    .select(['id', 'run_id', 'check_id', 'check_revision', 'agent_id', 'lease_until', 'expires_at'])
    .select('cancel_requested_at')
    .where('account_id', '=', argument('accountId'))
    .where('location', '=', argument('location'))
    .where('outcome_json', 'is', null)
    .orderBy('created_at')
    .orderBy('run_id')
    .orderBy('shard'),
);

/** The shards of a location without an outcome. */
export function openShards(db: Db, { accountId, location }: Place): Promise<OpenShard[]> {
  return openOfPlace.run(db, { accountId, location });
}
