/** Sessions: one check, run on demand in each of its locations or in one. */
import type { RunSource } from '@monitor/shared/contract/check-trigger.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { fromFlag } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import { eachOf, idIn } from '../db/expressions.ts';
import { dayAt, daysOf, isOfDays, runDayIn } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';
import {
  agentsFor,
  cancelOpenRuns,
  createJobs,
  dropJob,
  type Needs,
  needsOfChecks,
  notifyAgents,
  requestCancellation,
  whyNobodyCan,
} from '../scheduling/index.ts';
import { isTerminal, sessionStatusOf } from './decide/check-session.ts';
import {
  type CheckConsumer,
  type CheckFields,
  type CheckRow,
  effectiveFields,
  findCheck,
  groupOf,
  isDeactivated,
  locationsOf,
  lockChecks,
  runsOnAgents,
  type ScheduledFields,
} from '../checks/index.ts';
import { type Place, raiseJobs, raiseNews } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import { endCancelledRun, recordInternalError } from '../results/index.ts';

export type SessionRow = RowOf<'check_sessions'>;
type ResultRow = RowOf<'check_results'>;

/** Time for waiting and retries, besides the run itself. */
const sessionMarginMs = 15 * 60_000;

/** A session that lasts longer has timed out. */
function sessionLifetimeMs(type: string): number {
  return sessionMarginMs + checkTypes[type as CheckType].maxRunMs;
}

export interface SessionRunState {
  runId: string;
  location: string;
  isCancelled: boolean;
  /** The FINAL result, or null. */
  final: ResultRow | null;
  /** All results, in order of their attempts. */
  results: ResultRow[];
}

/** True for a check that agents run in some location, and whose deletion is not held. */
export function isRunnable(row: CheckRow, effective: CheckFields): boolean {
  return row.is_trial !== 2 && runsOnAgents(row.type) && locationsOf(effective).length > 0;
}

/** The locations of a session: all for `runParallel`, else one whose agents can run it. */
function placesOf(
  { hub }: Services,
  row: CheckRow,
  needs: Needs,
  locations: readonly string[],
  runParallel: boolean,
  wanted: string | undefined,
): string[] {
  if (wanted !== undefined && locations.includes(wanted)) return [wanted];
  if (runParallel) return [...locations];
  const agents = (location: string) => hub.members(row.account_id, location);
  const place =
    locations.find((location) => agentsFor(needs, agents(location)).length > 0) ??
    locations.find((location) => agents(location).length > 0) ??
    locations[0];
  return place === undefined ? [] : [place];
}

export interface StartOptions {
  source: RunSource;
  /** Location of the run, when the check has it. */
  location?: string;
  /** `ENVIRONMENT_URL` of the runs. */
  environmentUrl?: string;
  /** What scripts print is sent while they run. */
  streamsLogs?: boolean;
  /** Snapshots are made anew. */
  updatesSnapshots?: boolean;
}

export interface StartedSession {
  session: SessionRow;
  runs: { runId: string; location: string }[];
}

/**
 * Starts a session for each check in a transaction. Call `raiseNews` with the places at its end, and
 * `notifyAgents` after the commit.
 */
export async function startSessionsIn(
  services: Services,
  db: Db,
  rows: readonly CheckRow[],
  {
    source,
    location: wanted,
    environmentUrl,
    streamsLogs = false,
    updatesSnapshots = false,
  }: StartOptions,
): Promise<{ started: StartedSession[]; places: Place[] }> {
  const { clock, newId, newRunId } = services;
  const places: Place[] = [];
  const started: StartedSession[] = [];
  for (const { id, account_id: accountId } of rows) {
    const row = await findCheck(db, accountId, id);
    // The check was deleted since it was selected.
    if (row === undefined || row.is_trial === 2) continue;
    const now = clock.now();
    const session: SessionRow = {
      id: newId(),
      account_id: row.account_id,
      check_id: row.id,
      check_type: row.type,
      name: row.name,
      run_source: source,
      started_at: now,
      deadline: now + sessionLifetimeMs(row.type),
      cancelled_at: null,
    };
    await db.insertInto('check_sessions').values(session).execute();
    const effective = effectiveFields(row, await groupOf(db, row));
    const { runParallel } = effective as unknown as ScheduledFields;
    const needs = (await needsOfChecks(db, accountId, [row])).get(row.id);
    if (needs === undefined) continue;
    const locations = placesOf(services, row, needs, locationsOf(effective), runParallel, wanted);
    const runs = locations.map((location) => ({ runId: newRunId(), location }));
    for (const { runId, location } of runs) {
      await db
        .insertInto('check_session_runs')
        .values({ session_id: session.id, run_id: runId, location, cancelled: 0 })
        .execute();
      const lack = whyNobodyCan(needs, services.hub.members(accountId, location));
      if (lack !== null) {
        // No agent could take the job: it ends now instead of at its deadline.
        const reason = `no agent of ${location} ${lack}`;
        await recordInternalError(services, db, {
          row,
          effective,
          needs,
          runId,
          location,
          reason,
        });
        continue;
      }
      await createJobs(services, db, [
        {
          accountId: row.account_id,
          checkId: row.id,
          location,
          source,
          runId,
          expiresAt: session.deadline,
          environmentUrl: environmentUrl ?? null,
          ...{ streamsLogs, updatesSnapshots },
        },
      ]);
      places.push({ accountId: row.account_id, location });
    }
    started.push({ session, runs });
  }
  return { started, places };
}

