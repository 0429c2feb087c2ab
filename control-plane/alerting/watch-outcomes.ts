/**
 * The watchdog on outcomes, and what locations say of their load: people are told once when checks that
 * should have results have none, or when a location is overloaded, and once when that is over. All checks
 * of a location that lack results are one notice.
 */
import { sql, type Kysely } from 'kysely';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { scheduleOf } from '@monitor/shared/domain/frequency.ts';
import type { Database } from '../db/tables.ts';
import {
  checksWaitingIn,
  explainSilence,
  noResultsCode,
  type Overload,
  overloadedCode,
  overloadedForMs,
  overloadOf,
  quietForMs,
  silentAfterMs,
} from '../scheduling/index.ts';
import type { Services } from '../core/services.ts';
import { closeNotice, openNotice, type Place } from './fault-notices.ts';
import { maintenanceBetween } from '../maintenance/index.ts';

/** No check is silent sooner. */
const leastMs = 5 * 60_000;
/** Attempts of a run that goes on say that it is monitored. */
const runsGoOnMs = 25 * 60_000;

interface SilentCheck extends Place {
  checkId: string;
  since: number;
}

/** Active checks whose last FINAL may be too old, with all their locations. */
async function candidatesOf(db: Kysely<Database>, now: number) {
  return db
    .selectFrom('schedule_periods')
    .innerJoin('checks', 'checks.id', 'schedule_periods.check_id')
    .leftJoin('check_statuses', 'check_statuses.check_id', 'checks.id')
    .select([
      'checks.id as checkId',
      'checks.account_id as accountId',
      'checks.type',
      'schedule_periods.frequency',
      'schedule_periods.frequency_offset as frequencyOffset',
      'schedule_periods.starts_at as startsAt',
      'check_statuses.updated_at as heardAt',
    ])
    .where('schedule_periods.ends_at', 'is', null)
    .where('schedule_periods.starts_at', '<=', now - leastMs)
    .where(({ eb, fn, lit }) =>
      eb(fn.coalesce('check_statuses.updated_at', lit(0)), '<=', now - leastMs),
    )
    .execute();
}

