/**
 * The agents that serve a location, as rows: those whose `gone_at` is null. A change of the set locks
 * the row of `location_states`, raises its epoch, and releases the jobs of agents that left. Renewing
 * the row of an agent that serves takes no such lock.
 */
import { sql, type ExpressionBuilder } from 'kysely';
import type { CheckInRequest } from '@monitor/shared/contract/agent-protocol.ts';
import { oneLine } from '../core/escape.ts';
import { eachOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import { rowsOf } from '../db/rows.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Database, Db } from '../db/tables.ts';
import { raiseJobs, type Place } from '../core/location-versions.ts';
import { aliveReplicas, aliveWithinMs } from '../replicas/index.ts';
import type { Candidate } from './decide/assignment.ts';
import { candidateFromRow } from './check-needs.ts';
import { releaseJobsOf, releaseShardsOf } from './jobs.ts';

export type { Place };

/** Identifies a location among those of all accounts. */
export const keyOfPlace = ({ accountId, location }: Place): string => `${accountId}/${location}`;

export interface Arrival extends Place {
  request: CheckInRequest;
  receivedAt: number;
}

/** By the clock of the control plane: the clock of the agent may be ahead. */
function overloadedSince({ load }: CheckInRequest, now: number): number | null {
  const since = load?.overloadedSince ?? null;
  return since === null ? null : Math.min(since, now);
}

function valuesOf({ request, receivedAt }: Arrival, replicaId: string) {
  return {
    version: request.version,
    host_name: oneLine(request.hostName ?? '') || null,
    capabilities_json: JSON.stringify(request.capabilities),
    capacity_light: request.capacity.light,
    capacity_heavy: request.capacity.heavy,
    running: request.running,
    outbox_depth: request.outbox.depth,
    outbox_oldest_at: request.outbox.oldestAt,
    outbox_dropped: request.outbox.droppedTotal,
    clock_offset_ms: request.clock.offsetMs,
    clock_uncertainty_ms: request.clock.uncertaintyMs ?? null,
    started_at: request.startedAt,
    last_seen_at: receivedAt,
    load_json: request.load === undefined ? null : JSON.stringify(request.load),
    overloaded_since: overloadedSince(request, receivedAt),
    replica_id: replicaId,
    held_snapshot: request.snapshot,
  };
}

type AgentValues = ReturnType<typeof valuesOf> & Place & { id: string };

/** For an agent that is not overloaded now: since this check-in, if it was until then. */
function overloadEndedAt(set: ExpressionBuilder<Database, 'agents'>, now: number) {
  return set
    .case()
    .when('agents.overloaded_since', 'is not', null)
    .then(now)
    .else(set.ref('agents.overload_ended_at'))
    .end();
}

/** Updates an agent that serves, has not restarted and offers the same as before; no row otherwise. */
const renewals = [true, false].map((isOverloaded) =>
  prepareQuery<AgentValues, { id: string }>((db, argument) =>
    db
      .updateTable('agents')
      .set((set) => ({
        version: argument('version'),
        capacity_heavy: argument('capacity_heavy'),
        running: argument('running'),
        outbox_depth: argument('outbox_depth'),
        outbox_oldest_at: argument('outbox_oldest_at'),
        outbox_dropped: argument('outbox_dropped'),
        clock_offset_ms: argument('clock_offset_ms'),
        clock_uncertainty_ms: argument('clock_uncertainty_ms'),
        last_seen_at: argument('last_seen_at'),
        load_json: argument('load_json'),
        overloaded_since: argument('overloaded_since'),
        replica_id: argument('replica_id'),
        held_snapshot: argument('held_snapshot'),
        overload_ended_at: isOverloaded ? null : overloadEndedAt(set, argument('last_seen_at')),
      }))
      .where('account_id', '=', argument('accountId'))
      .where('location', '=', argument('location'))
      .where('id', '=', argument('id'))
      .where('gone_at', 'is', null)
      .where('started_at', '=', argument('started_at'))
      .where('capacity_light', '=', argument('capacity_light'))
      .where('capabilities_json', '=', argument('capabilities_json'))
      .returning('id'),
  ),
);

/** In the order of the key, in which every transaction locks the rows. */
function inOrder<A extends Arrival>(arrivals: readonly A[]): A[] {
  const key = (arrival: Arrival): string => `${keyOfPlace(arrival)}/${arrival.request.agentId}`;
  return [...arrivals].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

/** Renews agents that serve and offer the same as before; gives the other arrivals. */
export async function renewAgents<A extends Arrival>(
  db: Db,
  arrivals: readonly A[],
  replicaId: string,
): Promise<A[]> {
  const news: A[] = [];
  for (const arrival of inOrder(arrivals)) {
    const { accountId, location, request } = arrival;
    const values = valuesOf(arrival, replicaId);
    const [whenOverloaded, otherwise] = renewals;
    const renewal = values.overloaded_since === null ? otherwise : whenOverloaded;
    const renewed = await renewal?.run(db, {
      ...values,
      ...{ accountId, location, id: request.agentId },
    });
    if (renewed?.length !== 1) news.push(arrival);
  }
  return news;
}

/** The state of a location, locked until the end of the transaction. */
async function lockState(db: Db, { accountId, location }: Place) {
  await db
    .insertInto('location_states')
    .values({
      ...{ account_id: accountId, location, epoch: 0 },
      ...{ served_since: null, unserved_since: null },
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'location']).doNothing())
    .execute();
  return lockRows(
    db
      .selectFrom('location_states')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('location', '=', location),
  ).executeTakeFirstOrThrow();
}

type State = Awaited<ReturnType<typeof lockState>>;

async function raiseEpoch(db: Db, before: State, isServed: boolean, now: number): Promise<void> {
  await db
    .updateTable('location_states')
    .set({
      epoch: before.epoch + 1,
      served_since: isServed ? (before.served_since ?? now) : null,
      unserved_since: isServed ? null : (before.unserved_since ?? now),
    })
    .where('account_id', '=', before.account_id)
    .where('location', '=', before.location)
    .execute();
}

const servingRows = (db: Db) =>
  db
    .selectFrom('agents')
    .select(['account_id', 'location', 'id', 'capacity_light', 'capabilities_json', 'replica_id'])
    .select('started_at')
    .where('gone_at', 'is', null);

const isIn =
  ({ accountId, location }: Place) =>
  (where: ExpressionBuilder<Database, 'agents'>) =>
    where.and([where('account_id', '=', accountId), where('location', '=', location)]);

/** Whether an agent there takes checks: one that drains offers no check type, and serves no more. */
async function isServed(db: Db, place: Place): Promise<boolean> {
  const rows = await servingRows(db)
    .where(isIn(place))
    .where('capabilities_json', 'not like', '%"checkTypes":[]%')
    .limit(1)
    .execute();
  return rows.length > 0;
}

function areEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((each) => other.has(each));
}

