/** What checks inherit from their account has changed: agents that run any of them are told. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { raiseEnvironmentRevision } from '../accounts/index.ts';
import type { Services } from '../core/services.ts';

/** Writes, in one commit with it, that the checks of the account are to be assembled anew. */
export async function changeEnvironment<T>(
  { commits, hub }: Services,
  accountId: string,
  change: (db: Kysely<Database>) => Promise<T>,
): Promise<T> {
  const changed = await commits.run(async (db) => {
    const result = await change(db);
    await raiseEnvironmentRevision(db, accountId);
    return result;
  });
  hub.notifyAccount(accountId);
  return changed;
}
