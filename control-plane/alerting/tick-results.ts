/** What the locations of a parallel check have reported for a tick. */
import { prepareQuery } from '../db/prepared.ts';
import { dayAt, daysOf, isOfDays, isOfSameDay } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';
import type { LocationResult, Outcome } from './decide/tick.ts';

interface Row {
  id: string;
  location: string;
  stopped_at: number;
  has_failures: number;
  has_errors: number;
  is_degraded: number;
}

const finalsOfTick = prepareQuery<
  { accountId: string; checkId: string; scheduledFor: number; days: string },
  Row
>((db, argument) =>
  db
    .selectFrom('check_runs')
    .innerJoin('check_results', (join) =>
      join.onRef('check_results.id', '=', 'check_runs.result_id').on(isOfSameDay),
    )
    .select([
      'check_results.id',
      'check_runs.location',
      'check_results.stopped_at',
      'check_results.has_failures',
      'check_results.has_errors',
      'check_results.is_degraded',
    ])
    .where(isOfDays('check_runs', argument('days')))
    .where('check_runs.account_id', '=', argument('accountId'))
    .where('check_runs.check_id', '=', argument('checkId'))
    .where('check_runs.scheduled_for', '=', argument('scheduledFor'))
    .where('check_runs.state', '=', 'FINAL')
    .where('check_results.is_cancelled', '=', 0)
    .orderBy('check_results.stopped_at'),
);

/** The outcome of a FINAL result for its target. */
export function outcomeOf(result: {
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
}): Outcome {
  if (result.hasErrors) return 'inconclusive';
  if (result.hasFailures) return 'failing';
  return result.isDegraded ? 'degraded' : 'passing';
}

export async function readTick(
  db: Db,
  tick: { accountId: string; checkId: string; scheduledFor: number },
): Promise<LocationResult[]> {
  const rows = await finalsOfTick.run(db, {
    ...tick,
    days: daysOf([dayAt(tick.scheduledFor)]),
  });
  return rows.map((row) => ({
    resultId: row.id,
    location: row.location,
    stoppedAt: row.stopped_at,
    outcome: outcomeOf({
      hasFailures: row.has_failures === 1,
      hasErrors: row.has_errors === 1,
      isDegraded: row.is_degraded === 1,
    }),
  }));
}
