/** Checks that should have results and have none, for any reason; one alert per location. */
import { sql } from 'kysely';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { scheduleOf } from '@monitor/shared/domain/frequency.ts';
import type { Db } from '../db/tables.ts';
import {
  checksWaitingIn,
  explainMissingResults,
  noResultsCode,
  overloadOf,
  missingAfterMs,
} from '../scheduling/index.ts';
import type { Services } from '../core/services.ts';
import { maintenanceBetween } from '../maintenance/index.ts';
import {
  type Finding,
  type HealthAlert,
  type HealthCondition,
  keyOfPlace,
  type Place,
  unknownKind,
} from './agent-health.ts';

/** A check counts as silent after this time at the earliest. */
const minMs = 5 * 60_000;
/** A run whose attempts continue counts as monitoring. */
const runsGoOnMs = 25 * 60_000;

interface SilentCheck extends Place {
  checkId: string;
  since: number;
}

/** Active checks whose last FINAL result may be too old, with all their locations. */
async function candidatesOf(db: Db, now: number) {
  return db
    .selectFrom('schedule_periods')
    .innerJoin('checks', 'checks.id', 'schedule_periods.check_id')
    .leftJoin('check_statuses', 'check_statuses.check_id', 'checks.id')
    .select([
      'checks.id as checkId',
      'checks.account_id as accountId',
      'checks.created_at as createdAt',
      'checks.type',
      'schedule_periods.frequency',
      'schedule_periods.frequency_offset as frequencyOffset',
      'schedule_periods.starts_at as startsAt',
      'check_statuses.updated_at as heardAt',
    ])
    .where('schedule_periods.ends_at', 'is', null)
    .where(({ eb, fn, lit }) =>
      eb(fn.coalesce('check_statuses.updated_at', lit(0)), '<=', now - minMs),
    )
    .execute();
}

/** The served locations of a check, and the start of the first service. */
async function servedPlaces(
  { hub }: Services,
  db: Db,
  { accountId, checkId }: { accountId: string; checkId: string },
) {
  const rows = await db
    .selectFrom('check_locations')
    .innerJoin('location_states', (join) =>
      join
        .onRef('location_states.account_id', '=', 'check_locations.account_id')
        .onRef('location_states.location', '=', 'check_locations.location'),
    )
    .select(['check_locations.location', 'location_states.served_since as servedSince'])
    .where('check_locations.check_id', '=', checkId)
    .orderBy('position')
    .execute();
  return rows.flatMap(({ location, servedSince }) =>
    servedSince !== null && hub.isServed(accountId, location) ? [{ location, servedSince }] : [],
  );
}

async function hasRunGoingOn(db: Db, checkId: string, now: number): Promise<boolean> {
  const run = await db
    .selectFrom('check_runs')
    .select('id')
    .where('check_id', '=', checkId)
    .where('state', '=', sql.lit('RUNNING'))
    .where('created_at', '>', now - runsGoOnMs)
    .limit(1)
    .executeTakeFirst();
  return run !== undefined;
}

/**
 * Checks without results for too long. Checks in maintenance, with a run in progress or whose schedule has just
 * been changed are not notified, but they do not end an alert either, because they have no results.
 */
async function silentChecks(
  services: Services,
  db: Db,
): Promise<Record<'silent' | 'excused', SilentCheck[]>> {
  const { clock, reception } = services;
  const now = clock.now();
  const silent: SilentCheck[] = [];
  const excused: SilentCheck[] = [];
  for (const check of await candidatesOf(db, now)) {
    const { checkId, accountId } = check;
    const limitMs = missingAfterMs(check.type as CheckType, scheduleOf(check).intervalMs);
    const lastAt = Math.max(check.startsAt, check.heardAt ?? 0);
    if (reception.since(check.heardAt ?? check.createdAt) < limitMs) continue;
    const [first, ...others] = await servedPlaces(services, db, check);
    if (first === undefined) continue;
    const servedSince = Math.min(...[first, ...others].map((place) => place.servedSince));
    const since = Math.max(lastAt, servedSince);
    const windows = await maintenanceBetween(db, accountId, [checkId], {
      ...{ from: now - limitMs, to: now + 1 },
    });
    // The time after a maintenance counts from its end.
    const isExcused =
      reception.since(since) < limitMs ||
      windows.get(checkId)?.some(({ endsAt }) => endsAt > now - limitMs) === true ||
      (await hasRunGoingOn(db, checkId, now));
    const found = { accountId, checkId, location: first.location, since };
    (isExcused ? excused : silent).push(found);
  }
  return { silent, excused };
}

