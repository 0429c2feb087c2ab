/** Statements that store runs and results. They are compiled once, because every result passes here. */
import { sql } from 'kysely';
import type { EncodedPayload } from '../db/columns.ts';
import { eachNumberIn, eachNumberOf, isOneOf } from '../db/expressions.ts';
import { engineOf } from '../db/engine.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { prepareQuery } from '../db/prepared.ts';
import { rowsOf } from '../db/rows.ts';
import { daysOf, isOfDays, runDayOf } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { addToInbox, occasionOf } from './roll-up-inbox.ts';

/** A row of `check_results` without its number and payload. */
export type NewResult = Omit<RowOf<'check_results'>, 'seq' | keyof EncodedPayload>;
export type NewRun = Omit<RowOf<'check_runs'>, 'id'>;

const runColumns = [
  ...(['account_id', 'check_id', 'run_id', 'location', 'scheduled_for', 'state'] as const),
  ...(['missed_reason', 'result_id', 'late_results', 'created_at'] as const),
] as const;

const skipsTaken = sql`on conflict do nothing`;

const ofRuns = { returning: ['id', 'run_id'], onPostgres: ['run_day'] } as const;

/** Gives no row for a run whose slot or id already has a run. */
export const insertRuns = prepareInserts('check_runs', runColumns, {
  ...ofRuns,
  onConflict: skipsTaken,
});

/** The same for runs that nobody else can have stored: cheaper on PostgreSQL, and fails otherwise. */
export const insertNewRuns = prepareInserts('check_runs', runColumns, ofRuns);

/**
 * How new rows are inserted on PostgreSQL. The locks of their checks keep others away, except for a
 * few: agents of two protocols that derive ids in two ways, and ids that an agent makes up. So the first
 * attempt of a commit just inserts, which saves a sixth of its log, and the next one looks at each row.
 */
export type Inserting = 'plainly' | 'carefully';

const resultColumns = [
  ...(['id', 'account_id', 'check_id', 'check_run_id', 'check_type', 'name'] as const),
  ...(['result_type', 'attempt', 'has_failures', 'has_errors', 'is_degraded'] as const),
  ...(['over_max_response_time', 'under_load', 'agent_wait_ms', 'run_location'] as const),
  ...(['scheduled_for', 'started_at', 'stopped_at', 'created_at', 'response_time_ms'] as const),
  ...(['epoch', 'is_cancelled', 'is_payload_dropped'] as const),
] as const;

const ofResults = {
  returning: ['seq', 'id'],
  onPostgres: ['run_day', 'encoding', 'payload', 'checksum'],
} as const;

/** Gives no row for a result whose id is taken. */
const insertResults = prepareInserts('check_results', resultColumns, {
  ...ofResults,
  onConflict: skipsTaken,
});

/** For results whose ids nobody else can have: see `insertNewRuns`. */
const insertNewResults = prepareInserts('check_results', resultColumns, ofResults);

export const insertPayloads = prepareInserts('result_payloads', [
  'result_seq',
  'encoding',
  'payload',
  'checksum',
]);

const noPayload = { encoding: null, payload: null, checksum: null };

/** Inserts results with their payloads; gives no row for one whose id is taken. */
export async function storeResults(
  db: Db,
  results: readonly { row: NewResult; payload: EncodedPayload | null }[],
  how: Inserting,
): Promise<{ seq: number; id: string }[]> {
  const inserted = await (how === 'plainly' ? insertNewResults : insertResults).run(
    db,
    results.map(({ row, payload }) => ({ ...row, ...(payload ?? noPayload) })),
  );
  if (engineOf(db) === 'postgres') return inserted;
  const payloads = new Map(results.map(({ row, payload }) => [row.id, payload]));
  await insertPayloads.run(
    db,
    inserted.flatMap(({ seq, id }) => {
      const payload = payloads.get(id) ?? null;
      return payload === null ? [] : [{ result_seq: seq, ...payload }];
    }),
  );
  return inserted;
}

const makeFinal = prepareQuery<{ seqs: string; days: string }>((db, argument) =>
  db
    .updateTable('check_results')
    .set({ result_type: 'FINAL' })
    .where(isOneOf('seq', eachNumberIn(argument('seqs'))))
    .where(isOfDays('check_results', argument('days'))),
);

/** Makes attempts FINAL. */
export async function promoteResults(
  db: Db,
  attempts: readonly { seq: number; runDay: number }[],
): Promise<void> {
  if (attempts.length === 0) return;
  const seqs = JSON.stringify(attempts.map(({ seq }) => seq));
  await makeFinal.run(db, { seqs, days: daysOf(attempts.map(({ runDay }) => runDay)) });
}

type ChangedRun = Pick<NewRun, 'state' | 'missed_reason' | 'result_id' | 'run_day'> & {
  id: number;
  /** Further late results. */
  late: number;
};

export async function updateRuns(db: Db, changed: readonly ChangedRun[]): Promise<void> {
  if (changed.length === 0) return;
  const texts = { state: 'text', missed_reason: 'text', result_id: 'id' } as const;
  const columns = { id: 'int', late: 'int', run_day: 'int', ...texts } as const;
  const days = daysOf(changed.map((run) => run.run_day));
  await db
    .updateTable('check_runs')
    .from(rowsOf<ChangedRun>(columns, changed).as('given'))
    .set(({ ref }) => ({
      state: ref('given.state'),
      missed_reason: ref('given.missed_reason'),
      result_id: ref('given.result_id'),
      late_results: sql<number>`check_runs.late_results + given.late`,
    }))
    .whereRef('check_runs.id', '=', 'given.id')
    .where(isOneOf('check_runs.id', eachNumberOf(changed.map(({ id }) => id))))
    .where(isOfDays('check_runs', days))
    .execute();
}

/** Stores a run of the control plane itself, that no agent made, with its FINAL result. */
export async function storeFinal(
  db: Db,
  run: Pick<NewRun, 'run_id'>,
  result: Omit<NewResult, 'check_run_id' | 'result_type' | 'attempt' | 'run_day'>,
  payload: EncodedPayload | null,
): Promise<{ runId: number }> {
  const { account_id, check_id, created_at, run_location: location } = result;
  const runDay = runDayOf({ ...run, scheduled_for: null });
  const [inserted] = await insertRuns.run(db, [
    {
      ...{ ...run, account_id, check_id, created_at, location, scheduled_for: null },
      run_day: runDay,
      ...{ state: 'FINAL', missed_reason: null, result_id: result.id, late_results: 0 },
    },
  ]);
  if (inserted === undefined) throw new Error('a run was inserted without an id');
  const ofRun = { check_run_id: inserted.id, run_day: runDay };
  const final = { ...ofRun, result_type: 'FINAL', attempt: 1 } as const;
  const [stored] = await storeResults(db, [{ row: { ...result, ...final }, payload }], 'carefully');
  if (stored === undefined) throw new Error('a result was inserted without a number');
  const occasion = occasionOf('FINAL', result.is_cancelled === 1);
  if (occasion !== null) {
    await addToInbox(db, [{ seq: stored.seq, checkId: check_id, occasion, runDay }], created_at);
  }
  return { runId: inserted.id };
}