/** Starts a session for each check in one transaction; agents are notified afterwards. */
export async function startSessions(
  services: Services,
  rows: readonly CheckRow[],
  options: StartOptions,
): Promise<SessionRow[]> {
  const { started, places } = await services.commits.run(async (db) => {
    const begun = await startSessionsIn(services, db, rows, options);
    await raiseNews(db, begun.places);
    return begun;
  });
  for (const { accountId, location } of places) notifyAgents(services, accountId, [location]);
  return started.map(({ session }) => session);
}

export async function findSession(
  db: Db,
  accountId: string,
  id: string,
): Promise<SessionRow | undefined> {
  return ownRows(db, 'check_sessions', accountId).where('id', '=', id).executeTakeFirst();
}

/** The runs of a session with their results so far. */
export async function runsOfSession(db: Db, session: SessionRow): Promise<SessionRunState[]> {
  // Their ids were made with the session.
  const begun = dayAt(session.started_at);
  const days = daysOf([begun, begun + 1]);
  const runs = await db
    .selectFrom('check_session_runs')
    .leftJoin('check_runs', (join) =>
      join
        .on('check_runs.run_id', '=', idIn('check_session_runs.run_id'))
        .on(isOfDays('check_runs', days)),
    )
    .select([
      'check_session_runs.run_id',
      'check_session_runs.location',
      'check_session_runs.cancelled',
      'check_runs.id as row_id',
    ])
    .select(runDayIn('check_runs').as('run_day'))
    .where('check_session_runs.session_id', '=', session.id)
    .orderBy('check_session_runs.location')
    .execute();
  const states: SessionRunState[] = [];
  for (const run of runs) {
    const results =
      run.row_id === null
        ? []
        : await ownRows(db, 'check_results', session.account_id)
            .where('check_run_id', '=', run.row_id)
            .where(isOfDays('check_results', daysOf([run.run_day])))
            .where('result_type', '!=', 'LATE')
            .orderBy('attempt')
            .execute();
    states.push({
      runId: run.run_id,
      location: run.location,
      isCancelled: fromFlag(run.cancelled),
      final: results.find((result) => result.result_type === 'FINAL') ?? null,
      results,
    });
  }
  return states;
}

/** The present status of a session. */
export function statusOfSession(
  session: SessionRow,
  runs: readonly SessionRunState[],
  now: number,
) {
  return sessionStatusOf(
    runs.map(({ isCancelled, final }) => ({
      isCancelled: isCancelled || (final !== null && fromFlag(final.is_cancelled)),
      outcome:
        final === null || fromFlag(final.is_cancelled)
          ? null
          : {
              hasFailures: fromFlag(final.has_failures),
              hasErrors: fromFlag(final.has_errors),
              isDegraded: fromFlag(final.is_degraded),
            },
    })),
    session.deadline,
    now,
  );
}

/**
 * Waits until a session has ended, for the time limit, or until the control plane stops; gives its
 * runs.
 */
export async function awaitSession(
  { db, clock, runs: signals }: Services,
  session: SessionRow,
  withinMs: number,
  signal: AbortSignal,
): Promise<{ runs: SessionRunState[]; hasEnded: boolean }> {
  const until = clock.monotonic() + withinMs;
  for (;;) {
    // Subscribed before the state is read, so that no end is missed.
    const open = new AbortController();
    const everyRun = await db
      .selectFrom('check_session_runs')
      .select('run_id')
      .where('session_id', '=', session.id)
      .execute();
    const leftMs = until - clock.monotonic();
    const next = signals.nextEnd(
      everyRun.map((run) => run.run_id),
      Math.max(0, leftMs),
      AbortSignal.any([signal, open.signal]),
    );
    const runs = await runsOfSession(db, session);
    const hasEnded = isTerminal(statusOfSession(session, runs, clock.now()));
    if (hasEnded || leftMs <= 0 || signal.aborted || signals.isClosed) {
      open.abort();
      await next;
      return { runs, hasEnded };
    }
    await next;
  }
}

type OpenJob = Pick<RowOf<'jobs'>, 'id' | 'run_id' | 'check_id' | 'agent_id' | 'location'>;

/**
 * Ends waiting jobs at once; running ones are marked for the next check-in of their agent. Both are seen as
 * cancelled from here on, though a run that ended before its agent heard of it keeps its result. Call
 * `raiseJobs` for the notified locations at the end of the transaction.
 */
