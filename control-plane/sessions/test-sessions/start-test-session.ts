/**
 * Starts a test session: each job becomes a trial, a stored check that is in no list, and one run of it. So
 * everything that agents, results, files and secrets do is as for any other check.
 */
import { maxOpenTestSessions, maxTestJobs } from '@monitor/shared/contract/test-session.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { createCheck, type CheckRow, type Trial } from '../../checks/index.ts';
import { raiseNews } from '../../core/location-versions.ts';
import type { Services } from '../../core/services.ts';
import { toFlag } from '../../db/columns.ts';
import { lockRows } from '../../db/lock.ts';
import type { Db } from '../../db/tables.ts';
import { ApiError } from '../../errors/api-error.ts';
import { notifyAgents } from '../../scheduling/index.ts';
import { startSessionsIn } from '../check-sessions.ts';
import { trialOf } from '../check-trials/trial-of.ts';
import type { TestResultRow, TestSessionRow } from './store.ts';

/** A client that has not had its answer for so long has lost it: it may be sent results. */
const answeredWithinMs = 30_000;
/** Trials that are made at once: they share a commit. */
const trialsAtOnce = 100;

export type NewTestSession = Omit<
  TestSessionRow,
  'id' | 'status' | 'started_at' | 'stopped_at' | 'cancelled_at' | 'publish_from'
>;

const noNames = { check_id: null, logical_id: null, check_run_id: null };

/** A check that is to run once. */
export interface NewTestJob {
  checkType: CheckType;
  /** As the body of the check, without what a trial has of its own. */
  fields: Record<string, unknown>;
  trial: Trial;
  /** Its snapshots are made anew. */
  updatesSnapshots?: boolean;
  /** What the client, or the API, calls the check. */
  names: Pick<TestResultRow, 'check_id' | 'logical_id' | 'check_run_id'>;
}

export interface StartedTestSession {
  session: TestSessionRow;
  /** In the order of the jobs. */
  results: TestResultRow[];
}

/** Throws 429 when too many sessions of the account have not ended. */
export async function refuseManyOpen(db: Db, accountId: string): Promise<void> {
  const { open } = await db
    .selectFrom('test_sessions')
    .select((select) => select.fn.countAll<number>().as('open'))
    .where('account_id', '=', accountId)
    .where('stopped_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(open) < maxOpenTestSessions) return;
  throw new ApiError(
    'TOO_MANY_REQUESTS',
    `${maxOpenTestSessions} test sessions of this account have not ended: wait for them, or cancel some`,
    { retryAfterSeconds: 30 },
  );
}

async function createTrials(
  services: Services,
  { account_id: accountId, location }: NewTestSession,
  jobs: readonly NewTestJob[],
): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  for (let from = 0; from < jobs.length; from += trialsAtOnce) {
    const made = jobs
      .slice(from, from + trialsAtOnce)
      .map(({ checkType, fields, trial }) =>
        createCheck(
          services,
          accountId,
          checkTypes[checkType],
          { ...trialOf(fields, location), groupId: null },
          false,
          { trial },
        ),
      );
    rows.push(...(await Promise.all(made)));
  }
  return rows;
}

/** Starts a session. Nothing is sent to its client before `openTestSession`. */
export async function startTestSession(
  services: Services,
  given: NewTestSession,
  jobs: readonly NewTestJob[],
): Promise<StartedTestSession> {
  const { clock, commits, newId } = services;
  if (jobs.length > maxTestJobs) {
    throw new ApiError('VALIDATION', `${jobs.length} checks match; a session has ${maxTestJobs}`);
  }
  const { account_id: accountId, location } = given;
  await refuseManyOpen(services.db, accountId);
  const trials = await createTrials(services, given, jobs);
  const { places, ...begun } = await commits.run(async (db) => {
    await lockRows(db.selectFrom('accounts').select('id').where('id', '=', accountId)).execute();
    await refuseManyOpen(db, accountId);
    const now = clock.now();
    const session: TestSessionRow = {
      ...given,
      id: newId(),
      status: 'RUNNING',
      ...{ started_at: now, stopped_at: null, cancelled_at: null },
      publish_from: now + answeredWithinMs,
    };
    await db.insertInto('test_sessions').values(session).execute();
    const { started, places } = await startSessionsIn(services, db, trials, {
      source: given.is_recorded === 1 ? 'TEST_RECORD' : 'TEST_NO_RECORD',
      ...{ location, streamsLogs: given.streams_logs === 1 },
      updatesSnapshots: jobs.some((job) => job.updatesSnapshots === true),
    });
    const sessions = new Map(started.map((one) => [one.session.check_id, one]));
    const results = trials.map((trial, position): TestResultRow => {
      const names = jobs[position]?.names ?? noNames;
      const one = sessions.get(trial.id);
      const [run] = one?.runs ?? [];
      if (one === undefined || run === undefined) {
        throw new ApiError('CONFLICT', `check ${trial.name} was deleted while the session began`);
      }
      return {
        ...{ id: newId(), session_id: session.id, account_id: accountId, position },
        ...{ run_id: run.runId, trial_id: trial.id, ...names },
        ...{ name: trial.name, check_type: trial.type, location: run.location },
        ...{ outcome: null, result_id: null, error: null, report_json: null },
        ...{ has_failures: toFlag(false), has_errors: toFlag(false), is_degraded: toFlag(false) },
        ...{ response_time_ms: null, started_at: null, stopped_at: null },
        ...{ deadline: one.session.deadline, log_bytes: 0 },
      };
    });
    for (let from = 0; from < results.length; from += trialsAtOnce) {
      const rows = results.slice(from, from + trialsAtOnce);
      await db.insertInto('test_results').values(rows).execute();
    }
    await raiseNews(db, places);
    return { session, results, places };
  });
  for (const place of places) notifyAgents(services, place.accountId, [place.location]);
  return begun;
}

/** The client has the answer that starts the session, so it may be sent results. */
export async function openTestSession(services: Services, id: string): Promise<void> {
  await services.db
    .updateTable('test_sessions')
    .set({ publish_from: services.clock.now() })
    .where('id', '=', id)
    .execute();
  services.runs.ended([id]);
}