function offersSame(one: Candidate, other: Candidate): boolean {
  return (
    one.weight === other.weight &&
    areEqual(one.checkTypes, other.checkTypes) &&
    areEqual(one.runtimes, other.runtimes) &&
    one.hasBrowser === other.hasBrowser &&
    one.runsShards === other.runsShards
  );
}

/** A column of an agent that did not restart; null otherwise. */
function whileSame(
  set: ExpressionBuilder<Database, 'agents'>,
  startedAt: number,
  column: 'agents.open_runs_json' | 'agents.cancelled_runs_json',
) {
  return set
    .case()
    .when('agents.started_at', '=', startedAt)
    .then(set.ref(column))
    .else(null)
    .end();
}

/** Adds agents to one location, or changes what they offer; gives the ids of those that are news. */
export async function joinLocation(
  db: Db,
  place: Place,
  arrivals: readonly Arrival[],
  { replicaId, now }: { replicaId: string; now: number },
): Promise<Set<string>> {
  const before = await lockState(db, place);
  const serving = await servingRows(db)
    .where('account_id', '=', place.accountId)
    .where('location', '=', place.location)
    .where('id', 'in', eachOf(arrivals.map(({ request }) => request.agentId)))
    .execute();
  const known = new Map(serving.map((row) => [row.id, candidateFromRow(row)]));
  const startedAt = new Map(serving.map((row) => [row.id, row.started_at]));
  const restarted = arrivals
    .map(({ request }) => request)
    .filter(
      (request) => (startedAt.get(request.agentId) ?? request.startedAt) !== request.startedAt,
    );
  const news = new Set<string>();
  for (const arrival of inOrder(arrivals)) {
    const { agentId } = arrival.request;
    const values = valuesOf(arrival, replicaId);
    const candidate = candidateFromRow({ id: agentId, ...values });
    const offered = known.get(agentId);
    if (offered === undefined || !offersSame(offered, candidate)) news.add(agentId);
    known.set(agentId, candidate);
    await db
      .insertInto('agents')
      .values({
        ...{ id: agentId, account_id: place.accountId, location: place.location, ...values },
        ...{ gone_at: null, overload_ended_at: null },
      })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'location', 'id']).doUpdateSet((set) => ({
          ...values,
          gone_at: null,
          // An agent that restarted has lost its runs in progress.
          open_runs_json: whileSame(set, values.started_at, 'agents.open_runs_json'),
          cancelled_runs_json: whileSame(set, values.started_at, 'agents.cancelled_runs_json'),
          overload_ended_at: values.overloaded_since === null ? overloadEndedAt(set, now) : null,
        })),
      )
      .execute();
  }
  if (news.size > 0) await raiseEpoch(db, before, await isServed(db, place), now);
  await releaseShardsOf(
    db,
    place,
    restarted.map(({ agentId }) => agentId),
  );
  return news;
}