/** The locations of a check that agents serve, and since when the first of them does. */
async function servedPlaces(
  { hub }: Services,
  db: Kysely<Database>,
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

async function hasRunGoingOn(db: Kysely<Database>, checkId: string, now: number): Promise<boolean> {
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
 * Checks without results for too long. Of those with an excuse, in maintenance or with a run in progress,
 * nobody is notified; they have no results either, so that nothing is over because of them.
 */
async function silentChecks(
  services: Services,
  db: Kysely<Database>,
): Promise<Record<'silent' | 'excused', SilentCheck[]>> {
  const { clock, reception } = services;
  const now = clock.now();
  const silent: SilentCheck[] = [];
  const excused: SilentCheck[] = [];
  for (const check of await candidatesOf(db, now)) {
    const { checkId, accountId } = check;
    const limitMs = silentAfterMs(check.type as CheckType, scheduleOf(check).intervalMs);
    const lastAt = Math.max(check.startsAt, check.heardAt ?? 0);
    if (reception.since(lastAt) < limitMs) continue;
    const [first, ...others] = await servedPlaces(services, db, check);
    if (first === undefined) continue;
    const servedSince = Math.min(...[first, ...others].map((place) => place.servedSince));
    const since = Math.max(lastAt, servedSince);
    if (reception.since(since) < limitMs) continue;
    const windows = await maintenanceBetween(db, accountId, [checkId], {
      ...{ from: now - limitMs, to: now + 1 },
    });
    // What follows maintenance has its time too.
    const isExcused =
      windows.get(checkId)?.some(({ endsAt }) => endsAt > now - limitMs) === true ||
      (await hasRunGoingOn(db, checkId, now));
    const found = { accountId, checkId, location: first.location, since };
    (isExcused ? excused : silent).push(found);
  }
  return { silent, excused };
}

const keyOf = ({ accountId, location }: Place): string => `${accountId}/${location}`;

async function explain(
  services: Services,
  db: Kysely<Database>,
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
  return explainSilence({
    missed: missed.map(({ reason, slots }) => ({ reason: reason ?? '', slots: Number(slots) })),
    overload: overload?.endedAt === null ? overload : null,
    wasClockSet: (reception.lastStep?.to ?? Number.NEGATIVE_INFINITY) >= since,
    clockProblem: reception.clockProblem,
  });
}

const mostExplained = 200;
/** No run names a code here. */
const unknownKind = 'UNKNOWN';

async function noticeSilence(
  services: Services,
  place: Place,
  silent: readonly SilentCheck[],
): Promise<boolean> {
  return services.db.transaction().execute(async (db) => {
    const ids = new Set(silent.map(({ checkId }) => checkId));
    const checks = (await checksWaitingIn(db, place)).filter(({ id }) => ids.has(id));
    if (checks.length === 0) return false;
    const since = Math.min(...silent.map((check) => check.since));
    const message = await explain(services, db, place, [...ids].slice(0, mostExplained), since);
    const kind = { code: unknownKind, runs: 0, message };
    return openNotice(services, db, place, { code: noResultsCode, since, runs: 0, kind }, checks);
  });
}

async function noticeOverload(
  services: Services,
  place: Place,
  { since, reason }: Overload,
): Promise<boolean> {
  return services.db.transaction().execute(async (db) => {
    const checks = await checksWaitingIn(db, place);
    const kind = { code: unknownKind, runs: 0, message: reason };
    return openNotice(services, db, place, { code: overloadedCode, since, runs: 0, kind }, checks);
  });
}

async function openNoticesOf(db: Kysely<Database>, code: string) {
  return db.selectFrom('fault_notices').selectAll().where('code', '=', code).execute();
}

async function watchSilence(services: Services): Promise<boolean> {
  const { db } = services;
  let hasNews = false;
  const { silent: found, excused } = await silentChecks(services, db);
  const byPlace = Map.groupBy(found, keyOf);
  const withoutResults = new Set([...found, ...excused].map(keyOf));
  for (const [, silent] of byPlace) {
    const [first] = silent;
    if (first !== undefined && (await noticeSilence(services, first, silent))) hasNews = true;
  }
  for (const sent of await openNoticesOf(db, noResultsCode)) {
    const place = { accountId: sent.account_id, location: sent.location };
    if (withoutResults.has(keyOf(place))) continue;
    // Without an agent there is another notice, and no result either.
    if (!services.hub.isServed(place.accountId, place.location)) continue;
    const close = (unit: Kysely<Database>) => closeNotice(services, unit, sent, true);
    if (await db.transaction().execute(close)) hasNews = true;
  }
  return hasNews;
}

async function watchOverload(services: Services): Promise<boolean> {
  const { db, reception } = services;
  let hasNews = false;
  const places = await db
    .selectFrom('agents')
    .select(['account_id as accountId', 'location'])
    .distinct()
    .where('overloaded_since', 'is not', null)
    .where('gone_at', 'is', null)
    .execute();
  for (const place of places) {
    const overload = await overloadOf(db, place);
    if (overload === null || reception.since(overload.since) < overloadedForMs) continue;
    if (await noticeOverload(services, place, overload)) hasNews = true;
  }
  for (const sent of await openNoticesOf(db, overloadedCode)) {
    const place = { accountId: sent.account_id, location: sent.location };
    const overload = await overloadOf(db, place);
    if (overload?.endedAt === null) continue;
    if (overload !== null && reception.since(overload.endedAt) < quietForMs) continue;
    const close = (unit: Kysely<Database>) => closeNotice(services, unit, sent, true);
    if (await db.transaction().execute(close)) hasNews = true;
  }
  return hasNews;
}

/** The operation of the timer. */
export async function watchOutcomes(services: Services): Promise<false> {
  const news = [await watchSilence(services), await watchOverload(services)];
  if (news.some(Boolean)) services.deliveries.wake();
  return false;
}