async function callOffJobs(
  db: Db,
  jobs: readonly OpenJob[],
  now: number,
): Promise<{ ended: string[]; notified: string[] }> {
  const waiting = jobs.filter((job) => job.agent_id === null);
  const taken = jobs.filter((job) => job.agent_id !== null);
  await lockChecks(
    db,
    waiting.map((job) => job.check_id),
  );
  await endCancelled(db, waiting);
  for (const job of taken) {
    await requestCancellation(db, job.id, now);
    await showCancelled(db, job.run_id);
  }
  return { ended: jobs.map((job) => job.run_id), notified: taken.map((job) => job.location) };
}

/** Cancels runs of a session: all, or those with the given ids. */
export async function cancelSession(
  services: Services,
  session: SessionRow,
  runIds: readonly string[] | undefined,
): Promise<void> {
  const { commits, clock, runs: signals } = services;
  const { ended, notified } = await commits.run(async (db) => {
    const now = clock.now();
    let open = db
      .selectFrom('jobs')
      .innerJoin('check_session_runs', 'check_session_runs.run_id', 'jobs.run_id')
      .select(['jobs.id', 'jobs.run_id', 'jobs.check_id', 'jobs.agent_id', 'jobs.location'])
      .where('jobs.account_id', '=', session.account_id)
      .where('check_session_runs.session_id', '=', session.id);
    if (runIds !== undefined) open = open.where('jobs.run_id', 'in', runIds);
    const jobs = await open.execute();
    if (jobs.length > 0) {
      await db
        .updateTable('check_sessions')
        .set({ cancelled_at: now })
        .where('id', '=', session.id)
        .where('cancelled_at', 'is', null)
        .execute();
    }
    const calledOff = await callOffJobs(db, jobs, now);
    await raiseJobs(db, session.account_id, calledOff.notified);
    return calledOff;
  });
  notifyAgents(services, session.account_id, notified);
  signals.ended(ended);
}

/** Cancels runs of an account, scheduled or not. True when any of them had not ended. */
export async function cancelRuns(
  services: Services,
  accountId: string,
  runIds: readonly string[],
): Promise<boolean> {
  const { commits, clock, runs: signals } = services;
  const { ended, notified } = await commits.run(async (db) => {
    const running = await cancelOpenRuns(db, accountId, runIds);
    const jobs = await db
      .selectFrom('jobs')
      .select(['id', 'run_id', 'check_id', 'agent_id', 'location'])
      .where('account_id', '=', accountId)
      .where('run_id', 'in', eachOf(runIds))
      .execute();
    const calledOff = await callOffJobs(db, jobs, clock.now());
    const locations = [...calledOff.notified, ...running];
    await raiseJobs(db, accountId, locations);
    return { ended: calledOff.ended, notified: locations };
  });
  notifyAgents(services, accountId, notified);
  signals.ended(ended);
  return ended.length + notified.length > 0;
}

async function showCancelled(db: Db, runId: string): Promise<void> {
  await db
    .updateTable('check_session_runs')
    .set({ cancelled: 1 })
    .where('run_id', '=', runId)
    .execute();
}

async function endCancelled(
  db: Db,
  jobs: readonly { id: string; run_id: string }[],
): Promise<void> {
  for (const job of jobs) {
    await dropJob(db, job.id);
    await endCancelledRun(db, job.run_id);
    await showCancelled(db, job.run_id);
  }
}

/**
 * Ends cancelled jobs that no agent runs any more, because it released them or left. Nobody may
 * start them again. Gives their number.
 */
export async function dropCancelledJobs({ commits, clock }: Services): Promise<number> {
  return commits.run(async (db) => {
    const left = await db
      .selectFrom('jobs')
      .select(['id', 'run_id', 'check_id'])
      .where('cancel_requested_at', 'is not', null)
      .where((where) =>
        where.or([where('agent_id', 'is', null), where('lease_until', '<=', clock.now())]),
      )
      .execute();
    const checkIds = left.map((job) => job.check_id);
    const locked = new Set(await lockChecks(db, checkIds));
    const ending = left.filter((job) => locked.has(job.check_id));
    await endCancelled(db, ending);
    return ending.length;
  });
}

/** Cancels waiting runs when their check is deactivated; it must run before their jobs are deleted. */
export const sessionsOfChecks: CheckConsumer = {
  changed: async (_services, db, change) => {
    if (!isDeactivated(change)) return null;
    await db
      .updateTable('check_session_runs')
      .set({ cancelled: 1 })
      .where('run_id', 'in', (jobs) =>
        jobs
          .selectFrom('jobs')
          .select('run_id')
          .where('account_id', '=', change.row.account_id)
          .where('check_id', '=', change.row.id)
          .where('agent_id', 'is', null),
      )
      .execute();
    return null;
  },
};
