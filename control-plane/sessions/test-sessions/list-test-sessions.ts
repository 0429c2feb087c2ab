/** Lists of test sessions. */
import { containsIgnoringCase, eachIdOf, eachOf, isOneOf, textOfId } from '../../db/expressions.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db } from '../../db/tables.ts';
import { invalidQuery } from '../../errors/api-error.ts';
import type { TestResultRow, TestSessionRow } from './store.ts';

export interface TestSessionFilter {
  /** Milliseconds; `to` is exclusive. */
  from?: number;
  to?: number;
  statuses?: readonly string[];
  branches?: readonly string[];
  /** Ids of those who started it. */
  users?: readonly string[];
  /** Only those that nobody started who is known. */
  noUsers?: boolean;
  providers?: readonly string[];
  textSearch?: string;
  errorGroupId?: string;
}

/** The recorded sessions of an account, newest first, and the `nextId` of the next page. */
export async function listTestSessions(
  db: Db,
  accountId: string,
  filter: TestSessionFilter,
  { limit, nextId }: { limit: number; nextId?: string | undefined },
): Promise<{ rows: TestSessionRow[]; nextId: string | null }> {
  const { from, to, statuses, branches, users, noUsers, providers } = filter;
  const { textSearch, errorGroupId } = filter;
  let query = ownRows(db, 'test_sessions', accountId).where('is_recorded', '=', 1);
  if (from !== undefined) query = query.where('started_at', '>=', from);
  if (to !== undefined) query = query.where('started_at', '<', to);
  if (statuses !== undefined) query = query.where('status', 'in', statuses as never);
  if (branches !== undefined) query = query.where('branch_name', 'in', branches);
  if (providers !== undefined) query = query.where('provider', 'in', providers as never);
  if (users !== undefined) query = query.where('invoked_by', 'in', users);
  if (noUsers === true) query = query.where('invoked_by', 'is', null);
  if (textSearch !== undefined && textSearch !== '') {
    query = query.where(({ or, ref, fn, val }) =>
      or(
        (['name', 'branch_name', 'commit_id', 'commit_message', 'commit_owner'] as const).map(
          (column) => containsIgnoringCase(fn.coalesce(ref(column), val('')), textSearch),
        ),
      ),
    );
  }
  if (errorGroupId !== undefined) {
    query = query.where('id', 'in', (sessions) =>
      sessions
        .selectFrom('test_results')
        .innerJoin('error_groups', 'error_groups.check_id', 'test_results.trial_id')
        .select('test_results.session_id')
        .where('error_groups.account_id', '=', accountId)
        .where('error_groups.id', '=', errorGroupId),
    );
  }
  if (nextId !== undefined) {
    const last = await db
      .selectFrom('test_sessions')
      .select(['started_at', 'id'])
      .where('account_id', '=', accountId)
      .where('id', '=', nextId)
      .executeTakeFirstOrThrow(() =>
        invalidQuery('nextId', 'must be the nextId of an earlier page'),
      );
    query = query.where(({ or, and, eb }) =>
      or([
        eb('started_at', '<', last.started_at),
        and([eb('started_at', '=', last.started_at), eb('id', '<', last.id)]),
      ]),
    );
  }
  const found = await query
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  const rows = found.slice(0, limit);
  return { rows, nextId: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
}

/** Names and outcomes of the results of these sessions. */
export async function outcomesOfTestSessions(
  db: Db,
  sessionIds: readonly string[],
): Promise<Pick<TestResultRow, 'session_id' | 'name' | 'outcome' | 'result_id'>[]> {
  if (sessionIds.length === 0) return [];
  return db
    .selectFrom('test_results')
    .select(['session_id', 'name', 'outcome', 'result_id'])
    .where('session_id', 'in', eachOf(sessionIds))
    .orderBy('session_id')
    .orderBy('position')
    .execute();
}

/** The error groups of results, by the ids of these. */
export async function errorGroupsOfResults(
  db: Db,
  resultIds: readonly string[],
): Promise<ReadonlyMap<string, string[]>> {
  if (resultIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('check_result_error_groups')
    .select('error_group_id')
    .select(textOfId('result_id').as('result_id'))
    .where(isOneOf('result_id', eachIdOf(resultIds)))
    .execute();
  return new Map(
    [...Map.groupBy(rows, (row) => row.result_id)].map(([id, groups]) => [
      id,
      groups.map((group) => group.error_group_id),
    ]),
  );
}
