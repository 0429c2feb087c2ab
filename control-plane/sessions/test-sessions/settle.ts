/**
 * Ends results of test sessions. What agents sent is stored once, by the intake of results; a session only
 * copies how its runs ended. So a crash between the two loses nothing: the next request copies it.
 */
import type { TestOutcome } from '@monitor/shared/contract/test-session.ts';
import { lockChecks } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { fromFlag, toFlag } from '../../db/columns.ts';
import { eachOf } from '../../db/expressions.ts';
import { lockRows } from '../../db/lock.ts';
import type { Db } from '../../db/tables.ts';
import { dropWaitingJobs } from '../../scheduling/index.ts';
import {
  statesOfRuns,
  statusOfOutcomes,
  type TestResultRow,
  type TestRunState,
  type TestSessionRow,
} from './store.ts';

/** A location without an agent for so long serves nobody. */
export const unservedAfterMs = 90_000;
const sessionsAtOnce = 200;

type Ending = Pick<
  TestResultRow,
  | 'outcome'
  | 'result_id'
  | 'has_failures'
  | 'has_errors'
  | 'is_degraded'
  | 'error'
  | 'response_time_ms'
  | 'started_at'
  | 'stopped_at'
>;

function endedWithout(outcome: TestOutcome, error: string, now: number): Ending {
  const isError = toFlag(outcome === 'FAILED');
  return {
    ...{ outcome, error, result_id: null, stopped_at: now },
    ...{ has_failures: toFlag(false), has_errors: isError, is_degraded: toFlag(false) },
    ...{ response_time_ms: null, started_at: null },
  };
}

/** How a run ended; null while it goes on. */
function endingOf(row: TestResultRow, state: TestRunState, now: number): Ending | null {
  const { final } = state;
  if (state.isCancelled) {
    const none = endedWithout('CANCELLED', 'the run was cancelled', final?.stopped_at ?? now);
    return { ...none, result_id: final?.id ?? null };
  }
  if (final === null) {
    return now < row.deadline ? null : endedWithout('FAILED', 'the run has not ended in time', now);
  }
  const hasFailed = fromFlag(final.has_failures) || fromFlag(final.has_errors);
  return {
    outcome: hasFailed ? 'FAILED' : fromFlag(final.is_degraded) ? 'DEGRADED' : 'PASSED',
    ...{ result_id: final.id, error: null, response_time_ms: final.response_time_ms },
    ...{ has_failures: final.has_failures, has_errors: final.has_errors },
    ...{ is_degraded: final.is_degraded },
    ...{ started_at: final.started_at, stopped_at: final.stopped_at },
  };
}

async function writeEnding(db: Db, id: string, ending: Ending): Promise<void> {
  await db
    .updateTable('test_results')
    .set(ending)
    .where('id', '=', id)
    .where('outcome', 'is', null)
    .execute();
}

/** Ends a session whose results all have; the caller holds its lock. */
export async function endIfComplete(
  db: Db,
  session: Pick<TestSessionRow, 'id'>,
  now: number,
): Promise<boolean> {
  const rows = await db
    .selectFrom('test_results')
    .select(['outcome', 'stopped_at'])
    .where('session_id', '=', session.id)
    .execute();
  const status = statusOfOutcomes(rows.map((row) => row.outcome));
  if (status === 'RUNNING') return false;
  await db
    .updateTable('test_sessions')
    .set({ status, stopped_at: Math.max(...rows.map((row) => row.stopped_at ?? now)) })
    .where('id', '=', session.id)
    .where('stopped_at', 'is', null)
    .execute();
  return true;
}

/** The row of a session that has not ended, locked. */
export function lockOpen(db: Db, id: string): Promise<TestSessionRow | undefined> {
  return lockRows(
    db.selectFrom('test_sessions').selectAll().where('id', '=', id).where('stopped_at', 'is', null),
  ).executeTakeFirst();
}

