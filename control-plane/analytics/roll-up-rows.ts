/** The statements of the roll-up. They are compiled once, because every result passes here. */
import { sql } from 'kysely';
import type { Services } from '../core/services.ts';
import { decodeJoinedPayload, fromFlag } from '../db/columns.ts';
import { eachNumberIn, heartbeatStates, isOneOf } from '../db/expressions.ts';
import { deleteOldest } from '../db/delete-oldest.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { prepareQuery } from '../db/prepared.ts';
import { rowsOf } from '../db/rows.ts';
import { isOfDays } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { isOfPresentCheck, joinPayloads, payloadColumn, type Occasion } from '../results/index.ts';
import { checkTypes, isPinged } from '@monitor/shared/contract/checks/index.ts';
import { analyticsOf } from '@monitor/shared/domain/metrics.ts';
import { isPayloadRolledUp, type RolledResult } from './decide/roll-ups/cell.ts';

type RollUpRow = RowOf<'roll_ups'>;

/** The columns of a result that are rolled up. */
interface ResultRow extends Pick<
  RowOf<'check_results'>,
  | 'seq'
  | 'account_id'
  | 'check_id'
  | 'check_type'
  | 'has_failures'
  | 'has_errors'
  | 'is_degraded'
  | 'is_cancelled'
  | 'run_location'
  | 'started_at'
  | 'response_time_ms'
> {
  encoding: 'json' | 'deflate' | null;
  payload: Buffer | null;
  checksum: number | null;
  states: string | null;
}

const columns = [
  'check_results.seq',
  'check_results.account_id',
  'check_results.check_id',
  'check_results.check_type',
  'check_results.has_failures',
  'check_results.has_errors',
  'check_results.is_degraded',
  'check_results.is_cancelled',
  'check_results.run_location',
  'check_results.started_at',
  'check_results.response_time_ms',
] as const;

const typesWithPayload = Object.keys(analyticsOf).filter(isPayloadRolledUp);
const pingedTypes = Object.keys(checkTypes).filter(isPinged);

/** Results by their numbers and the days of their runs. */
export const resultsOf = prepareQuery<{ seqs: string; days: string }, ResultRow>((db, argument) =>
  joinPayloads(db, db.selectFrom('check_results'))
    .select(columns)
    .select((select) => [
      payloadColumn('encoding').as('encoding'),
      payloadColumn('checksum').as('checksum'),
      // Payloads of other types are large and not needed.
      select
        .case()
        .when('check_results.check_type', 'in', typesWithPayload)
        .then(payloadColumn('payload'))
        .end()
        .as('payload'),
      select
        .case()
        .when('check_results.check_type', 'in', pingedTypes)
        .then(heartbeatStates())
        .end()
        .as('states'),
    ])
    .where(isOneOf('check_results.seq', eachNumberIn(argument('seqs'))))
    .where(isOfDays('check_results', argument('days')))
    .where(isOfPresentCheck('check_results.check_id')),
);

/**
 * A result as it counts on an occasion, whatever became of it since; null when it was cancelled, which
 * counts nowhere.
 */
export function toRolled(row: ResultRow, occasion: Occasion): RolledResult | null {
  if (fromFlag(row.is_cancelled)) return null;
  return {
    accountId: row.account_id,
    checkId: row.check_id,
    checkType: row.check_type,
    startedAt: row.started_at,
    isFinal: occasion !== 'attempts',
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    runLocation: row.run_location,
    responseTimeMs: row.response_time_ms,
    payload: decodeJoinedPayload(row),
    states: row.states === null ? [] : (JSON.parse(row.states) as string[]),
  };
}

type NewRollUp = Omit<RollUpRow, 'id'>;

const sameCell = [
  sql`roll_ups.check_id = given.check_id`,
  sql`roll_ups.starts_at = given.starts_at`,
  sql`roll_ups.location = given.location`,
  sql`roll_ups.part = given.part`,
  sql`roll_ups.outcome = given.outcome`,
];

/** The stored hours of cells. */
export async function findHours(
  db: Db,
  cells: readonly Pick<NewRollUp, 'check_id' | 'starts_at' | 'location' | 'part' | 'outcome'>[],
): Promise<RollUpRow[]> {
  const given = rowsOf(
    { check_id: 'text', starts_at: 'int', location: 'text', part: 'text', outcome: 'text' },
    cells,
  );
  const { rows } = await sql<RollUpRow>`
    select roll_ups.* from ${given} as given
    join roll_ups on roll_ups.hours = 1 and ${sql.join(sameCell, sql` and `)}
  `.execute(db);
  return rows;
}

const counts = ['finals', 'failures', 'degraded', 'retries'] as const;
const values = [...counts, 'first_at', 'last_at', 'metrics'] as const;

/** Stores sums; those of the same cell are replaced. */
export const storeRollUps = prepareInserts(
  'roll_ups',
  ['account_id', 'check_id', 'hours', 'starts_at', 'location', 'part', 'outcome', ...values],
  {
    onConflict: sql`on conflict (check_id, hours, starts_at, location, part, outcome) do update set
      ${sql.join(values.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`))}`,
  },
);

/** The hours of a day of a check. */
export const hoursOfDay = prepareQuery<{ checkId: string; from: number; to: number }, RollUpRow>(
  (db, argument) =>
    db
      .selectFrom('roll_ups')
      .selectAll()
      .where('check_id', '=', argument('checkId'))
      .where('hours', '=', 1)
      .where('starts_at', '>=', argument('from'))
      .where('starts_at', '<', argument('to')),
);

/** A day of a check. */
export interface CheckDay {
  check_id: string;
  starts_at: number;
}

export async function deleteDays(db: Db, days: readonly CheckDay[]): Promise<void> {
  if (days.length === 0) return;
  const given = rowsOf({ check_id: 'text', starts_at: 'int' }, days);
  await db
    .deleteFrom('roll_ups')
    .where('hours', '=', 24)
    .where(
      sql<boolean>`(check_id, starts_at) in (select check_id, starts_at from ${given} as given)`,
    )
    .execute();
}

/**
 * Notes days to sum up. A day that is noted keeps its time and is locked: it is not summed up before
 * this transaction has added what it was noted for.
 */
export const noteDays = prepareInserts(
  'roll_up_days',
  ['account_id', 'check_id', 'starts_at', 'due_at'],
  { onConflict: sql`on conflict (check_id, starts_at) do update set due_at = roll_up_days.due_at` },
);

/** Sets the instant from which all single results are still stored; it never goes back. */
export async function setRawFrom(db: Db, instant: number): Promise<void> {
  await db
    .updateTable('roll_up_progress')
    .set({ raw_from: instant })
    .where('raw_from', '<', instant)
    .execute();
}

const sumsAtOnce = 500;

/** Deletes sums that are older than their retention. True when there may be more. */
export const pruneRollUps = (
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  keptMs: number,
): Promise<boolean> =>
  deleteOldest(
    db,
    'roll_ups',
    { key: 'id', column: 'starts_at' },
    clock.now() - keptMs,
    sumsAtOnce,
  );