/** Whether a check of the location had a result after it was found silent. */
async function isHeardSince(db: Db, alert: HealthAlert): Promise<boolean> {
  const heard = await db
    .selectFrom('check_locations')
    .innerJoin('check_statuses', 'check_statuses.check_id', 'check_locations.check_id')
    .select('check_locations.check_id')
    .where('check_locations.account_id', '=', alert.accountId)
    .where('check_locations.location', '=', alert.location)
    .where('check_statuses.updated_at', '>', alert.since)
    .limit(1)
    .executeTakeFirst();
  return heard !== undefined;
}

async function explain(
  services: Services,
  db: Db,
  place: Place,
  checkIds: readonly string[],
  since: number,
): Promise<string> {
  const { reception } = services;
  const missed = await db
    .selectFrom('check_runs')
    .select('missed_reason as reason')
    .select((select) => select.fn.countAll<number>().as('slots'))
    .where('account_id', '=', place.accountId)
    .where('check_id', 'in', checkIds)
    .where('scheduled_for', '>', since)
    .where('state', '=', 'MISSED')
    .where('missed_reason', 'is not', null)
    .where('missed_reason', '!=', 'maintenance')
    .groupBy('missed_reason')
    .execute();
  const overload = await overloadOf(db, place);
  return explainMissingResults({
    missed: missed.map(({ reason, slots }) => ({ reason: reason ?? '', slots: Number(slots) })),
    overload: overload?.endedAt === null ? overload : null,
    wasClockSet: (reception.lastStep?.to ?? Number.NEGATIVE_INFINITY) >= since,
    clockProblem: reception.clockProblem,
  });
}

const maxExplained = 200;

async function findingsAt(
  services: Services,
  db: Db,
  place: Place,
  silent: readonly SilentCheck[],
): Promise<Finding[]> {
  const ids = new Set(silent.map(({ checkId }) => checkId));
  const checks = (await checksWaitingIn(db, place)).filter(({ id }) => ids.has(id));
  if (checks.length === 0) return [];
  const since = Math.min(...silent.map((check) => check.since));
  const message = await explain(services, db, place, [...ids].slice(0, maxExplained), since);
  return [{ code: noResultsCode, since, runs: 0, kind: unknownKind(message), checks }];
}

export function missingResults(services: Services): HealthCondition {
  const { db, hub } = services;
  return {
    name: 'watch-results',
    everyMs: 20_000,
    owns: (code) => code === noResultsCode,
    look: async () => {
      const { silent, excused } = await silentChecks(services, db);
      const withoutResults = new Set([...silent, ...excused].map(keyOfPlace));
      return {
        suspects: [...Map.groupBy(silent, keyOfPlace).values()].flatMap((ofPlace) =>
          ofPlace.slice(0, 1).map(({ accountId, location }) => ({
            ...{ accountId, location },
            findings: (unit) => findingsAt(services, unit, { accountId, location }, ofPlace),
          })),
        ),
        // Without an agent there is another alert, and there are no results.
        endOf: async (unit, alert) => {
          const goesOn =
            withoutResults.has(keyOfPlace(alert)) || !hub.isServed(alert.accountId, alert.location);
          if (goesOn) return null;
          const isConclusive = await isHeardSince(unit, alert);
          // A check that may now be silent for longer, say, has no results because of that.
          const isWaiting = !isConclusive && (await checksWaitingIn(unit, alert)).length > 0;
          return isWaiting ? null : { isConclusive };
        },
      };
    },
  };
}
