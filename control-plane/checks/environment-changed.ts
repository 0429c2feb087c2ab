/** Notifies agents when settings changed that checks inherit from their account. */
import type { Db } from '../db/tables.ts';
import { raiseEnvironmentRevision } from '../accounts/index.ts';
import type { Services } from '../core/services.ts';

/** Records in the same commit that the checks of the account must be assembled again. */
export async function changeEnvironment<T>(
  { commits, hub }: Services,
  accountId: string,
  change: (db: Db) => Promise<T>,
): Promise<T> {
  const changed = await commits.run(async (db) => {
    const result = await change(db);
    await raiseEnvironmentRevision(db, accountId);
    return result;
  });
  commits.after([
    () => {
      hub.notifyAccount(accountId);
    },
  ]);
  return changed;
}
