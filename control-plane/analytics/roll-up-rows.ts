/** The statements of the roll-up. They are compiled once, because every result passes here. */
import type { Kysely, Selectable } from 'kysely';
import { decodeJoinedPayload, fromFlag } from '../db/columns.ts';
import { heartbeatStates } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Database } from '../db/tables.ts';
import type { RollUpsTable } from './tables.ts';
import { checkTypes, isPinged } from '@monitor/shared/contract/checks/index.ts';
import { analyticsOf } from '@monitor/shared/domain/metrics.ts';
import { isPayloadRolledUp, type RolledResult } from './decide/roll-ups/cell.ts';

type RollUpRow = Selectable<RollUpsTable>;

/** The columns of a result that are rolled up. */
interface ResultRow extends Pick<
  Selectable<Database['check_results']>,
  | 'seq'
  | 'account_id'
  | 'check_id'
  | 'check_type'
  | 'result_type'
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
  'check_results.result_type',
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

/** The results stored after one, in the order of storage. */
export const resultsAfter = prepareQuery<{ seq: number; limit: number }, ResultRow>(
  (db, argument) =>
    db
      .selectFrom('check_results')
      .leftJoin('result_payloads', 'result_payloads.result_seq', 'check_results.seq')
      .select(columns)
      .select((select) => [
        'result_payloads.encoding',
        'result_payloads.checksum',
        // Payloads of other types are large and not needed.
        select
          .case()
          .when('check_results.check_type', 'in', typesWithPayload)
          .then(select.ref('result_payloads.payload'))
          .end()
          .as('payload'),
        select
          .case()
          .when('check_results.check_type', 'in', pingedTypes)
          .then(heartbeatStates())
          .end()
          .as('states'),
      ])
      .where('check_results.seq', '>', argument('seq'))
      .orderBy('check_results.seq')
      .limit(argument('limit')),
);

/** Results that were rolled up as attempts and are FINAL now. */
export const correctedResults = prepareQuery<{ limit: number }, ResultRow>((db, argument) =>
  db
    .selectFrom('roll_up_corrections')
    .innerJoin('check_results', 'check_results.seq', 'roll_up_corrections.result_seq')
    .leftJoin('result_payloads', 'result_payloads.result_seq', 'check_results.seq')
    .select(columns)
    .select((select) => [
      'result_payloads.encoding',
      'result_payloads.checksum',
      'result_payloads.payload',
      select.val<string | null>(null).as('states'),
    ])
    .orderBy('roll_up_corrections.result_seq')
    .limit(argument('limit')),
);

/** Null for a result that counts nowhere. */
export function toRolled(row: ResultRow): RolledResult | null {
  if (row.result_type === 'LATE' || fromFlag(row.is_cancelled)) return null;
  return {
    accountId: row.account_id,
    checkId: row.check_id,
    checkType: row.check_type,
    startedAt: row.started_at,
    isFinal: row.result_type === 'FINAL',
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    runLocation: row.run_location,
    responseTimeMs: row.response_time_ms,
    payload: decodeJoinedPayload(row),
    states: row.states === null ? [] : (JSON.parse(row.states) as string[]),
  };
}

type CellKey = Pick<
  RollUpRow,
  'check_id' | 'hours' | 'starts_at' | 'location' | 'part' | 'outcome'
>;

export const findRollUp = prepareQuery<CellKey, RollUpRow>((db, argument) =>
  db
    .selectFrom('roll_ups')
    .selectAll()
    .where('check_id', '=', argument('check_id'))
    .where('hours', '=', argument('hours'))
    .where('starts_at', '=', argument('starts_at'))
    .where('location', '=', argument('location'))
    .where('part', '=', argument('part'))
    .where('outcome', '=', argument('outcome')),
);

export const insertRollUp = prepareQuery<Omit<RollUpRow, 'id'>>((db, argument) =>
  db.insertInto('roll_ups').values({
    account_id: argument('account_id'),
    check_id: argument('check_id'),
    hours: argument('hours'),
    starts_at: argument('starts_at'),
    location: argument('location'),
    part: argument('part'),
    outcome: argument('outcome'),
    finals: argument('finals'),
    failures: argument('failures'),
    degraded: argument('degraded'),
    retries: argument('retries'),
    first_at: argument('first_at'),
    last_at: argument('last_at'),
    metrics: argument('metrics'),
  }),
);

export const updateRollUp = prepareQuery<
  Pick<
    RollUpRow,
    'id' | 'finals' | 'failures' | 'degraded' | 'retries' | 'first_at' | 'last_at' | 'metrics'
  >
>((db, argument) =>
  db
    .updateTable('roll_ups')
    .set({
      finals: argument('finals'),
      failures: argument('failures'),
      degraded: argument('degraded'),
      retries: argument('retries'),
      first_at: argument('first_at'),
      last_at: argument('last_at'),
      metrics: argument('metrics'),
    })
    .where('id', '=', argument('id')),
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

export const deleteDay = prepareQuery<{ checkId: string; day: number }>((db, argument) =>
  db
    .deleteFrom('roll_ups')
    .where('check_id', '=', argument('checkId'))
    .where('hours', '=', 24)
    .where('starts_at', '=', argument('day')),
);

export const noteDay = prepareQuery<{
  accountId: string;
  checkId: string;
  day: number;
  dueAt: number;
}>((db, argument) =>
  db
    .insertInto('roll_up_days')
    .values({
      account_id: argument('accountId'),
      check_id: argument('checkId'),
      starts_at: argument('day'),
      due_at: argument('dueAt'),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

export const progressOf = prepareQuery<object, { rolled_up_to: number; raw_from: number }>((db) =>
  db.selectFrom('roll_up_progress').select(['rolled_up_to', 'raw_from']),
);

export const saveProgress = prepareQuery<{ rolledUpTo: number }>((db, argument) =>
  db.updateTable('roll_up_progress').set({ rolled_up_to: argument('rolledUpTo') }),
);

/** Sets the instant from which all single results are still stored. */
export async function setRawFrom(db: Kysely<Database>, instant: number): Promise<void> {
  await db.updateTable('roll_up_progress').set({ raw_from: instant }).execute();
}
