/** Why the errors of a group occurred, as it was found: rows → wire. `root-causes/` finds it. */
import type { RootCause, RootCauseAnalysis } from '@monitor/shared/contract/root-cause.ts';
import { fromJson, toTimestamp } from '../../db/columns.ts';
import { eachIdOf, eachOf } from '../../db/expressions.ts';
import type { Db, RowOf } from '../../db/tables.ts';

/** The version of the table of causes. */
const model = 'causes-1';
/** Older ones of an error group are deleted. */
const keptOfGroup = 20;
/** With the error group; the others can be read by their ids. */
const listedOfGroup = 5;
const maxGroups = 3;

type Row = RowOf<'root_cause_analyses'>;

export function toAnalysis(row: Row): RootCauseAnalysis {
  return {
    id: row.id,
    status: 'COMPLETED',
    created_at: toTimestamp(row.created_at),
    checkId: row.check_id,
    checkType: row.check_type as RootCauseAnalysis['checkType'],
    errorGroupId: row.error_group_id,
    provider: 'rules',
    model,
    durationMs: row.duration_ms,
    userContext: row.user_context,
    analysis: fromJson<RootCause>(row.analysis_json),
  };
}

export async function storeAnalysis(
  db: Db,
  analysis: Omit<Row, 'analysis_json'>,
  cause: RootCause,
): Promise<void> {
  await db
    .insertInto('root_cause_analyses')
    .values({ ...analysis, analysis_json: JSON.stringify(cause) })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  await db
    .deleteFrom('root_cause_analyses')
    .where('error_group_id', '=', analysis.error_group_id)
    .where('id', 'not in', (newest) =>
      newest
        .selectFrom('root_cause_analyses')
        .select('id')
        .where('error_group_id', '=', analysis.error_group_id)
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .limit(keptOfGroup),
    )
    .execute();
}

/** The error groups of a result, the first few. */
export async function groupsOfResult(db: Db, resultId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('check_result_error_groups')
    .select('error_group_id')
    .where('result_id', 'in', eachIdOf([resultId]))
    .orderBy('error_group_id')
    .limit(maxGroups)
    .execute();
  return rows.map((row) => row.error_group_id);
}

/** The analyses of groups, newest first. */
export async function analysesOf(
  db: Db,
  groupIds: readonly string[],
): Promise<Map<string, RootCauseAnalysis[]>> {
  const rows = await db
    .selectFrom('root_cause_analyses')
    .selectAll()
    .where('error_group_id', 'in', eachOf(groupIds))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  const byGroup = Map.groupBy(rows, (row) => row.error_group_id);
  return new Map(
    [...byGroup].map(([id, all]) => [id, all.slice(0, listedOfGroup).map(toAnalysis)]),
  );
}
