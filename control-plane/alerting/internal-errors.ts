/**
 * Checks with nothing but internal errors. Their results say nothing about their targets and alert
 * nobody.
 */
import { idIn } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { maintenanceBetween } from '../maintenance/index.ts';
import {
  channelsToNotify,
  checksWaitingIn,
  noResultsCode,
  overloadedCode,
  type WaitingCheck,
} from '../scheduling/index.ts';
import { type Finding, type HealthCondition, noAgentCode, type Place } from './agent-health.ts';
import {
  type CheckStreak,
  isOutageOver,
  type LocationStreaks,
  type Outage,
  outageAfterMs,
  type OutageCode,
  outagesOf,
  unnotified,
} from './decide/error-streak.ts';
import { errorStreaksOf, forgetLocationStreak } from './error-streaks.ts';

const otherConditions: ReadonlySet<OutageCode> = new Set([
  noAgentCode,
  noResultsCode,
  overloadedCode,
]);

/** Checks with a conclusive result at the location at or after an instant: of the given ones, or of all. */
async function concludedSince(
  db: Db,
  { accountId, location }: Place,
  checkId: string | null,
  since: number,
): Promise<boolean> {
  const ofLocation = db
    .selectFrom('check_locations')
    .select(idIn('check_id').as('check_id'))
    .where('account_id', '=', accountId)
    .where('location', '=', location);
  const row = await db
    .selectFrom('check_results')
    .select('check_id')
    .where('check_id', 'in', checkId === null ? ofLocation : [checkId])
    .where('account_id', '=', accountId)
    .where('started_at', '>=', since)
    .where('result_type', '=', 'FINAL')
    .where('run_location', '=', location)
    .where('has_errors', '=', 0)
    .where('is_cancelled', '=', 0)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Deletes errors that were outdated when they arrived: a disconnected agent submits its runs after
 * others have made theirs. True when there were any.
 */
async function forgetOutdated(
  db: Db,
  place: Place,
  { code, since, checkIds }: Outage,
  { streaks }: LocationStreaks,
): Promise<boolean> {
  if (code === null) {
    const isOutdated = await concludedSince(db, place, null, since);
    if (isOutdated) await forgetLocationStreak(db, place);
    return isOutdated;
  }
  let hasForgotten = false;
  for (const streak of streaks.filter(({ checkId }) => checkIds.includes(checkId))) {
    if (!(await concludedSince(db, place, streak.checkId, streak.since))) continue;
    hasForgotten = true;
    await db
      .deleteFrom('error_streaks')
      .where('location', '=', place.location)
      .where('check_id', '=', streak.checkId)
      .execute();
  }
  return hasForgotten;
}

/**
 * The streaks that still matter: those of checks outside of maintenance with an error under their
 * present schedule, since their last maintenance, and since the location has an agent again.
 * Earlier problems may be fixed, and the next run shows it.
 */
async function standingStreaks(
  db: Db,
  { accountId, location }: Place,
  streaks: readonly CheckStreak[],
  checks: readonly WaitingCheck[],
  now: number,
): Promise<CheckStreak[]> {
  const state = await db
    .selectFrom('location_states')
    .select('served_since')
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .executeTakeFirst();
  const servedSince = state?.served_since ?? 0;
  const scheduled = new Map(checks.map(({ id, scheduledAt }) => [id, scheduledAt]));
  const fresh = streaks.filter(
    ({ checkId, lastAt }) => lastAt >= Math.max(servedSince, scheduled.get(checkId) ?? Infinity),
  );
  const ids = fresh.map(({ checkId }) => checkId);
  const from = Math.min(now, ...fresh.map(({ lastAt }) => lastAt));
  const maintained = await maintenanceBetween(db, accountId, ids, { from, to: now + 1 });
  return fresh.filter(
    ({ checkId, lastAt }) => !maintained.get(checkId)?.some(({ endsAt }) => endsAt > lastAt),
  );
}

/** Deletes streaks of checks that no longer run at the location. */
async function forgetIdle(db: Db): Promise<void> {
  await db
    .deleteFrom('error_streaks')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('check_locations')
            .innerJoin('schedule_periods', (join) =>
              join
                .onRef('schedule_periods.check_id', '=', 'check_locations.check_id')
                .on('schedule_periods.ends_at', 'is', null),
            )
            .select('check_locations.check_id')
            .whereRef('check_locations.check_id', '=', 'error_streaks.check_id')
            .whereRef('check_locations.location', '=', 'error_streaks.location'),
        ),
      ),
    )
    .execute();
  await db
    .deleteFrom('location_error_streaks')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('error_streaks')
            .select('error_streaks.check_id')
            .whereRef('error_streaks.account_id', '=', 'location_error_streaks.account_id')
            .whereRef('error_streaks.location', '=', 'location_error_streaks.location'),
        ),
      ),
    )
    .execute();
}

async function findingsAt(
  { clock, reception }: Services,
  db: Db,
  place: Place,
  open: ReadonlySet<OutageCode>,
): Promise<Finding[]> {
  const known = await errorStreaksOf(db, place);
  const newOutages = (streaks: readonly CheckStreak[]): Outage[] => {
    const passedSince = (instant: number) => reception.since(instant);
    const outages = outagesOf({ ...known, streaks }, passedSince, open);
    return unnotified(outages, open).filter(({ code }) => !otherConditions.has(code));
  };
  if (newOutages(known.streaks).length === 0) return [];
  const checks = await checksWaitingIn(db, place);
  const standing = await standingStreaks(db, place, known.streaks, checks, clock.now());
  const findings: Finding[] = [];
  for (const outage of newOutages(standing)) {
    const concerned = checks.filter(({ id }) => outage.checkIds.includes(id));
    // People who subscribe later are notified then.
    if ((await channelsToNotify(db, place.accountId, concerned)).length === 0) continue;
    if (await forgetOutdated(db, place, outage, known)) continue;
    findings.push({ ...outage, checks: concerned });
  }
  return findings;
}

export function internalErrors(services: Services): HealthCondition {
  const { db, clock, hub } = services;
  return {
    name: 'watch-internal-errors',
    everyMs: 10_000,
    owns: (code) => !otherConditions.has(code),
    look: async () => {
      await forgetIdle(db);
      const places = await db
        .selectFrom('error_streaks')
        .select(['account_id as accountId', 'location'])
        .distinct()
        .where('noted_at', '<=', clock.now() - outageAfterMs)
        .execute();
      return {
        suspects: places
          // Without an agent there is another alert, and no new information.
          .filter(({ accountId, location }) => hub.isServed(accountId, location))
          .map((place) => ({
            ...place,
            findings: (unit, open) => findingsAt(services, unit, place, open),
          })),
        endOf: async (unit, alert) => {
          if (!isOutageOver(alert, await errorStreaksOf(unit, alert))) return null;
          const isConclusive =
            alert.code === null && (await concludedSince(unit, alert, null, alert.since));
          return { isConclusive };
        },
      };
    },
  };
}
