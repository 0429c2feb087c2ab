/** Statements that store runs and results. They are compiled once, because every result passes here. */
import type { Selectable } from 'kysely';
import { prepareQuery } from '../db/prepared.ts';
import type { CheckResultsTable, CheckRunsTable, ResultPayloadsTable } from './tables.ts';

/** A row of `check_results` without its number. */
export type NewResult = Omit<Selectable<CheckResultsTable>, 'seq'>;

/** Gives no row when the slot or the id already has a run. */
export const insertRun = prepareQuery<
  Omit<Selectable<CheckRunsTable>, 'id' | 'late_results'>,
  { id: number }
>((db, argument) =>
  db
    .insertInto('check_runs')
    .values({
      account_id: argument('account_id'),
      check_id: argument('check_id'),
      run_id: argument('run_id'),
      location: argument('location'),
      scheduled_for: argument('scheduled_for'),
      state: argument('state'),
      missed_reason: argument('missed_reason'),
      result_id: argument('result_id'),
      late_results: 0,
      created_at: argument('created_at'),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

export const closeRun = prepareQuery<{
  id: number;
  state: 'RUNNING' | 'FINAL';
  result_id: string | null;
}>((db, argument) =>
  db
    .updateTable('check_runs')
    .set({ state: argument('state'), missed_reason: null, result_id: argument('result_id') })
    .where('id', '=', argument('id')),
);

export const countLate = prepareQuery<{ id: number }>((db, argument) =>
  db
    .updateTable('check_runs')
    .set((set) => ({ late_results: set('late_results', '+', 1) }))
    .where('id', '=', argument('id')),
);

export const insertResult = prepareQuery<NewResult, { seq: number }>((db, argument) =>
  db
    .insertInto('check_results')
    .values({
      id: argument('id'),
      account_id: argument('account_id'),
      check_id: argument('check_id'),
      check_run_id: argument('check_run_id'),
      check_type: argument('check_type'),
      name: argument('name'),
      result_type: argument('result_type'),
      attempt: argument('attempt'),
      has_failures: argument('has_failures'),
      has_errors: argument('has_errors'),
      is_degraded: argument('is_degraded'),
      over_max_response_time: argument('over_max_response_time'),
      under_load: argument('under_load'),
      agent_wait_ms: argument('agent_wait_ms'),
      run_location: argument('run_location'),
      scheduled_for: argument('scheduled_for'),
      started_at: argument('started_at'),
      stopped_at: argument('stopped_at'),
      created_at: argument('created_at'),
      response_time_ms: argument('response_time_ms'),
      epoch: argument('epoch'),
      is_cancelled: argument('is_cancelled'),
      is_payload_dropped: argument('is_payload_dropped'),
    })
    .returning('seq'),
);

export const insertPayload = prepareQuery<Selectable<ResultPayloadsTable>>((db, argument) =>
  db.insertInto('result_payloads').values({
    result_seq: argument('result_seq'),
    encoding: argument('encoding'),
    payload: argument('payload'),
    checksum: argument('checksum'),
  }),
);

export const promoteResult = prepareQuery<{ id: string }>((db, argument) =>
  db.updateTable('check_results').set({ result_type: 'FINAL' }).where('id', '=', argument('id')),
);
