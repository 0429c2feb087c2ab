/** Writes what was decided about the submissions of a commit: each table once. */
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { saveLearnedScript } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { toFlag } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import { createJobs, endSharedRuns, finishJobs } from '../scheduling/index.ts';
import { announceArtifacts } from './announce-artifacts.ts';
import { groupErrors } from './group-errors.ts';
import type { RunItem } from './ingest-facts.ts';
import type { IngestPlan, NewPlannedResult, PlannedRun } from './ingest-plan.ts';
import type { RunEnding } from './result-consumer.ts';
import {
  insertNewRuns,
  insertRuns,
  promoteResults,
  storeResults,
  updateRuns,
  type Inserting,
  type NewResult,
} from './result-rows.ts';
import { addToInbox, occasionOf, type Waiting } from './roll-up-inbox.ts';
import type { RunVerdict } from './run-verdict.ts';
import { statusUpdate, writeStatuses, type StatusChange } from './update-status.ts';
import { verdictOfSubmission } from './verdict-of-result.ts';

/** What other modules have to know of a commit. */
export interface StoredPlan {
  verdicts: RunVerdict[];
  endings: RunEnding[];
  /** `run_id` of runs that ended. */
  endedRuns: string[];
  /** Where agents have news. */
  locationsWithNews: { accountId: string; location: string }[];
}

/** A result that was decided as new is stored: another commit that did not hold the lock was faster. */
export class StoredMeanwhile extends Error {
  constructor() {
    super('a result was stored meanwhile');
  }
}

/**
 * Inserts the new runs. When others stand in the way of some of them, it inserts none and gives the
 * items that made these: everything is to be decided again, with those runs.
 */
export async function storeRuns(
  db: Db,
  { newRuns }: IngestPlan,
  now: number,
  how: Inserting,
): Promise<RunItem[]> {
  const inserted = await (how === 'plainly' ? insertNewRuns : insertRuns).run(
    db,
    newRuns.map(({ row, late }) => ({ ...row, late_results: late, created_at: now })),
  );
  const ids = new Map(inserted.map((row) => [row.run_id, row.id]));
  for (const run of newRuns) run.id = ids.get(run.row.run_id) ?? null;
  if (inserted.length === newRuns.length) return [];
  if (inserted.length > 0) {
    await db
      .deleteFrom('check_runs')
      .where(
        'id',
        'in',
        inserted.map(({ id }) => id),
      )
      .execute();
  }
  return newRuns.flatMap(({ id, item }) => (id === null && item !== null ? [item] : []));
}

function idOf({ id, row }: PlannedRun): number {
  if (id === null) throw new Error(`run ${row.run_id} was not inserted`);
  return id;
}

function toRow({ accountId, run, item, resultType }: NewPlannedResult, now: number): NewResult {
  return {
    id: item.id,
    account_id: accountId,
    check_id: item.checkId,
    check_run_id: idOf(run),
    run_day: run.row.run_day,
    check_type: item.checkType,
    name: item.name,
    result_type: resultType,
    attempt: item.attempt,
    has_failures: toFlag(item.hasFailures),
    has_errors: toFlag(item.hasErrors),
    is_degraded: toFlag(item.isDegraded),
    over_max_response_time: toFlag(item.overMaxResponseTime),
    under_load: toFlag(item.underLoad),
    agent_wait_ms: item.agentWaitMs ?? null,
    run_location: item.runLocation,
    scheduled_for: item.scheduledFor,
    started_at: item.startedAt,
    stopped_at: item.stoppedAt,
    created_at: now,
    response_time_ms: Math.floor(item.responseTime),
    epoch: item.epoch,
    is_cancelled: toFlag(item.isCancelled),
    is_payload_dropped: toFlag(item.isPayloadDropped === true),
  };
}

