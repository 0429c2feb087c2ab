/**
 * Versions of what agents must hear. A transaction that changes it raises the version in its last
 * statement, because the row is locked until the commit; call `hub.notify` after it.
 */
import { sql } from 'kysely';
import { prepareInserts } from '../db/insert-many.ts';
import type { Db } from '../db/tables.ts';

/** A location of an account. */
export interface Place {
  accountId: string;
  location: string;
}

const columns = ['account_id', 'location', 'version', 'jobs_version'] as const;

/** One statement for all locations on PostgreSQL. */
const raiseVersions = prepareInserts('location_versions', columns, {
  returning: ['location', 'version'],
  onConflict: sql`on conflict (account_id, location) do update set
    version = location_versions.version + 1, jobs_version = location_versions.jobs_version + 1`,
});

const raiseJobsVersions = prepareInserts('location_versions', columns, {
  onConflict: sql`on conflict (account_id, location) do update set
    jobs_version = location_versions.jobs_version + 1`,
});

/** In the order of the key, in which every transaction locks the rows. */
const rowsOf = (accountId: string, locations: Iterable<string>, version: number) =>
  [...new Set(locations)].sort().map((location) => ({
    ...{ account_id: accountId, location, version, jobs_version: 1 },
  }));

/**
 * Call it when checks, their settings or first jobs, the proxy or the keys of these locations
 * changed. Gives the new versions.
 */
export function raiseLocations(
  db: Db,
  accountId: string,
  locations: Iterable<string>,
): Promise<{ location: string; version: number }[]> {
  return raiseVersions.run(db, rowsOf(accountId, locations, 1));
}

/** Call it when all locations of an account must hear of a change. */
export async function raiseAllLocations(db: Db, accountId: string): Promise<void> {
  await raiseVersions.run(db, rowsOf(accountId, [''], 1));
}

/** The same for places of several accounts. */
export async function raiseNews(db: Db, places: readonly Place[]): Promise<void> {
  for (const [accountId, ofAccount] of Map.groupBy(places, (place) => place.accountId)) {
    await raiseLocations(
      db,
      accountId,
      ofAccount.map(({ location }) => location),
    );
  }
}

/** Call it when jobs of these locations were created, released or cancelled. */
export async function raiseJobs(
  db: Db,
  accountId: string,
  locations: Iterable<string>,
): Promise<void> {
  await raiseJobsVersions.run(db, rowsOf(accountId, locations, 0));
}
