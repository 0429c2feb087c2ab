/**
 * Stores the error streaks of checks and locations, in the commit of the results. Without errors
 * nothing is stored, and a commit costs two look-ups.
 */
import { sql } from 'kysely';
import { fromJson } from '../db/columns.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import { eachTextIn } from '../db/expressions.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { lockRows } from '../db/lock.ts';
import { prepareQuery } from '../db/prepared.ts';
import { rowsOf } from '../db/rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import type { InternalError, ResultConsumer, RunEnding } from '../results/index.ts';
import { keyOfPlace, type Place } from './agent-health.ts';
import {
  addError,
  type CheckStreak,
  type ErrorKind,
  type LocationStreaks,
} from './decide/error-streak.ts';

type NotedStreak = Omit<CheckStreak, 'checkId'>;

/** Reduces endings, in the order of their start, into a streak. */
function reduce<S extends { since: number }>(
  before: S | undefined,
  endings: readonly RunEnding[],
  add: (streak: S | undefined, startedAt: number, error: InternalError) => S,
): S | undefined {
  let streak = before;
  for (const { startedAt, error } of endings.toSorted((a, b) => a.startedAt - b.startedAt)) {
    if (error !== null) streak = add(streak, startedAt, error);
    // A conclusive result from before the streak does not end it.
    else if (streak !== undefined && startedAt >= streak.since) streak = undefined;
  }
  return streak;
}

const storeStreaks = prepareInserts(
  'error_streaks',
  [
    ...(['check_id', 'account_id', 'location', 'since', 'noted_at', 'last_at', 'runs'] as const),
    'kinds_json',
  ],
  {
    onConflict: sql`on conflict (check_id, location) do update set since = excluded.since,
      noted_at = excluded.noted_at, last_at = excluded.last_at, runs = excluded.runs,
      kinds_json = excluded.kinds_json`,
  },
);

const streaksOfChecks = prepareQuery<{ checkIds: string }, RowOf<'error_streaks'>>((db, argument) =>
  db
    .selectFrom('error_streaks')
    .selectAll()
    .where('check_id', 'in', eachTextIn(argument('checkIds'))),
);

async function recordForChecks(db: Db, endings: readonly RunEnding[], now: number): Promise<void> {
  const checkIds = JSON.stringify([...new Set(endings.map(({ checkId }) => checkId))]);
  const rows = await streaksOfChecks.run(db, { checkIds });
  const keyOf = (checkId: string, location: string) => `${checkId}/${location}`;
  const known = new Map(
    rows.map((row): [string, NotedStreak] => [
      keyOf(row.check_id, row.location),
      {
        ...{ since: row.since, notedAt: row.noted_at, lastAt: row.last_at, runs: row.runs },
        kinds: fromJson<ErrorKind[]>(row.kinds_json),
      },
    ]),
  );
  const byKey = Map.groupBy(endings, ({ checkId, location }) => keyOf(checkId, location));
  const ended: { check_id: string; location: string }[] = [];
  const going: RowOf<'error_streaks'>[] = [];
  for (const [key, ofKey] of byKey) {
    const [first] = ofKey;
    const before = known.get(key);
    if (first === undefined) continue;
    if (before === undefined && ofKey.every(({ error }) => error === null)) continue;
    const { accountId, checkId, location } = first;
    const after = reduce(before, ofKey, (streak, startedAt, error) => ({
      notedAt: streak?.notedAt ?? now,
      lastAt: now,
      ...addError(streak, startedAt, error),
    }));
    if (after === undefined) {
      if (before !== undefined) ended.push({ check_id: checkId, location });
      continue;
    }
    going.push({
      ...{ check_id: checkId, account_id: accountId, location, since: after.since },
      ...{ noted_at: after.notedAt, last_at: after.lastAt, runs: after.runs },
      kinds_json: JSON.stringify(after.kinds),
    });
  }
  if (ended.length > 0) {
    const given = rowsOf({ check_id: 'text', location: 'text' }, ended);
    await db
      .deleteFrom('error_streaks')
      .where(
        sql<boolean>`(check_id, location) in (select check_id, location from ${given} as given)`,
      )
      .execute();
  }
  await storeStreaks.run(db, going);
}

/**
 * The location works again: earlier errors of its checks belong to the outage of the location. The
 * next runs show whether some checks still have errors.
 */
