/** Sessions that a test runner reports: no agent runs them. */
import type { Db } from '../../db/tables.ts';
import type { Services } from '../../core/services.ts';
import { fromJson, toFlag } from '../../db/columns.ts';
import { lockRows } from '../../db/lock.ts';
import { endIfComplete, lockOpen } from './settle.ts';
import { type NewTestSession, refuseManyOpen } from './start-test-session.ts';
import type { TestResultRow, TestSessionRow } from './store.ts';

/** A runner that has reported nothing by then was killed. */
const reportedWithinMs = 2 * 3_600_000;

/** What a runner reported beside the outcome. */
export interface Report {
  /** Key and size of the uploaded zip. */
  key: string | null;
  sizeBytes: number;
  /** Names of the files in it. */
  entries: string[];
  metadata: Record<string, unknown>;
}

export interface ReportedEnding {
  status: 'PASSED' | 'FAILED' | 'CANCELLED';
  isDegraded: boolean;
  startedAt: number | null;
  stoppedAt: number | null;
  responseTime: number;
  entries: string[];
  metadata: Record<string, unknown>;
}

export function reportOf(row: Pick<TestResultRow, 'report_json'>): Report | null {
  return row.report_json === null ? null : fromJson<Report>(row.report_json);
}

export async function createReportedSession(
  services: Services,
  given: NewTestSession,
  names: readonly string[],
): Promise<{ session: TestSessionRow; results: TestResultRow[] }> {
  const { clock, commits, newId, newRunId } = services;
  const { account_id: accountId } = given;
  return commits.run(async (db) => {
    await lockRows(db.selectFrom('accounts').select('id').where('id', '=', accountId)).execute();
    await refuseManyOpen(db, accountId);
    const now = clock.now();
    const session: TestSessionRow = {
      ...given,
      ...{ id: newId(), status: 'RUNNING' },
      ...{ started_at: now, stopped_at: null, cancelled_at: null, publish_from: now },
    };
    await db.insertInto('test_sessions').values(session).execute();
    const none: Report = { key: null, sizeBytes: 0, entries: [], metadata: {} };
    const results = names.map((name, position): TestResultRow => ({
      ...{ id: newId(), session_id: session.id, account_id: accountId, position, name },
      ...{ run_id: newRunId(), check_run_id: null, check_id: null, trial_id: null },
      ...{ logical_id: null, check_type: 'PLAYWRIGHT', location: given.location },
      ...{ outcome: null, result_id: null, error: null, report_json: JSON.stringify(none) },
      ...{ has_failures: 0, has_errors: 0, is_degraded: 0, response_time_ms: null },
      ...{ started_at: null, stopped_at: null, deadline: now + reportedWithinMs, log_bytes: 0 },
    }));
    await db.insertInto('test_results').values(results).execute();
    return { session, results };
  });
}

async function lockReport(db: Db, id: string) {
  const reports = db.selectFrom('test_results').select('report_json').where('id', '=', id);
  const now = await lockRows(reports).executeTakeFirst();
  return now === undefined ? null : reportOf(now);
}

/** Notes the uploaded files of a result that has not ended. */
export async function keepReport(
  { commits }: Pick<Services, 'commits'>,
  row: TestResultRow,
  file: { key: string; sizeBytes: number },
): Promise<void> {
  await commits.run(async (db) => {
    const report = await lockReport(db, row.id);
    if (report === null) return;
    await db
      .updateTable('test_results')
      .set({ report_json: JSON.stringify({ ...report, ...file }) })
      .where('id', '=', row.id)
      .execute();
  });
}

/** Ends a reported result. One that has ended stays as it is: the client may have missed the answer. */
export async function finishReportedResult(
  services: Services,
  row: TestResultRow,
  ending: ReportedEnding,
): Promise<void> {
  const { clock, commits, runs } = services;
  const { status, isDegraded, entries, metadata } = ending;
  await commits.run(async (db) => {
    const session = await lockOpen(db, row.session_id);
    if (session === undefined) return;
    const report = await lockReport(db, row.id);
    if (report === null) return;
    await db
      .updateTable('test_results')
      .set({
        outcome: status === 'PASSED' && isDegraded ? 'DEGRADED' : status,
        has_failures: toFlag(status === 'FAILED'),
        is_degraded: toFlag(isDegraded),
        response_time_ms: Math.round(ending.responseTime),
        started_at: ending.startedAt,
        stopped_at: ending.stoppedAt ?? clock.now(),
        report_json: JSON.stringify({ ...report, entries, metadata }),
      })
      .where('id', '=', row.id)
      .where('outcome', 'is', null)
      .execute();
    await endIfComplete(db, session, clock.now());
  });
  runs.ended([row.run_id, row.session_id]);
}
