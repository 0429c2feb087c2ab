/**
 * Tells people when checks get nothing but errors of ours, and when that is over: results that say
 * nothing about their targets alert nobody about them. What was said stands in `fault_notices`, written
 * in the transaction that fills the outbox, so that a restart neither repeats nor loses it.
 */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import {
  faultyForMs,
  isFaultOver,
  troublesOf,
  untold,
  type CheckFault,
  type FaultyLocation,
  type PassedSince,
  type Trouble,
} from './decide/fault-notice.ts';
import {
  channelsToTell,
  checksWaitingIn,
  noResultsCode,
  overloadedCode,
  type WaitingCheck,
} from '../scheduling/index.ts';
import type { Services } from '../core/services.ts';
import {
  closeNotice,
  codeOf,
  noticesOf,
  openNotice,
  type FaultNotice,
  type Place,
} from './fault-notices.ts';
import { concludedSince, faultsOfLocation } from './location-faults.ts';
import { maintenanceBetween } from '../maintenance/index.ts';

/**
 * Forgets errors that are older than what was already known when they were handed in: an agent that
 * was cut off tells of its runs after others have made theirs. Gives whether there were any.
 */
async function forgetOutdated(
  db: Kysely<Database>,
  place: Place,
  { code, since, checkIds }: Trouble,
  { faults }: FaultyLocation,
): Promise<boolean> {
  const { accountId, location } = place;
  if (code === null) {
    const all = await db
      .selectFrom('check_locations')
      .select('check_id')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .execute();
    const ids = all.map((row) => row.check_id);
    if ((await concludedSince(db, place, ids, since)).size === 0) return false;
    await db
      .deleteFrom('location_faults')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .execute();
    return true;
  }
  const outdated: string[] = [];
  for (const fault of faults.filter(({ checkId }) => checkIds.includes(checkId))) {
    const concluded = await concludedSince(db, place, [fault.checkId], fault.since);
    outdated.push(...concluded);
  }
  if (outdated.length === 0) return false;
  await db
    .deleteFrom('check_faults')
    .where('location', '=', location)
    .where('check_id', 'in', outdated)
    .execute();
  return true;
}

/**
 * The errors that say something about the present: those of checks that are not in maintenance and had
 * one since they run as they do now, since their last maintenance and since there is an agent again.
 * Whatever was wrong before may have been put right, and the next run says so.
 */
async function standingFaults(
  db: Kysely<Database>,
  { accountId, location }: Place,
  faults: readonly CheckFault[],
  checks: readonly WaitingCheck[],
  now: number,
): Promise<CheckFault[]> {
  const state = await db
    .selectFrom('location_states')
    .select('served_since')
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .executeTakeFirst();
  const servedSince = state?.served_since ?? 0;
  const assigned = new Map(checks.map(({ id, assignedAt }) => [id, assignedAt]));
  const fresh = faults.filter(
    ({ checkId, lastAt }) => lastAt >= Math.max(servedSince, assigned.get(checkId) ?? Infinity),
  );
  const ids = fresh.map(({ checkId }) => checkId);
  const from = Math.min(now, ...fresh.map(({ lastAt }) => lastAt));
  const maintained = await maintenanceBetween(db, accountId, ids, { from, to: now + 1 });
  return fresh.filter(
    ({ checkId, lastAt }) => !maintained.get(checkId)?.some(({ endsAt }) => endsAt > lastAt),
  );
}

/**
 * Forgets the errors of checks that no longer run at the location: should they run there again, these
 * are of another time.
 */
async function forgetIdle(db: Kysely<Database>): Promise<void> {
  const any = await db.selectFrom('check_faults').select('check_id').limit(1).executeTakeFirst();
  if (any !== undefined) {
    await db
      .deleteFrom('check_faults')
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('check_locations')
              .innerJoin(
                'schedule_periods',
                'schedule_periods.check_id',
                'check_locations.check_id',
              )
              .select('check_locations.check_id')
              .whereRef('check_locations.check_id', '=', 'check_faults.check_id')
              .whereRef('check_locations.location', '=', 'check_faults.location')
              .where('schedule_periods.ends_at', 'is', null),
          ),
        ),
      )
      .execute();
  }
  await db
    .deleteFrom('location_faults')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('check_faults')
            .select('check_faults.check_id')
            .whereRef('check_faults.account_id', '=', 'location_faults.account_id')
            .whereRef('check_faults.location', '=', 'location_faults.location'),
        ),
      ),
    )
    .execute();
}

/** Sends what is due about a location. Gives whether anything was put into the outbox. */
async function notice(services: Services, place: Place): Promise<boolean> {
  const { accountId, location } = place;
  const now = services.clock.now();
  const passedSince: PassedSince = (instant) => services.reception.since(instant);
  return services.db.transaction().execute(async (db) => {
    const known = await faultsOfLocation(db, place);
    const told = new Set((await noticesOf(db, place)).map(codeOf));
    if (untold(troublesOf(known, passedSince, told), told).length === 0) return false;
    const spoken = await checksWaitingIn(db, place);
    const standing = await standingFaults(db, place, known.faults, spoken, now);
    const isStanding = new Set(standing.map(({ checkId }) => checkId));
    const checks = new Map(
      spoken.filter(({ id }) => isStanding.has(id)).map((check) => [check.id, check]),
    );
    const audible = { ...known, faults: standing };
    let hasNews = false;
    for (const trouble of untold(troublesOf(audible, passedSince, told), told)) {
      const concerned = new Set(trouble.checkIds);
      const ofTrouble = [...checks.values()].filter(({ id }) => concerned.has(id));
      if ((await channelsToTell(db, accountId, ofTrouble)).length === 0) continue;
      if (await forgetOutdated(db, place, trouble, known)) continue;
      if (await openNotice(services, db, place, trouble, ofTrouble)) hasNews = true;
    }
    return hasNews;
  });
}

/** Says that it is over, to those who were told, once it is. */
async function recover(services: Services, sent: FaultNotice): Promise<boolean> {
  const place = { accountId: sent.account_id, location: sent.location };
  return services.db.transaction().execute(async (db) => {
    const { faults } = await faultsOfLocation(db, place);
    const isConclusive = sent.conclusive_at !== null;
    if (!isFaultOver(codeOf(sent), faults, isConclusive)) return false;
    return closeNotice(services, db, sent, isConclusive);
  });
}

/** Locations where errors have lasted, of all accounts. */
async function candidatesOf(db: Kysely<Database>, now: number): Promise<Place[]> {
  return db
    .selectFrom('check_faults')
    .select(['account_id as accountId', 'location'])
    .distinct()
    .where('noted_at', '<=', now - faultyForMs)
    .execute();
}

/** The operation of the timer. All is looked at each time: there is never more to do at once. */
export async function watchFaults(services: Services): Promise<false> {
  const { db, clock, hub, deliveries } = services;
  let hasNews = false;
  await forgetIdle(db);
  const others = [noResultsCode, overloadedCode];
  const notices = db.selectFrom('fault_notices').selectAll().where('code', 'not in', others);
  for (const sent of await notices.execute()) {
    if (await recover(services, sent)) hasNews = true;
  }
  for (const place of await candidatesOf(db, clock.now())) {
    // Without an agent there is another notice, and nothing new to know.
    if (!hub.isServed(place.accountId, place.location)) continue;
    if (await notice(services, place)) hasNews = true;
  }
  if (hasNews) deliveries.wake();
  return false;
}
