/** What else began to fail at about the same time, and lasts. */
import { eachOf } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import type { AlsoFailing } from '../notifications/index.ts';

const besideMs = 5 * 60_000;
const maxNamed = 5;
/** More are not counted. */
const maxCounted = 1_000;

/** Checks of the account that began to fail near `from` to `to`, without those that are alerted about. */
export async function alsoFailing(
  db: Db,
  accountId: string,
  alertedIds: readonly string[],
  { from, to }: { from: number; to: number },
): Promise<AlsoFailing | undefined> {
  const others = db
    .selectFrom('alert_states')
    .where('alert_states.account_id', '=', accountId)
    .where('failing_since', '>=', from - besideMs)
    .where('failing_since', '<=', to + besideMs)
    .where('alert_states.check_id', 'not in', eachOf(alertedIds));
  const named = await others
    .innerJoin('checks', 'checks.id', 'alert_states.check_id')
    .select('checks.name')
    .orderBy('failing_since')
    .orderBy('checks.name')
    .limit(maxNamed)
    .execute();
  if (named.length === 0) return undefined;
  const counted =
    named.length < maxNamed
      ? { all: named.length }
      : await db
          .selectFrom(others.select('check_id').limit(maxCounted).as('other'))
          .select((of) => of.fn.countAll<number>().as('all'))
          .executeTakeFirstOrThrow();
  return { names: named.map(({ name }) => name), more: Number(counted.all) - named.length };
}
