/** Agents and locations: rows → wire. */
import type { Capabilities } from '@monitor/shared/contract/agent-protocol.ts';
import type { FleetAgent, Interruption, LocationState } from '@monitor/shared/contract/fleet.ts';
import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { errorStreaksByLocation, outagesOf, type PassedSince } from '../alerting/index.ts';
import {
  keyOfPlace,
  loadOf,
  noResultsCode,
  noStand,
  overloadsByLocation,
  standsOf,
} from '../scheduling/index.ts';
import { readGaps } from '../reception/index.ts';

/** Agents that left are listed for this long. */
const rememberedMs = 86_400_000;

type IsServing = (location: string, agentId: string) => boolean;

function toLoad(row: RowOf<'agents'>): FleetAgent['load'] {
  const load = loadOf(row);
  if (load === null) return null;
  const { reason, cpuWaitRatio, lastSuspension } = load;
  return {
    ...{ overloadedSince: toTimestampOrNull(row.overloaded_since), reason, cpuWaitRatio },
    lastSuspension: lastSuspension && {
      endedAt: toTimestamp(lastSuspension.endedAt),
      lastedMs: lastSuspension.lastedMs,
    },
  };
}

function toAgent(row: RowOf<'agents'>, isServing: IsServing): FleetAgent {
  const { checkTypes, runtimes, icmp, capture, traceroute, browsers } = fromJson<Capabilities>(
    row.capabilities_json,
  );
  return {
    id: row.id,
    location: row.location,
    hostName: row.host_name,
    version: row.version,
    isServing: isServing(row.location, row.id),
    startedAt: toTimestamp(row.started_at),
    lastSeenAt: toTimestamp(row.last_seen_at),
    goneAt: toTimestampOrNull(row.gone_at),
    running: row.running,
    capacity: { light: row.capacity_light, heavy: row.capacity_heavy },
    outbox: {
      depth: row.outbox_depth,
      oldestAt: toTimestampOrNull(row.outbox_oldest_at),
      droppedTotal: row.outbox_dropped,
    },
    clockOffsetMs: row.clock_offset_ms,
    clockUncertaintyMs: row.clock_uncertainty_ms,
    load: toLoad(row),
    capabilities: { checkTypes, runtimes, icmp, capture, traceroute, browsers },
  };
}

/** The agents of an account by location; agents that left recently come last. */
export async function listAgents(
  db: Db,
  accountId: string,
  now: number,
  isServing: IsServing,
): Promise<FleetAgent[]> {
  const rows = await ownRows(db, 'agents', accountId)
    .where((where) =>
      where.or([where('gone_at', 'is', null), where('gone_at', '>', now - rememberedMs)]),
    )
    .orderBy('location')
    .orderBy('started_at', 'desc')
    .orderBy('id')
    .execute();
  return rows
    .map((row) => toAgent(row, isServing))
    .sort((left, right) => Number(right.isServing) - Number(left.isServing));
}

async function checksByLocation(db: Db, accountId: string) {
  const rows = await db
    .selectFrom('check_locations')
    .innerJoin('checks', 'checks.id', 'check_locations.check_id')
    .select('check_locations.location')
    .select((select) => select.fn.countAll<number>().as('checks'))
    .where('check_locations.account_id', '=', accountId)
    .where('checks.activated', '=', 1)
    .groupBy('check_locations.location')
    .execute();
  return new Map(rows.map(({ location, checks }) => [location, checks]));
}

async function queuesByLocation(db: Db, accountId: string, now: number) {
  const rows = await db
    .selectFrom('jobs')
    .select('location')
    .select((select) => [
      select.fn.countAll<number>().as('size'),
      select.fn.min('not_before').as('oldest'),
    ])
    .where('account_id', '=', accountId)
    .where('agent_id', 'is', null)
    .where('not_before', '<=', now)
    .groupBy('location')
    .execute();
  return new Map(rows.map(({ location, ...queue }) => [location, queue]));
}

async function faultsByLocation(db: Db, accountId: string, passedSince: PassedSince) {
  const faults = new Map<string, LocationState['faults']>();
  for (const [location, streaks] of await errorStreaksByLocation(db, { accountId })) {
    const outages = outagesOf(streaks, passedSince);
    faults.set(
      location,
      outages.map(({ code, since, runs, checkIds, kind }) => ({
        ...{ code, since: toTimestamp(since), runs, checkCount: checkIds.length },
        ...{ mostCommonCode: kind?.code ?? null, message: kind?.message ?? null },
      })),
    );
  }
  const silent = await ownRows(db, 'agent_health_alerts', accountId)
    .where('code', '=', noResultsCode)
    .execute();
  for (const { location, code, since, message, check_count: checkCount } of silent) {
    const fault = { code, since: toTimestamp(since), runs: 0, checkCount, mostCommonCode: null };
    faults.set(location, [...(faults.get(location) ?? []), { ...fault, message }]);
  }
  return faults;
}

const maxInterruptions = 100;

/** Gaps in reception and steps of the clock, newest first. */
export async function listInterruptions(db: Db): Promise<Interruption[]> {
  const gaps = await readGaps(db);
  return gaps
    .slice(-maxInterruptions)
    .reverse()
    .map(({ cause, from, to, lostMs, stepMs }) => ({
      ...{ cause, from: toTimestamp(from), to: toTimestamp(to), lostMs, stepMs },
    }));
}

/** Every location of a check, an agent or a private location, by name. */
export async function listLocationStates(
  db: Db,
  accountId: string,
  now: number,
  agentCount: (location: string) => number,
  passedSince: PassedSince,
): Promise<LocationState[]> {
  const owned = await db
    .selectFrom('private_locations')
    .select(['id', 'name', 'slug_name'])
    .where('account_id', '=', accountId)
    .execute();
  const states = await ownRows(db, 'location_states', accountId).execute();
  const checks = await checksByLocation(db, accountId);
  const queues = await queuesByLocation(db, accountId, now);
  const overloads = await overloadsByLocation(db, { accountId });
  const faults = await faultsByLocation(db, accountId, passedSince);
  const stands = await standsOf(db, ({ location }) => agentCount(location), { accountId });

  const privateOnes = new Map(owned.map((row) => [row.slug_name, row]));
  const stateOf = new Map(states.map((row) => [row.location, row]));
  const known = new Set([...privateOnes.keys(), ...stateOf.keys(), ...checks.keys()]);
  const names: Readonly<Record<string, string>> = dataCenterLocations;
  return [...known]
    .map((location): LocationState => {
      const own = privateOnes.get(location);
      const state = stateOf.get(location);
      const queue = queues.get(location);
      const known = overloads.get(location);
      const overload = known?.endedAt === null ? known : null;
      return {
        location,
        name: own?.name ?? names[location] ?? location,
        privateLocationId: own?.id ?? null,
        checkCount: checks.get(location) ?? 0,
        agentCount: agentCount(location),
        ...(stands.get(keyOfPlace({ accountId, location })) ?? noStand),
        servedSince: toTimestampOrNull(state?.served_since ?? null),
        unservedSince: toTimestampOrNull(state?.unserved_since ?? null),
        overloadedSince: toTimestampOrNull(overload?.since ?? null),
        overloadReason: overload?.reason ?? null,
        faults: faults.get(location) ?? [],
        waitingRuns: queue?.size ?? 0,
        oldestWaitingSeconds: queue === undefined ? 0 : (now - queue.oldest) / 1000,
      };
    })
    .sort((left, right) => left.name.localeCompare(right.name));
}
