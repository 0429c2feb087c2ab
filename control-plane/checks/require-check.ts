import { notFound } from '../errors/api-error.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';

const checkOfAccount = prepareQuery<{ accountId: string; checkId: string }, { id: string }>(
  (db, argument) =>
    db
      .selectFrom('checks')
      .select('id')
      .where('account_id', '=', argument('accountId'))
      .where('id', '=', argument('checkId'))
      .where('is_trial', '!=', 2),
);

/** True when the account has this check. */
export async function hasCheck(db: Db, accountId: string, checkId: string): Promise<boolean> {
  return (await checkOfAccount.run(db, { accountId, checkId })).length > 0;
}

/** Throws 404 unless the account has this check. */
export async function requireCheck(db: Db, accountId: string, checkId: string): Promise<void> {
  if (!(await hasCheck(db, accountId, checkId))) throw notFound('check', checkId);
}