async function storeNewResults(
  db: Db,
  plan: IngestPlan,
  now: number,
  how: Inserting,
): Promise<void> {
  const { newResults, promoted, changedRuns } = plan;
  const inserted = await storeResults(
    db,
    newResults.map((result) => ({ row: toRow(result, now), payload: result.payload })),
    how,
  );
  if (inserted.length < newResults.length) throw new StoredMeanwhile();
  const seqs = new Map(inserted.map(({ id, seq }) => [id, seq]));
  const numbered = newResults.flatMap((result) => {
    const seq = seqs.get(result.id);
    return seq === undefined ? [] : [{ ...result, seq }];
  });
  const attempts = promoted.flatMap(({ seq, run }) =>
    seq === null ? [] : [{ seq, runDay: run.row.run_day, checkId: run.row.check_id }],
  );
  await promoteResults(db, attempts);
  await updateRuns(
    db,
    changedRuns.map((run) => ({
      ...{ id: idOf(run), run_day: run.row.run_day, late: run.late, state: run.row.state },
      ...{ missed_reason: run.row.missed_reason, result_id: run.row.result_id },
    })),
  );
  const waiting = numbered.flatMap(({ seq, run, resultType, item }): Waiting[] => {
    const occasion = occasionOf(resultType, item.isCancelled);
    const { checkId } = item;
    return occasion === null ? [] : [{ seq, runDay: run.row.run_day, checkId, occasion }];
  });
  const nowFinal = attempts.map((attempt) => ({ ...attempt, occasion: 'promoted' as const }));
  await addToInbox(db, [...waiting, ...nowFinal], now);
}

/** Files, errors and scripts of the new results. Gives the locations whose agents have news. */
async function storeWhatBelongsTo(
  { newId }: Services,
  db: Db,
  results: readonly NewPlannedResult[],
  now: number,
): Promise<{ accountId: string; location: string }[]> {
  await announceArtifacts(
    db,
    results.map(({ accountId, run, item }) => ({
      ...{ accountId, location: item.runLocation, resultId: item.id, now },
      runDay: run.row.run_day,
      artifacts: item.artifacts,
    })),
  );
  // It may have waited long on its agent, whose clock may be ahead.
  const happenedAt = (stoppedAt: number) => Math.min(stoppedAt, now);
  const withErrors = results.filter(
    ({ item }) => item.errorMessages.length > 0 && !item.isCancelled,
  );
  await groupErrors(
    db,
    withErrors.map(({ accountId, run, item }) => ({
      ...{ accountId, checkId: item.checkId, resultId: item.id, runDay: run.row.run_day },
      ...{ now: happenedAt(item.stoppedAt), messages: item.errorMessages },
    })),
    newId,
  );
  const taught: { accountId: string; location: string }[] = [];
  for (const { accountId, item } of results) {
    const { checkId, runLocation: location, learnedScript } = item;
    // Other types replay nothing.
    if (learnedScript === null || findAgentType(item.checkType)?.learnsScripts !== true) continue;
    const owner = { accountId, checkId, location };
    await saveLearnedScript(db, owner, learnedScript, happenedAt(item.stoppedAt));
    taught.push({ accountId, location });
  }
  return taught;
}

function endShared(db: Db, { closings }: IngestPlan, now: number) {
  const shared = closings.filter(({ item }) => findAgentType(item.checkType)?.shardsOf);
  return endSharedRuns(
    db,
    shared.map(({ accountId, run }) => ({ accountId, runId: run.row.run_id })),
    now,
  );
}

/** Writes a plan whose runs are stored. */
export async function storePlan(
  services: Services,
  db: Db,
  plan: IngestPlan,
  now: number,
  how: Inserting,
): Promise<StoredPlan> {
  await storeNewResults(db, plan, now, how);
  const taught = await storeWhatBelongsTo(services, db, plan.newResults, now);
  await finishJobs(db, plan.finishedJobs);
  await createJobs(services, db, plan.jobs);
  const retried = plan.jobs.map(({ accountId, location }) => ({ accountId, location }));
  const stored: StoredPlan = {
    ...{ verdicts: [], endings: [], endedRuns: [] },
    locationsWithNews: [...taught, ...retried, ...(await endShared(db, plan, now))],
  };
  const changes = new Map<string, StatusChange>();
  for (const { accountId, run, item } of plan.closings) {
    stored.endedRuns.push(run.row.run_id);
    // A cancelled run says nothing about the target.
    if (item.isCancelled) continue;
    const { checkId, runLocation: location, hasErrors, faultCode } = item;
    // The clock of the agent may be ahead: later results must still be newer.
    const startedAt = Math.min(item.startedAt, now);
    const final = { accountId, checkRunId: idOf(run), ...item, startedAt };
    changes.set(checkId, statusUpdate(changes.get(checkId), final));
    const verdict = verdictOfSubmission(accountId, item, now);
    stored.verdicts.push(verdict);
    // Agents without error codes and codes without letters name no error.
    const code = faultCode === undefined || faultCode === '' ? 'UNKNOWN' : faultCode;
    const error = hasErrors ? { code, message: verdict.error } : null;
    stored.endings.push({ accountId, checkId, location, startedAt, error });
  }
  await writeStatuses(services.statuses, db, changes, now);
  return stored;
}
