/**
 * Keeps the stretches of errors that checks and locations have, within the commit of the results. As
 * long as all is well there is nothing to keep, and a commit costs three look-ups.
 */
import type { Kysely } from 'kysely';
import { fromJson } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
import type { InternalError, ResultConsumer, RunEnding } from '../results/index.ts';
import { addFault, type FaultKind, type FaultStretch } from './decide/fault-stretch.ts';

/** What stands in `fault_notices` where a notice is about a location and not about a code. */
export const wholeLocation = '';

interface NotedStretch extends FaultStretch {
  notedAt: number;
  lastAt: number;
}

/** What is left of a stretch after some endings, in the order in which they began. */
function follow<S extends { since: number }>(
  before: S | undefined,
  endings: readonly RunEnding[],
  add: (stretch: S | undefined, startedAt: number, fault: InternalError) => S,
): S | undefined {
  let stretch = before;
  for (const { startedAt, fault } of endings.toSorted((a, b) => a.startedAt - b.startedAt)) {
    if (fault !== null) stretch = add(stretch, startedAt, fault);
    // What is older than the stretch changes nothing about it.
    else if (stretch !== undefined && startedAt >= stretch.since) stretch = undefined;
  }
  return stretch;
}

function isQuiet(before: unknown, endings: readonly RunEnding[]): boolean {
  return before === undefined && endings.every(({ fault }) => fault === null);
}

async function recordForChecks(
  db: Kysely<Database>,
  endings: readonly RunEnding[],
  now: number,
): Promise<void> {
  const rows = await db
    .selectFrom('check_faults')
    .selectAll()
    .where('check_id', 'in', [...new Set(endings.map(({ checkId }) => checkId))])
    .execute();
  const keyOf = (checkId: string, location: string) => `${checkId}/${location}`;
  const known = new Map(
    rows.map((row): [string, NotedStretch] => [
      keyOf(row.check_id, row.location),
      {
        ...{ since: row.since, notedAt: row.noted_at, lastAt: row.last_at },
        runs: row.runs,
        kinds: fromJson<FaultKind[]>(row.kinds_json),
      },
    ]),
  );
  const byKey = Map.groupBy(endings, ({ checkId, location }) => keyOf(checkId, location));
  for (const [key, ofKey] of byKey) {
    const [first] = ofKey;
    const before = known.get(key);
    if (first === undefined || isQuiet(before, ofKey)) continue;
    const { accountId, checkId, location } = first;
    const after = follow(before, ofKey, (stretch, startedAt, fault) => ({
      notedAt: stretch?.notedAt ?? now,
      lastAt: now,
      ...addFault(stretch, startedAt, fault),
    }));
    if (after === undefined) {
      await db
        .deleteFrom('check_faults')
        .where('check_id', '=', checkId)
        .where('location', '=', location)
        .execute();
      continue;
    }
    const values = {
      ...{ since: after.since, noted_at: after.notedAt, last_at: after.lastAt, runs: after.runs },
      kinds_json: JSON.stringify(after.kinds),
    };
    await db
      .insertInto('check_faults')
      .values({ check_id: checkId, account_id: accountId, location, ...values })
      .onConflict((conflict) => conflict.columns(['check_id', 'location']).doUpdateSet(values))
      .execute();
  }
}

/**
 * The location works again: what its checks had meanwhile was its doing. Whether some of them have a
 * trouble of their own, their next runs will say.
 */
async function countAnew(
  db: Kysely<Database>,
  { accountId, location }: RunEnding,
  since: number,
  now: number,
): Promise<void> {
  await db
    .updateTable('check_faults')
    .set({ noted_at: now, runs: 0, kinds_json: '[]' })
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .where('since', '>=', since)
    .execute();
}

async function recordForLocations(
  db: Kysely<Database>,
  endings: readonly RunEnding[],
  now: number,
): Promise<void> {
  const rows = await db
    .selectFrom('location_faults')
    .selectAll()
    .where('account_id', 'in', [...new Set(endings.map(({ accountId }) => accountId))])
    .where('location', 'in', [...new Set(endings.map(({ location }) => location))])
    .execute();
  const keyOf = (accountId: string, location: string) => `${accountId}/${location}`;
  const known = new Map(
    rows.map(({ account_id, location, since }) => [keyOf(account_id, location), { since }]),
  );
  const byKey = Map.groupBy(endings, ({ accountId, location }) => keyOf(accountId, location));
  for (const [key, ofKey] of byKey) {
    const [first] = ofKey;
    const before = known.get(key);
    if (first === undefined) continue;
    const { accountId, location } = first;
    const after = follow(before, ofKey, (stretch, startedAt) => stretch ?? { since: startedAt });
    if (after?.since === before?.since) continue;
    if (before !== undefined) await countAnew(db, first, before.since, now);
    await db
      .deleteFrom('location_faults')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .execute();
    if (after === undefined) continue;
    await db
      .insertInto('location_faults')
      .values({ account_id: accountId, location, since: after.since })
      .execute();
  }
}

/** Marks what people were told of locations as a whole, where a check has a conclusive result again. */
async function endNotices(
  db: Kysely<Database>,
  endings: readonly RunEnding[],
  now: number,
): Promise<void> {
  const notices = await db
    .selectFrom('fault_notices')
    .select(['account_id', 'location', 'since'])
    .where('code', '=', wholeLocation)
    .where('conclusive_at', 'is', null)
    .execute();
  for (const { account_id: accountId, location, since } of notices) {
    const isOver = endings.some(
      (ending) =>
        ending.fault === null &&
        ending.accountId === accountId &&
        ending.location === location &&
        ending.startedAt >= since,
    );
    if (!isOver) continue;
    await db
      .updateTable('fault_notices')
      .set({ conclusive_at: now })
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('code', '=', wholeLocation)
      .execute();
  }
}

/** Notes how runs ended, within the transaction that stores their results. */
export const recordFaults: ResultConsumer = async ({ clock }, db, { endings }) => {
  if (endings.length === 0) return null;
  const now = clock.now();
  await recordForChecks(db, endings, now);
  await recordForLocations(db, endings, now);
  await endNotices(db, endings, now);
  return null;
};
