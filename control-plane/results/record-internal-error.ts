import { detailsOfAgentError } from '@monitor/shared/domain/agent-error-details.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { encodePayload } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import type { Needs } from '../scheduling/index.ts';
import { type CheckFields, type CheckRow, lockChecks } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { storeFinal } from './result-rows.ts';
import { statusUpdate, writeStatuses } from './update-status.ts';

interface Fault {
  row: CheckRow;
  effective: CheckFields;
  needs: Needs;
  runId: string;
  location: string;
  /** For users. */
  reason: string;
}

/**
 * Ends a run that no agent can make, with a FINAL result that has an internal error (`hasErrors`):
 * it says nothing about the target.
 */
export async function recordInternalError(
  { clock, newRunId, statuses }: Services,
  db: Db,
  { row, effective, needs, runId, location, reason }: Fault,
): Promise<void> {
  await lockChecks(db, [row.id]);
  const now = clock.now();
  const resultId = newRunId();
  const { resultField } = checkTypes[row.type as CheckType];
  const details = detailsOfAgentError({
    ...{ type: row.type, definition: effective, runtimeId: needs.runtimeId, reason },
    ...{ startedAt: now, stoppedAt: now, jobLog: { setup: [], request: [], teardown: [] } },
  });
  const { runId: checkRunId } = await storeFinal(
    db,
    { run_id: runId },
    {
      ...{ id: resultId, account_id: row.account_id, check_id: row.id, created_at: now },
      ...{ check_type: row.type, name: row.name, run_location: location, scheduled_for: null },
      ...{ has_failures: 0, has_errors: 1, is_degraded: 0, over_max_response_time: 0 },
      ...{ under_load: 0, is_cancelled: 0, is_payload_dropped: 0, epoch: 0, response_time_ms: 0 },
      ...{ agent_wait_ms: null, started_at: now, stopped_at: now },
    },
    encodePayload(details[resultField]),
  );
  const change = statusUpdate(undefined, {
    ...{ accountId: row.account_id, checkId: row.id, checkRunId, startedAt: now },
    ...{ hasFailures: false, hasErrors: true, isDegraded: false },
    ...{ runLocation: location, responseTime: 0 },
  });
  await writeStatuses(statuses, db, new Map([[row.id, change]]), now);
}
