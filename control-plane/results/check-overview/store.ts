/** The overview of checks: a few queries for all of them, and one for the runs of each. */
import { scheduler } from 'node:timers/promises';
import { sql, type Expression } from 'kysely';
import { engineOf } from '../../db/engine.ts';
import { eachOf, jsonFlag, unindexed } from '../../db/expressions.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Db } from '../../db/tables.ts';
import { hasResult } from '../update-status.ts';

/** Batch size: the driver blocks while it reads, and other requests run between two batches. */
const batchChecks = 100;

/** Checks that are named are found by their ids. */
function accountIn(
  table: 'checks' | 'check_locations' | 'check_tags',
  checkIds: readonly string[] | undefined,
): Expression<string> {
  const column = `${table}.account_id`;
  return checkIds === undefined ? sql<string>`${sql.ref(column)}` : unindexed<string>(column);
}

/** Checks with their groups and statuses; columns of a missing group or status are null. */
export async function overviewRows(
  db: Db,
  accountId: string,
  checkIds: readonly string[] | undefined,
) {
  let query = db
    .selectFrom('checks')
    .leftJoin('check_groups', 'check_groups.id', 'checks.group_id')
    .leftJoin('check_statuses', (join) =>
      join.onRef('check_statuses.check_id', '=', 'checks.id').on(hasResult()),
    )
    .leftJoin('imported_history', 'imported_history.check_id', 'checks.id')
    .select([
      'imported_history.oldest_at as imported_from',
      'checks.id',
      'checks.name',
      'checks.type',
      'checks.activated',
      'checks.frequency',
      'checks.frequency_offset',
      'checks.group_id',
      'checks.created_at',
      'check_groups.name as group_name',
      'check_groups.activated as group_activated',
      'check_statuses.has_failures',
      'check_statuses.has_errors',
      'check_statuses.is_degraded',
      'check_statuses.longest_run_ms',
      'check_statuses.last_started_at',
      'check_statuses.ssl_days_remaining',
    ])
    .select([
      jsonFlag('checks.body_json', '$.muted').as('muted'),
      jsonFlag('check_groups.body_json', '$.muted').as('group_muted'),
    ])
    .where(accountIn('checks', checkIds), '=', accountId);
  query =
    checkIds === undefined
      ? query.where('checks.is_trial', '=', 0)
      : query.where('checks.id', 'in', eachOf(checkIds));
  return query.orderBy('checks.name').orderBy('checks.id').execute();
}

/** What the overview says of the target and of the newest run of each check, in a few letters. */
export async function statesOfChecks(
  db: Db,
  accountId: string,
): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('check_statuses')
    .select(['check_id', 'has_failures', 'has_errors', 'is_degraded'])
    .where('account_id', '=', accountId)
    .where(hasResult())
    .execute();
  return new Map(
    rows.map((row) => [row.check_id, `${row.has_failures}${row.has_errors}${row.is_degraded}`]),
  );
}

/** What the order, the groups and the counts of a list need of each check; also of those that are not listed. */
export async function listedRows(db: Db, accountId: string) {
  const checks = await db
    .selectFrom('checks')
    .select(['id', 'name', 'type', 'activated', 'group_id', 'is_trial'])
    .where('account_id', '=', accountId)
    .execute();
  const groups = await db
    .selectFrom('check_groups')
    .select(['id', 'name', 'activated'])
    .where('account_id', '=', accountId)
    .execute();
  const statuses = await db
    .selectFrom('check_statuses')
    .select(['check_id', 'has_failures', 'has_errors', 'is_degraded', 'last_started_at'])
    .select('longest_run_ms')
    .where('account_id', '=', accountId)
    .where(hasResult())
    .execute();
  const locations = await db
    .selectFrom('check_locations')
    .select(['check_id', 'location'])
    .where('account_id', '=', accountId)
    .execute();
  return { checks, groups, statuses, locations };
}

/** The tags of checks that are listed, in no order. */
export async function tagNames(
  db: Db,
  accountId: string,
  checks: readonly { is_trial: number }[],
): Promise<string[]> {
  const hasOthers = checks.some(({ is_trial: isTrial }) => isTrial !== 0);
  const tags = await db
    .selectFrom('check_tags')
    .select('check_tags.tag')
    .distinct()
    .where('check_tags.account_id', '=', accountId)
    // Without others, the index alone answers.
    .$if(hasOthers, (query) =>
      query
        .innerJoin('checks', 'checks.id', 'check_tags.check_id')
        .where('checks.is_trial', '=', 0),
    )
    .execute();
  return tags.map(({ tag }) => tag);
}

