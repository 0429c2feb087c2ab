/**
 * Versions of what agents must hear. Whoever changes it raises the version as the last statement of
 * the same transaction, because the row is locked until the commit, and calls `hub.notify` after it.
 */
import type { Kysely } from 'kysely';
import { prepareQuery } from '../db/prepared.ts';
import type { Database } from '../db/tables.ts';

interface Place {
  accountId: string;
  location: string;
}

const raiseVersion = prepareQuery<Place>((db, argument) =>
  db
    .insertInto('location_versions')
    .values({
      ...{ account_id: argument('accountId'), location: argument('location') },
      ...{ version: 1, jobs_version: 1 },
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'location']).doUpdateSet((set) => ({
        version: set('location_versions.version', '+', 1),
        jobs_version: set('location_versions.jobs_version', '+', 1),
      })),
    ),
);

const raiseJobsVersion = prepareQuery<Place>((db, argument) =>
  db
    .insertInto('location_versions')
    .values({
      ...{ account_id: argument('accountId'), location: argument('location') },
      ...{ version: 0, jobs_version: 1 },
    })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'location'])
        .doUpdateSet((set) => ({ jobs_version: set('location_versions.jobs_version', '+', 1) })),
    ),
);

/** In the order of the key, in which every transaction locks the rows. */
const inOrder = (locations: Iterable<string>): string[] => [...new Set(locations)].sort();

/**
 * Call it when checks, their settings or first jobs, the proxy or the keys of these locations
 * changed.
 */
export async function raiseLocations(
  db: Kysely<Database>,
  accountId: string,
  locations: Iterable<string>,
): Promise<void> {
  for (const location of inOrder(locations)) await raiseVersion.run(db, { accountId, location });
}

/** Call it when all locations of an account must hear of a change. */
export async function raiseAllLocations(db: Kysely<Database>, accountId: string): Promise<void> {
  await raiseVersion.run(db, { accountId, location: '' });
}

/** The same for places of several accounts. */
export async function raiseNews(db: Kysely<Database>, places: readonly Place[]): Promise<void> {
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
  db: Kysely<Database>,
  accountId: string,
  locations: Iterable<string>,
): Promise<void> {
  for (const location of inOrder(locations)) {
    await raiseJobsVersion.run(db, { accountId, location });
  }
}
