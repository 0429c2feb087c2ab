/** Rows of a run and of its result, for tests that put them into the database themselves. */
import { randomUUID } from 'node:crypto';

interface Owner {
  accountId: string;
  checkId: string;
}

/** A run of no slot that ended at an instant, for `check_runs`. */
export function runRow({ accountId, checkId }: Owner, at: number) {
  return {
    account_id: accountId,
    check_id: checkId,
    run_id: randomUUID() as string,
    location: 'eu-west-1',
    scheduled_for: null,
    state: 'FINAL' as const,
    missed_reason: null,
    result_id: null,
    late_results: 0,
    created_at: at,
  };
}

/** A result that passed in no time, for `check_results`; whatever is given replaces what it has. */
export function resultRow<Fields extends object>(
  { accountId, checkId }: Owner,
  runId: number,
  at: number,
  fields: Fields,
) {
  return {
    id: randomUUID() as string,
    account_id: accountId,
    check_id: checkId,
    check_run_id: runId,
    check_type: 'URL',
    name: 'a',
    result_type: 'FINAL' as const,
    attempt: 1,
    has_failures: 0,
    has_errors: 0,
    is_degraded: 0,
    over_max_response_time: 0,
    under_load: 0,
    run_location: 'eu-west-1',
    scheduled_for: null as number | null,
    started_at: at,
    stopped_at: at,
    created_at: at,
    response_time_ms: 0,
    epoch: 0,
    ...fields,
  };
}
