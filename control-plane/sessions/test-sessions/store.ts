/** Test sessions: their rows, and how far their runs are. */
import type { TestOutcome, TestSessionStatus } from '@monitor/shared/contract/test-session.ts';
import { fromFlag } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import { eachNumberOf, eachOf, idIn, isOneOf } from '../../db/expressions.ts';
import { dayAt, daysOf, isOfDays, runDayIn } from '../../db/run-days.ts';
import type { Db, RowOf } from '../../db/tables.ts';

export type TestSessionRow = RowOf<'test_sessions'>;
export type TestResultRow = RowOf<'test_results'>;
type StoredResult = RowOf<'check_results'>;

export async function findTestSession(
  db: Db,
  accountId: string,
  id: string,
): Promise<TestSessionRow | undefined> {
  return ownRows(db, 'test_sessions', accountId).where('id', '=', id).executeTakeFirst();
}

export async function resultsOfTestSession(db: Db, sessionId: string): Promise<TestResultRow[]> {
  return db
    .selectFrom('test_results')
    .selectAll()
    .where('session_id', '=', sessionId)
    .orderBy('position')
    .execute();
}

export async function findTestResult(
  db: Db,
  accountId: string,
  sessionId: string,
  id: string,
): Promise<TestResultRow | undefined> {
  return ownRows(db, 'test_results', accountId)
    .where('session_id', '=', sessionId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export interface TestRunState {
  isCancelled: boolean;
  /** An agent has the run. */
  isBegun: boolean;
  /** The FINAL result; null without one. */
  final: StoredResult | null;
  /** The results before it, in order. */
  attempts: StoredResult[];
}

const waiting: TestRunState = { isCancelled: false, isBegun: false, final: null, attempts: [] };

/** How far the runs of these results are, by the ids of the runs. */
export async function statesOfRuns(
  db: Db,
  session: TestSessionRow,
  rows: readonly TestResultRow[],
): Promise<(row: TestResultRow) => TestRunState> {
  const begun = dayAt(session.started_at);
  const runIds = rows.flatMap((row) => (row.trial_id === null ? [] : [row.run_id]));
  if (runIds.length === 0) return () => waiting;
  const runs = await db
    .selectFrom('check_session_runs')
    .leftJoin('check_runs', (join) =>
      join
        .on('check_runs.run_id', '=', idIn('check_session_runs.run_id'))
        .on(isOfDays('check_runs', daysOf([begun, begun + 1]))),
    )
    .leftJoin('jobs', (join) =>
      join
        .onRef('jobs.run_id', '=', 'check_session_runs.run_id')
        .on('jobs.account_id', '=', session.account_id),
    )
    .select([
      'check_session_runs.run_id',
      'check_session_runs.cancelled',
      'check_runs.id as row_id',
      'jobs.agent_id',
    ])
    .select(runDayIn('check_runs').as('run_day'))
    .where('check_session_runs.run_id', 'in', eachOf(runIds))
    .execute();
  const ended = runs.filter((run) => run.row_id !== null);
  const results =
    ended.length === 0
      ? []
      : await ownRows(db, 'check_results', session.account_id)
          .where(isOneOf('check_run_id', eachNumberOf(ended.map((run) => run.row_id ?? 0))))
          .where(isOfDays('check_results', daysOf(ended.map((run) => run.run_day))))
          .where('result_type', '!=', 'LATE')
          .orderBy('attempt')
          .execute();
  const ofRuns = Map.groupBy(results, (result) => result.check_run_id);
  const states = new Map(
    runs.map((run): [string, TestRunState] => {
      const ofRun = ofRuns.get(run.row_id ?? -1) ?? [];
      const final = ofRun.find((result) => result.result_type === 'FINAL') ?? null;
      return [
        run.run_id,
        {
          isCancelled: fromFlag(run.cancelled) || (final !== null && fromFlag(final.is_cancelled)),
          isBegun: run.agent_id !== null || ofRun.length > 0,
          final,
          attempts: ofRun.filter((result) => result !== final),
        },
      ];
    }),
  );
  return (row) => states.get(row.run_id) ?? waiting;
}

/** The status of one result for clients. */
export function statusOfOutcome(outcome: TestOutcome | null): TestSessionStatus {
  if (outcome === null) return 'RUNNING';
  return outcome === 'DEGRADED' ? 'PASSED' : outcome;
}

/** The status of a session: failed if anything failed, cancelled if nothing failed and some were cancelled. */
export function statusOfOutcomes(outcomes: readonly (TestOutcome | null)[]): TestSessionStatus {
  const statuses = outcomes.map(statusOfOutcome);
  const worst = (['RUNNING', 'FAILED', 'CANCELLED'] as const).find((status) =>
    statuses.includes(status),
  );
  return worst ?? 'PASSED';
}
