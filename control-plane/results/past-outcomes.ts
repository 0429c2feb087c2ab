/** What the runs of a check ended with, over weeks: only what alerting looks at. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOfWindow } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';

export interface PastOutcome {
  id: string;
  run_location: string;
  scheduled_for: number | null;
  started_at: number;
  stopped_at: number;
  has_failures: number;
  has_errors: number;
  is_degraded: number;
}

interface Filter {
  accountId: string;
  checkId: string;
  from: number;
  to: number;
}

const rowsPerPage = 2_000;

async function newestFirst(
  db: Db,
  { accountId, checkId, from, to }: Filter,
  after: { started_at: number; seq: number } | undefined,
): Promise<(PastOutcome & { seq: number })[]> {
  return db
    .selectFrom('check_results')
    .select([
      'seq',
      'id',
      'run_location',
      'scheduled_for',
      'started_at',
      'stopped_at',
      'has_failures',
      'has_errors',
      'is_degraded',
    ])
    .where('check_id', '=', checkId)
    .where('account_id', '=', accountId)
    .where('result_type', '=', 'FINAL')
    .where('is_cancelled', '=', 0)
    .where('started_at', '>=', from)
    .where('started_at', '<', to)
    .where(isOfWindow('check_results', from, to))
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb(
          eb.refTuple('started_at', 'seq'),
          '<',
          eb.tuple(after?.started_at ?? 0, after?.seq ?? 0),
        ),
      ),
    )
    .orderBy('started_at', 'desc')
    .orderBy('seq', 'desc')
    .limit(rowsPerPage)
    .execute();
}

/**
 * The outcomes of finished runs that began in a window, oldest first. With more than `most` only the newest:
 * `isWhole` is false then. Other work goes on between pages.
 */
export async function pastOutcomes(
  db: Db,
  filter: Filter,
  most: number,
): Promise<{ outcomes: PastOutcome[]; isWhole: boolean }> {
  const outcomes: PastOutcome[] = [];
  let last: (PastOutcome & { seq: number }) | undefined;
  while (outcomes.length < most) {
    const page = await newestFirst(db, filter, last);
    outcomes.push(...page);
    if (page.length < rowsPerPage) return { outcomes: outcomes.reverse(), isWhole: true };
    last = page.at(-1);
    await nextTurn();
  }
  return { outcomes: outcomes.reverse(), isWhole: false };
}
