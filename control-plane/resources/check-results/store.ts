/** Results and runs: rows → wire. */
import type { Kysely, Selectable } from 'kysely';
import type { z } from 'zod';
import type {
  CheckResult,
  apiCheckResult,
  checkRun,
} from '@monitor/shared/contract/check-result.ts';
import type { CheckType } from '@monitor/shared/contract/primitives.ts';
import { decodePayload, fromFlag, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { CheckResultsTable, CheckRunsTable, Database } from '../../db/tables.ts';

type ResultRow = Selectable<CheckResultsTable> & {
  run_uuid: string;
  encoding: 'json' | 'deflate' | null;
  payload: Buffer | null;
};

export interface ResultFilter {
  from: number;
  /** Exclusive. */
  to: number;
  location?: string;
  checkType?: string;
  hasFailures?: boolean;
  resultType: 'FINAL' | 'ATTEMPT' | 'ALL';
}

function toResult(row: ResultRow): CheckResult {
  const payload =
    row.payload === null || row.encoding === null
      ? null
      : (decodePayload({ encoding: row.encoding, payload: row.payload }) as z.input<
          typeof apiCheckResult
        >);
  return {
    id: row.id,
    name: row.name,
    checkId: row.check_id,
    checkType: row.check_type as CheckType,
    resultType: row.result_type === 'FINAL' ? 'FINAL' : 'ATTEMPT',
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    overMaxResponseTime: fromFlag(row.over_max_response_time),
    runLocation: row.run_location,
    startedAt: toTimestamp(row.started_at),
    stoppedAt: toTimestamp(row.stopped_at),
    created_at: toTimestamp(row.created_at),
    responseTime: row.response_time_ms,
    apiCheckResult: payload,
    browserCheckResult: null,
    multiStepCheckResult: null,
    agenticCheckResult: null,
    checkRunId: row.check_run_id,
    attempts: row.attempt,
    sequenceId: row.run_uuid,
    errorGroupIds: [],
    scheduledFor: toTimestampOrNull(row.scheduled_for),
    underLoad: fromFlag(row.under_load),
  };
}

function results(db: Kysely<Database>, accountId: string, checkId: string) {
  // Late results are kept for the record of their run; they are nobody's outcome.
  return db
    .selectFrom('check_results')
    .where('check_results.account_id', '=', accountId)
    .where('check_results.check_id', '=', checkId)
    .where('check_results.result_type', '!=', 'LATE');
}

const joined = (query: ReturnType<typeof results>) =>
  query
    .innerJoin('check_runs', 'check_runs.id', 'check_results.check_run_id')
    .leftJoin('result_payloads', 'result_payloads.result_seq', 'check_results.seq')
    .selectAll('check_results')
    .select([
      'check_runs.run_id as run_uuid',
      'result_payloads.encoding',
      'result_payloads.payload',
    ]);

/** One page of a check's results, newest first, and how many match in all. */
export async function listResults(
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  filter: ResultFilter,
  limit: number,
  offset: number,
): Promise<{ items: CheckResult[]; total: number }> {
  let query = results(db, accountId, checkId)
    .where('check_results.started_at', '>=', filter.from)
    .where('check_results.started_at', '<', filter.to);
  const { location, checkType, hasFailures, resultType } = filter;
  if (location !== undefined) query = query.where('check_results.run_location', '=', location);
  if (checkType !== undefined) query = query.where('check_results.check_type', '=', checkType);
  if (hasFailures !== undefined) {
    query = query.where('check_results.has_failures', '=', hasFailures ? 1 : 0);
  }
  if (resultType !== 'ALL') query = query.where('check_results.result_type', '=', resultType);
  const { total } = await query
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await joined(query)
    .orderBy('check_results.started_at', 'desc')
    .orderBy('check_results.seq', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();
  return { items: rows.map(toResult), total };
}

export async function findResult(
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  id: string,
): Promise<CheckResult | undefined> {
  const row = await joined(
    results(db, accountId, checkId).where('check_results.id', '=', id),
  ).executeTakeFirst();
  return row === undefined ? undefined : toResult(row);
}

type RunWire = z.input<typeof checkRun>;

function toRun(row: Selectable<CheckRunsTable>): RunWire {
  return {
    checkRunId: row.id,
    sequenceId: row.run_id,
    checkId: row.check_id,
    location: row.location,
    scheduledFor: toTimestampOrNull(row.scheduled_for),
    state: row.state,
    missedReason: row.missed_reason as RunWire['missedReason'],
    resultId: row.result_id,
    lateResults: row.late_results,
  };
}

export interface RunFilter {
  from: number;
  /** Exclusive. */
  to: number;
  location?: string;
  state?: RunWire['state'];
}

/** One page of a check's runs by their slot (or creation, without one), newest first. */
export async function listRuns(
  db: Kysely<Database>,
  accountId: string,
  checkId: string,
  filter: RunFilter,
  limit: number,
  offset: number,
): Promise<{ items: RunWire[]; total: number }> {
  let query = db
    .selectFrom('check_runs')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where((where) =>
      where.and([
        where(where.fn.coalesce('scheduled_for', 'created_at'), '>=', filter.from),
        where(where.fn.coalesce('scheduled_for', 'created_at'), '<', filter.to),
      ]),
    );
  if (filter.location !== undefined) query = query.where('location', '=', filter.location);
  if (filter.state !== undefined) query = query.where('state', '=', filter.state);
  const { total } = await query
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await query
    .selectAll()
    .orderBy((order) => order.fn.coalesce('scheduled_for', 'created_at'), 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute();
  return { items: rows.map(toRun), total };
}