/** Copies how the runs of a session ended. Gives the runs that have. */
export async function settleTestSession(
  { clock, commits, db }: Pick<Services, 'clock' | 'commits' | 'db'>,
  session: TestSessionRow,
): Promise<string[]> {
  if (session.stopped_at !== null) return [];
  const endingsOf = async (unit: Db) => {
    const open = await unit
      .selectFrom('test_results')
      .selectAll()
      .where('session_id', '=', session.id)
      .where('outcome', 'is', null)
      .execute();
    const stateOf = await statesOfRuns(unit, session, open);
    const now = clock.now();
    return open.flatMap((row) => {
      const ending = endingOf(row, stateOf(row), now);
      return ending === null ? [] : [{ row, ending }];
    });
  };
  // Most looks find nothing: they take no lock.
  if ((await endingsOf(db)).length === 0) return [];
  return commits.run(async (unit) => {
    if ((await lockOpen(unit, session.id)) === undefined) return [];
    const endings = await endingsOf(unit);
    for (const { row, ending } of endings) await writeEnding(unit, row.id, ending);
    await endIfComplete(unit, session, clock.now());
    return endings.map(({ row }) => row.run_id);
  });
}

/** More than a sentence names. */
const namedLocations = 5;

/**
 * Which of these locations had no agent for a while, and which of all have one now. One whose agents restart is
 * not among the first.
 */
async function unservedOf(
  { clock, db }: Pick<Services, 'clock' | 'db'>,
  accountId: string,
  locations: readonly string[],
): Promise<{ without: ReadonlySet<string>; others: string[] }> {
  const states = await db
    .selectFrom('location_states')
    .select(['location', 'served_since', 'unserved_since'])
    .where('account_id', '=', accountId)
    .where((where) =>
      where.or([where('location', 'in', eachOf(locations)), where('served_since', 'is not', null)]),
    )
    .orderBy('location')
    .execute();
  const until = clock.now() - unservedAfterMs;
  const served = new Set(
    states.flatMap((state) =>
      state.served_since !== null || (state.unserved_since ?? 0) > until ? [state.location] : [],
    ),
  );
  return {
    without: new Set(locations.filter((location) => !served.has(location))),
    others: states.flatMap((state) => (state.served_since === null ? [] : [state.location])),
  };
}

/** Ends the runs of a session that no agent of their location could have taken for a while. */
async function endUnserved(services: Services, session: TestSessionRow): Promise<string[]> {
  const { clock, commits } = services;
  const { account_id: accountId } = session;
  if (clock.now() < session.started_at + unservedAfterMs) return [];
  const open = await services.db
    .selectFrom('test_results')
    .selectAll()
    .where('session_id', '=', session.id)
    .where('outcome', 'is', null)
    .where('trial_id', 'is not', null)
    .execute();
  if (open.length === 0) return [];
  const locations = [...new Set(open.map((row) => row.location))];
  const { without, others } = await unservedOf(services, accountId, locations);
  const unserved = open.filter((row) => without.has(row.location));
  if (unserved.length === 0) return [];
  // On a new installation, projects still name locations of another one.
  const hint =
    others.length === 0 ? '' : `; agents serve ${others.slice(0, namedLocations).join(', ')}`;
  return commits.run(async (db) => {
    const trials = unserved.map((row) => row.trial_id ?? '');
    await lockChecks(db, trials);
    if ((await lockOpen(db, session.id)) === undefined) return [];
    const ended: string[] = [];
    for (const row of unserved) {
      // An agent may have begun it a moment ago.
      const [runId] = await dropWaitingJobs(db, { accountId, checkId: row.trial_id ?? '' });
      if (runId === undefined) continue;
      const error = `no agent serves ${row.location}${hint}`;
      await writeEnding(db, row.id, endedWithout('FAILED', error, clock.now()));
      ended.push(runId);
    }
    await endIfComplete(db, session, clock.now());
    return ended;
  });
}

/** Ends what has ended, and what will not begin, in all open sessions. */
export async function settleTestSessions(services: Services): Promise<void> {
  let last = '';
  for (;;) {
    // All of them: some stay open for hours, and others would wait for these.
    const open = await services.db
      .selectFrom('test_sessions')
      .selectAll()
      .where('stopped_at', 'is', null)
      .where('id', '>', last)
      .orderBy('id')
      .limit(sessionsAtOnce)
      .execute();
    for (const session of open) {
      const ended = [
        ...(await settleTestSession(services, session)),
        ...(await endUnserved(services, session)),
      ];
      services.runs.ended(ended);
    }
    if (open.length < sessionsAtOnce) return;
    last = open.at(-1)?.id ?? '';
  }
}
