/** FINAL results of many checks about an instant, with their details: what a cause is found from. */
import { decodePayload, fromFlag } from '../db/columns.ts';
import { eachIdOf, eachNumberIn, isOneOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import { daysOf, isOfDays, isOfWindow, runDayIn } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';

export interface RunOfMinute {
  checkId: string;
  checkName: string;
  checkType: string;
  resultId: string;
  location: string;
  startedAt: number;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  isStrained: boolean;
  /** Null without details, and for those that are too large to be looked through. */
  payload: Record<string, unknown> | null;
}

const maxRows = 2_000;
/** Stored bytes; those of browser checks with many pages may be larger. */
const maxPayloadBytes = 262_144;

const columns = [
  ...(['seq', 'id', 'check_id', 'check_type', 'name', 'run_location', 'started_at'] as const),
  ...(['has_failures', 'has_errors', 'is_degraded', 'under_load'] as const),
] as const;

const payloadsOf = prepareQuery<
  { seqs: string; days: string },
  { result_seq: number; encoding: 'json' | 'deflate'; payload: Buffer; checksum: number | null }
>((db, argument) =>
  db
    .selectFrom('result_payloads')
    .select(['result_seq', 'encoding', 'payload', 'checksum'])
    .where(isOneOf('result_seq', eachNumberIn(argument('seqs'))))
    .where((where) => where(where.fn('length', ['payload']), '<=', maxPayloadBytes))
    .where(isOfDays('result_payloads', argument('days'))),
);

type Row = Pick<RowOf<'check_results'>, (typeof columns)[number]> & { run_day: number };

async function withPayloads(db: Db, rows: readonly Row[]): Promise<RunOfMinute[]> {
  if (rows.length === 0) return [];
  const found = await payloadsOf.run(db, {
    seqs: JSON.stringify(rows.map(({ seq }) => seq)),
    days: daysOf(rows.map((row) => row.run_day)),
  });
  const payloads = new Map(found.map((row) => [Number(row.result_seq), decodePayload(row)]));
  return rows.map((row) => ({
    checkId: row.check_id,
    checkName: row.name,
    checkType: row.check_type,
    resultId: row.id,
    location: row.run_location,
    startedAt: row.started_at,
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    isStrained: fromFlag(row.under_load),
    payload: (payloads.get(Number(row.seq)) ?? null) as RunOfMinute['payload'],
  }));
}

/** How far a run is from the instant; one before it says less of it. */
const distance = ({ started_at: startedAt }: Row, at: number): number =>
  startedAt >= at ? startedAt - at : 3 * (at - startedAt);

/** Of each check and location the run that began nearest to the instant, in the window around it. */
export async function runsAround(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  { at, from, to }: { at: number; from: number; to: number },
): Promise<RunOfMinute[]> {
  if (checkIds.length === 0) return [];
  const rows: Row[] = await db
    .selectFrom('check_results')
    .select(columns)
    .select(runDayIn('check_results').as('run_day'))
    .where('check_id', 'in', eachIdOf(checkIds))
    .where('account_id', '=', accountId)
    .where('started_at', '>=', from)
    .where('started_at', '<=', to)
    .where(isOfWindow('check_results', from, to))
    .where('result_type', '=', 'FINAL')
    .where('is_cancelled', '=', 0)
    .limit(maxRows)
    .execute();
  const nearest = [...Map.groupBy(rows, (row) => `${row.check_id}/${row.run_location}`).values()];
  return withPayloads(
    db,
    nearest.flatMap((each) =>
      each.toSorted((a, b) => distance(a, at) - distance(b, at) || a.seq - b.seq).slice(0, 1),
    ),
  );
}

const passBefore = prepareQuery<
  { accountId: string; checkId: string; location: string; before: number; from: number },
  Row
>((db, argument) =>
  db
    .selectFrom('check_results')
    .select(columns)
    .select(runDayIn('check_results').as('run_day'))
    .where('check_id', '=', argument('checkId'))
    .where('account_id', '=', argument('accountId'))
    .where('started_at', '>=', argument('from'))
    .where('started_at', '<', argument('before'))
    .where(isOfWindow('check_results', argument('from'), argument('before')))
    .where('run_location', '=', argument('location'))
    .where('result_type', '=', 'FINAL')
    .where('has_failures', '=', 0)
    .where('has_errors', '=', 0)
    .where('is_degraded', '=', 0)
    .orderBy('started_at', 'desc')
    .limit(1),
);

/** The last pass of a check at a location in the day before its problem; undefined without one. */
export async function lastPassOf(
  db: Db,
  accountId: string,
  { checkId, location }: Pick<RunOfMinute, 'checkId' | 'location'>,
  before: number,
): Promise<RunOfMinute | undefined> {
  const from = before - 86_400_000;
  const rows = await passBefore.run(db, { accountId, checkId, location, before, from });
  return (await withPayloads(db, rows))[0];
}
