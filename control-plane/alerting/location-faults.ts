/** What is known of errors of ours, by location. */
import type { Kysely } from 'kysely';
import { fromJson } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
import type { CheckFault, FaultyLocation } from './decide/fault-notice.ts';
import type { FaultKind } from './decide/fault-stretch.ts';

interface Place {
  accountId: string;
  location: string;
}

/** The errors of the active checks of a location, muted ones too. */
async function activeFaults(
  db: Kysely<Database>,
  { accountId, location }: Place,
): Promise<CheckFault[]> {
  const rows = await db
    .selectFrom('check_faults')
    .innerJoin('check_locations', (join) =>
      join
        .onRef('check_locations.check_id', '=', 'check_faults.check_id')
        .onRef('check_locations.location', '=', 'check_faults.location'),
    )
    .innerJoin('schedule_periods', (join) =>
      join
        .onRef('schedule_periods.check_id', '=', 'check_faults.check_id')
        .on('schedule_periods.ends_at', 'is', null),
    )
    .selectAll('check_faults')
    .where('check_faults.account_id', '=', accountId)
    .where('check_faults.location', '=', location)
    .execute();
  return rows.map((row) => ({
    ...{ checkId: row.check_id, since: row.since, notedAt: row.noted_at, lastAt: row.last_at },
    runs: row.runs,
    kinds: fromJson<FaultKind[]>(row.kinds_json),
  }));
}

/** What a location has had since its last conclusive results. */
export async function faultsOfLocation(
  db: Kysely<Database>,
  place: Place,
): Promise<FaultyLocation> {
  const faults = await activeFaults(db, place);
  if (faults.length === 0) return { since: null, faults };
  const row = await db
    .selectFrom('location_faults')
    .select('since')
    .where('account_id', '=', place.accountId)
    .where('location', '=', place.location)
    .executeTakeFirst();
  return { since: row?.since ?? null, faults };
}

/** Of these checks, those that had a conclusive result at the location at an instant or since. */
export async function concludedSince(
  db: Kysely<Database>,
  { accountId, location }: Place,
  checkIds: readonly string[],
  since: number,
): Promise<Set<string>> {
  if (checkIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('check_results')
    .select('check_id')
    .distinct()
    .where('check_id', 'in', checkIds)
    .where('account_id', '=', accountId)
    .where('started_at', '>=', since)
    .where('result_type', '=', 'FINAL')
    .where('run_location', '=', location)
    .where('has_errors', '=', 0)
    .where('is_cancelled', '=', 0)
    .execute();
  return new Set(rows.map((row) => row.check_id));
}
