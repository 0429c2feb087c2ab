/**
 * Takes runs off slots that are due again, because the clock was set back after they were made. Their
 * results are kept at the times at which they were measured, under ids that follow from the measurement:
 * a result that is sent again is recognised. Missed records are deleted.
 */
import { sql } from 'kysely';
import { resultIdOfAttempt } from '@monitor/shared/domain/run-id.ts';
import { lockChecks } from '../checks/index.ts';
import { sha256Hex } from '../core/keys.ts';
import { engineOf } from '../db/engine.ts';
import { eachNumberOf, isOneOf } from '../db/expressions.ts';
import { rowsOf } from '../db/rows.ts';
import { daysOf, isOfDays, runDayIn } from '../db/run-days.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import type { Gap } from '../reception/index.ts';
import { earlyMs } from './decide/admission.ts';

const runsAtOnce = 500;

export const measurementColumns = [
  'started_at',
  'response_time_ms',
  'has_failures',
  'has_errors',
] as const;
export type Measurement = Pick<Database['check_results'], (typeof measurementColumns)[number]>;

/** What tells two measurements of one slot apart; their starts alone are equal now and then. */
export const textOfMeasurement = (of: Measurement): string =>
  measurementColumns.map((column) => of[column]).join('|');

/** The id of a result, or of the run that began with it, once its slot is due again. */
export const releasedId = (id: string, measurement: string): string =>
  resultIdOfAttempt(`${id}|${measurement}`, 0, sha256Hex);

type ReleasedRun = Pick<RowOf<'check_runs'>, 'id' | 'run_id' | 'run_day'>;
/** The step that makes the slots due again: what begins after `to` was stamped before it. */
export type StepBack = Pick<Gap, 'to' | 'stepMs'>;

const namesResults = [
  ['check_results', 'id', 'id'],
  ['check_runs', 'result_id', 'id'],
  ['artifacts', 'result_id', 'id'],
  ['check_result_error_groups', 'result_id', 'id'],
  ['alert_decisions', 'check_result_id', 'text'],
  ['alert_notifications', 'check_result_id', 'text'],
] as const;

async function release(
  db: Db,
  runs: readonly ReleasedRun[],
  { to, stepMs }: StepBack,
): Promise<void> {
  const days = daysOf(runs.map((run) => run.run_day));
  const ofRuns = isOneOf('check_run_id', eachNumberOf(runs.map(({ id }) => id)));
  const results = await db
    .selectFrom('check_results')
    .select(['id', 'check_run_id', ...measurementColumns])
    .where(ofRuns)
    .where(isOfDays('check_results', days))
    .orderBy('seq')
    .execute();
  const moves = ['started_at', 'stopped_at', 'created_at'].map((column) => [
    column,
    // One that began before its slot was moved as it arrived.
    sql`case when started_at > ${to} and started_at >= scheduled_for - ${earlyMs}
      then ${sql.ref(column)} + ${stepMs} else ${sql.ref(column)} end`,
  ]);
  await db
    .updateTable('check_results')
    .set({ scheduled_for: null, ...Object.fromEntries(moves) })
    .where(ofRuns)
    .where(isOfDays('check_results', days))
    .execute();
  const renamed = results.map((result) => ({
    ...{ before: result.id, after: releasedId(result.id, textOfMeasurement(result)) },
  }));
  for (const [table, column, kind] of namesResults) {
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = given.after
      from ${rowsOf({ before: kind, after: kind }, renamed)} as given
      where ${sql.ref(`${table}.${column}`)} = given.before`.execute(db);
  }
  const beginnings = new Map(
    results.toReversed().map((result) => [result.check_run_id, textOfMeasurement(result)]),
  );
  const named = runs.map(({ id, run_id: runId }) => ({
    ...{ id, after: releasedId(runId, beginnings.get(id) ?? '') },
  }));
  // They stay on their day: nobody looks for their new ids there.
  await db
    .updateTable('check_runs')
    .from(rowsOf<{ id: number; after: string }>({ id: 'int', after: 'id' }, named).as('given'))
    .set(({ ref }) => ({ run_id: ref('given.after'), scheduled_for: null }))
    .whereRef('check_runs.id', '=', 'given.id')
    .where(isOfDays('check_runs', days))
    .execute();
}

/** Locks the checks of the runs, and decides on what the runs are then. */
export async function releaseRuns(
  db: Db,
  found: readonly Pick<RowOf<'check_runs'>, 'id' | 'check_id' | 'run_day'>[],
  step: StepBack,
): Promise<void> {
  if (found.length === 0) return;
  await lockChecks(db, [...new Set(found.map((run) => run.check_id))]);
  const runs = await db
    .selectFrom('check_runs')
    .select(['id', 'run_id', 'state'])
    .select(runDayIn('check_runs').as('run_day'))
    .where(isOneOf('id', eachNumberOf(found.map(({ id }) => id))))
    .where(isOfDays('check_runs', daysOf(found.map((run) => run.run_day))))
    .where('scheduled_for', 'is not', null)
    .execute();
  if (engineOf(db) === 'sqlite') await sql`pragma defer_foreign_keys = on`.execute(db);
  const missed = runs.filter(({ state }) => state === 'MISSED').map(({ id }) => id);
  await db
    .deleteFrom('check_runs')
    .where(isOneOf('id', eachNumberOf(missed)))
    .execute();
  const made = runs.filter(({ state }) => state !== 'MISSED');
  for (let index = 0; index < made.length; index += runsAtOnce) {
    await release(db, made.slice(index, index + runsAtOnce), step);
  }
}