/** What the agents of a location held at their last check-in, wherever that was. */
export async function heldSnapshots(
  db: Db,
  place: Place,
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await db
    .selectFrom('agents')
    .select(['id', 'held_snapshot'])
    .where(isIn(place))
    .where('gone_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.id, row.held_snapshot]));
}

/** Those of these agents that serve and checked in at a replica last, and when. */
export async function agentsOfReplica(
  db: Db,
  { accountId, location }: Place,
  agentIds: readonly string[],
  replicaId: string,
): Promise<{ id: string; lastSeenAt: number }[]> {
  return db
    .selectFrom('agents')
    .select(['id', 'last_seen_at as lastSeenAt'])
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('id', 'in', eachOf(agentIds))
    .where('gone_at', 'is', null)
    .where('replica_id', '=', replicaId)
    .execute();
}

/**
 * Takes agents out of a location; gives the ids of those that were in it. With `replicaId` only
 * those that checked in there last, before `now`.
 */
export async function leaveLocation(
  db: Db,
  place: Place,
  agentIds: readonly string[],
  { replicaId, now }: { replicaId?: string; now: number },
): Promise<string[]> {
  const { accountId, location } = place;
  // Who never joined changes nothing: not even a location that no agent ever served.
  const ids = eachOf(agentIds);
  const known = await servingRows(db).where(isIn(place)).where('id', 'in', ids).limit(1).execute();
  if (known.length === 0) return [];
  const before = await lockState(db, place);
  let leaving = db
    .updateTable('agents')
    .set({
      ...{ gone_at: now, open_runs_json: null, cancelled_runs_json: null },
      said_goodbye: replicaId === undefined ? 1 : 0,
    })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('id', 'in', ids)
    .where('gone_at', 'is', null);
  if (replicaId !== undefined) {
    leaving = leaving.where('replica_id', '=', replicaId).where('last_seen_at', '<', now);
  }
  const gone = (await leaving.returning('id').execute()).map(({ id }) => id);
  if (gone.length === 0) return gone;
  await raiseEpoch(db, before, await isServed(db, place), now);
  await releaseJobsOf(db, { accountId, location, gone });
  await raiseJobs(db, accountId, [location]);
  return gone;
}

/** A replica that is alive gives up an agent earlier: after the longest poll and the time to return. */
const adoptAfterMs = 45_000;

export interface ServingAgent extends Place {
  candidate: Candidate;
  replicaId: string | null;
}

/** The agents that serve, of all locations or of one. */
export async function servingAgents(db: Db, place?: Place): Promise<ServingAgent[]> {
  const rows = await servingRows(db)
    .$if(place !== undefined, (query) =>
      query
        .where('account_id', '=', place?.accountId ?? '')
        .where('location', '=', place?.location ?? ''),
    )
    .execute();
  return rows.map((row) => ({
    ...{ accountId: row.account_id, location: row.location, replicaId: row.replica_id },
    candidate: candidateFromRow(row),
  }));
}

/**
 * Takes over agents of other replicas, and gives them: with `now` those whose replica is dead, and those
 * that a replica that is alive would have given up by then; without it all of them.
 */
export async function adoptAgents(
  db: Db,
  replicaId: string,
  now: number | null,
): Promise<(Place & { agentId: string })[]> {
  const rows = await db
    .updateTable('agents')
    .set({ replica_id: replicaId })
    .where('gone_at', 'is', null)
    .where((where) =>
      where.or([where('replica_id', 'is', null), where('replica_id', '!=', replicaId)]),
    )
    .$if(now !== null, (query) =>
      query.where((where) => {
        const at = now ?? 0;
        return where.or([
          where('last_seen_at', '<', at - adoptAfterMs),
          where.and([
            // A check-in is a sign of life as well.
            where('last_seen_at', '<', at - aliveWithinMs),
            where('replica_id', 'not in', aliveReplicas(db, at)),
          ]),
        ]);
      }),
    )
    .returning(['account_id', 'location', 'id'])
    .execute();
  return rows.map((row) => ({
    ...{ accountId: row.account_id, location: row.location, agentId: row.id },
  }));
}

/** The versions of all that the agents of a location can hear. */
export interface LocationVector extends Place {
  /** Of the set of agents. */
  epoch: number;
  /** Of the checks of the location, and of what concerns the whole account. */
  version: number;
  accountVersion: number;
  environmentRevision: number;
  /** The default runtime of the account. */
  runtimeId: string | null;
  jobsVersion: number;
}

interface VectorRow {
  account_id: string;
  location: string;
  epoch: number;
  environment_revision: number;
  runtime_id: string | null;
  version: number | null;
  jobs_version: number | null;
  account_version: number | null;
}

const vectors = (db: Db) =>
  db
    .selectFrom('location_states as state')
    .innerJoin('accounts', 'accounts.id', 'state.account_id')
    .leftJoin('location_versions as own', (join) =>
      join
        .onRef('own.account_id', '=', 'state.account_id')
        .onRef('own.location', '=', 'state.location'),
    )
    .leftJoin('location_versions as shared', (join) =>
      join.onRef('shared.account_id', '=', 'state.account_id').on('shared.location', '=', ''),
    )
    .select([
      'state.account_id',
      'state.location',
      'state.epoch',
      'accounts.environment_revision',
      'accounts.runtime_id',
      'own.version',
      'own.jobs_version',
      'shared.version as account_version',
    ]);

const allVectors = prepareQuery<object, VectorRow>((db) => vectors(db));
const vectorOfOne = prepareQuery<Place, VectorRow>((db, argument) =>
  vectors(db)
    .where('state.account_id', '=', argument('accountId'))
    .where('state.location', '=', argument('location')),
);

function vectorsOfMany(db: Db, places: readonly Place[]): Promise<VectorRow[]> {
  const given = rowsOf(
    { accountId: 'text', location: 'text' },
    places.map(({ accountId, location }) => ({ accountId, location })),
  );
  return vectors(db)
    .where(
      sql<boolean>`(state.account_id, state.location) in (select "accountId", location from ${given} as given)`,
    )
    .execute();
}

/** The versions of every location that ever had an agent, or of some. One statement. */
export async function readVectors(db: Db, places?: readonly Place[]): Promise<LocationVector[]> {
  const [place, ...more] = places ?? [];
  let rows: VectorRow[];
  if (places === undefined) rows = await allVectors.run(db, {});
  else if (place === undefined) rows = [];
  else if (more.length > 0) rows = await vectorsOfMany(db, places);
  else rows = await vectorOfOne.run(db, { accountId: place.accountId, location: place.location });
  return rows.map((row) => ({
    ...{ accountId: row.account_id, location: row.location, epoch: row.epoch },
    version: row.version ?? 0,
    accountVersion: row.account_version ?? 0,
    environmentRevision: row.environment_revision,
    runtimeId: row.runtime_id,
    jobsVersion: row.jobs_version ?? 0,
  }));
}