async function countAnew(
  db: Db,
  { accountId, location }: Place,
  since: number,
  now: number,
): Promise<void> {
  await updateOwnRows(db, 'error_streaks', accountId)
    .set({ noted_at: now, runs: 0, kinds_json: '[]' })
    .where('location', '=', location)
    .where('since', '>=', since)
    .execute();
}

/** Locked, because results of other checks of a location are stored at the same time. */
const streaksOfLocations = prepareQuery<
  { accountIds: string; locations: string },
  RowOf<'location_error_streaks'>
>((db, argument) =>
  lockRows(
    db
      .selectFrom('location_error_streaks')
      .selectAll()
      .where('account_id', 'in', eachTextIn(argument('accountIds')))
      .where('location', 'in', eachTextIn(argument('locations')))
      .orderBy('account_id')
      .orderBy('location'),
  ),
);

async function recordForLocations(
  db: Db,
  endings: readonly RunEnding[],
  now: number,
): Promise<void> {
  const rows = await streaksOfLocations.run(db, {
    accountIds: JSON.stringify([...new Set(endings.map(({ accountId }) => accountId))]),
    locations: JSON.stringify([...new Set(endings.map(({ location }) => location))]),
  });
  const known = new Map(
    rows.map(({ account_id: accountId, location, since }) => [
      keyOfPlace({ accountId, location }),
      { since },
    ]),
  );
  const byKey = Map.groupBy(endings, keyOfPlace);
  // In the order of their keys, as others do that store results of the same locations.
  for (const [key, ofKey] of [...byKey].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [place] = ofKey;
    const before = known.get(key);
    if (place === undefined) continue;
    const after = reduce(before, ofKey, (streak, startedAt) => streak ?? { since: startedAt });
    if (after?.since === before?.since) continue;
    if (before !== undefined) await countAnew(db, place, before.since, now);
    await forgetLocationStreak(db, place);
    if (after === undefined) continue;
    await db
      .insertInto('location_error_streaks')
      .values({ account_id: place.accountId, location: place.location, since: after.since })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Records how runs ended, in the transaction that stores their results. */
export const recordErrorStreaks: ResultConsumer = async ({ clock }, db, { endings }) => {
  if (endings.length === 0) return null;
  const now = clock.now();
  await recordForChecks(db, endings, now);
  await recordForLocations(db, endings, now);
  return null;
};

export async function forgetLocationStreak(db: Db, { accountId, location }: Place): Promise<void> {
  await deleteOwnRows(db, 'location_error_streaks', accountId)
    .where('location', '=', location)
    .execute();
}

/** By location: streaks of it and of its active checks, including muted ones; of an account, or of one location. */
export async function errorStreaksByLocation(
  db: Db,
  { accountId, location = null }: { accountId: string; location?: string | null },
): Promise<Map<string, LocationStreaks>> {
  const rows = await db
    .selectFrom('error_streaks')
    .innerJoin('check_locations', (join) =>
      join
        .onRef('check_locations.check_id', '=', 'error_streaks.check_id')
        .onRef('check_locations.location', '=', 'error_streaks.location'),
    )
    .innerJoin('schedule_periods', (join) =>
      join
        .onRef('schedule_periods.check_id', '=', 'error_streaks.check_id')
        .on('schedule_periods.ends_at', 'is', null),
    )
    .selectAll('error_streaks')
    .where('error_streaks.account_id', '=', accountId)
    .$if(location !== null, (query) => query.where('error_streaks.location', '=', location ?? ''))
    .execute();
  if (rows.length === 0) return new Map();
  const whole = await db
    .selectFrom('location_error_streaks')
    .select(['location', 'since'])
    .where('account_id', '=', accountId)
    .$if(location !== null, (query) => query.where('location', '=', location ?? ''))
    .execute();
  const since = new Map(whole.map((row) => [row.location, row.since]));
  const streaks = Map.groupBy(rows, (row) => row.location);
  return new Map(
    [...streaks].map(([name, ofLocation]) => [
      name,
      {
        since: since.get(name) ?? null,
        streaks: ofLocation.map((row) => ({
          ...{ checkId: row.check_id, since: row.since, notedAt: row.noted_at },
          ...{ lastAt: row.last_at, runs: row.runs },
          kinds: fromJson<ErrorKind[]>(row.kinds_json),
        })),
      },
    ]),
  );
}

export async function errorStreaksOf(db: Db, place: Place): Promise<LocationStreaks> {
  const found = await errorStreaksByLocation(db, place);
  return found.get(place.location) ?? { since: null, streaks: [] };
}