/** The checks with any of these tags, and which. */
export async function checksTagged(
  db: Db,
  accountId: string,
  tags: readonly string[],
): Promise<{ check_id: string; tag: string }[]> {
  if (tags.length === 0) return [];
  return db
    .selectFrom('check_tags')
    .select(['check_id', 'tag'])
    .where('account_id', '=', accountId)
    .where('tag', 'in', eachOf(tags))
    .execute();
}

/** Values of a table beside checks, by check. */
function byCheck<Row extends { check_id: string }, Value>(
  rows: readonly Row[],
  valueOf: (row: Row) => Value,
): Map<string, Value[]> {
  const values = new Map<string, Value[]>();
  for (const row of rows) {
    const known = values.get(row.check_id);
    if (known === undefined) values.set(row.check_id, [valueOf(row)]);
    else known.push(valueOf(row));
  }
  return values;
}

export async function locationsOfChecks(
  db: Db,
  accountId: string,
  checkIds: readonly string[] | undefined,
): Promise<ReadonlyMap<string, string[]>> {
  let query = db
    .selectFrom('check_locations')
    .select(['check_id', 'location'])
    .where(accountIn('check_locations', checkIds), '=', accountId);
  if (checkIds !== undefined) query = query.where('check_id', 'in', eachOf(checkIds));
  return byCheck(await query.orderBy('position').execute(), ({ location }) => location);
}

export async function tagsOfChecks(
  db: Db,
  accountId: string,
  checkIds: readonly string[] | undefined,
): Promise<ReadonlyMap<string, string[]>> {
  let query = db
    .selectFrom('check_tags')
    .select(['check_id', 'tag'])
    .where(accountIn('check_tags', checkIds), '=', accountId);
  if (checkIds !== undefined) query = query.where('check_id', 'in', eachOf(checkIds));
  return byCheck(await query.orderBy('tag').execute(), ({ tag }) => tag);
}

export interface RecentRun {
  started_at: number;
  response_time_ms: number;
  has_failures: number;
  has_errors: number;
  is_degraded: number;
  run_location: string;
}

const recentRuns = prepareQuery<{ accountId: string; checkId: string; limit: number }, RecentRun>(
  (db, argument) =>
    db
      .selectFrom('check_results')
      .select(['started_at', 'response_time_ms', 'has_failures', 'has_errors', 'is_degraded'])
      .select('run_location')
      .where('account_id', '=', argument('accountId'))
      .where('check_id', '=', argument('checkId'))
      .where('result_type', '=', 'FINAL')
      .where('is_cancelled', '=', 0)
      .orderBy('started_at', 'desc')
      .orderBy('seq', 'desc')
      .limit(argument('limit')),
);

/** The same for many checks at once, for a server: a statement for each check would be a round trip. */
async function recentRunsOnServer(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, RecentRun[]>> {
  const { rows } = await sql<RecentRun & { check_id: string }>`
    select checks.id as check_id, latest.* from checks
    cross join lateral (
      select started_at, response_time_ms, has_failures, has_errors, is_degraded, run_location
      from check_results
      where account_id = ${accountId} and check_id = checks.id::uuid
        and result_type = 'FINAL' and is_cancelled = 0
      order by started_at desc, seq desc limit ${limit}
    ) as latest
    where checks.account_id = ${accountId} and checks.id in ${eachOf(checkIds)}
    order by latest.started_at
  `.execute(db);
  const runs = Map.groupBy(rows, (row) => row.check_id);
  return new Map(
    checkIds.map((checkId) => [
      checkId,
      (runs.get(checkId) ?? []).map(({ check_id: _of, ...run }) => run),
    ]),
  );
}

/** The latest runs of each check, oldest first. */
export async function recentRunsOf(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  limit: number,
): Promise<ReadonlyMap<string, RecentRun[]>> {
  const runs = new Map<string, RecentRun[]>();
  if (limit === 0) return runs;
  if (engineOf(db) === 'postgres') return recentRunsOnServer(db, accountId, checkIds, limit);
  for (const [index, checkId] of checkIds.entries()) {
    if (index > 0 && index % batchChecks === 0) await scheduler.yield();
    runs.set(checkId, (await recentRuns.run(db, { accountId, checkId, limit })).reverse());
  }
  return runs;
}
