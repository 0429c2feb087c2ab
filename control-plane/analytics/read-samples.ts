/** Reads single results of a check for analytics. */
import { scheduler } from 'node:timers/promises';
import type { Compilable, SelectQueryBuilder } from 'kysely';
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import { isOfSuite } from '@monitor/shared/contract/checks/metric.ts';
import { decodeJoinedPayload, fromFlag, fromJson } from '../db/columns.ts';
import { absent, eachNumberIn, heartbeatStates, isOneOf, unindexed } from '../db/expressions.ts';
import { prepareQuery, type PreparedQuery } from '../db/prepared.ts';
import { isOfDays, isOfWindow } from '../db/run-days.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import type { Window } from '../core/decide/results-window.ts';
import { joinPayloads, payloadColumn } from '../results/index.ts';
import { needsPayload, samplesOf, type Sample } from './decide/samples.ts';

/** Batch size: the driver blocks while it reads, and other requests run between two batches. */
const batchRows = 1_000;
/** The details of a suite are as large as those of hundreds of other checks. */
const batchSuites = 20;

export interface SampleRequest {
  accountId: string;
  checkId: string;
  window: Window;
  /** Metrics to read; columns that none of them needs are not read. */
  bases: readonly string[];
  groupBy?: GroupBy | undefined;
  /** `success` and `failure`, or states of a heartbeat. Empty: all results. */
  statuses: readonly string[];
  maxResults: number;
}

interface Row extends Pick<
  RowOf<'check_results'>,
  | 'seq'
  | 'started_at'
  | 'result_type'
  | 'has_failures'
  | 'has_errors'
  | 'run_location'
  | 'response_time_ms'
> {
  encoding: 'json' | 'deflate' | null;
  payload: Buffer | null;
  checksum: number | null;
  states: string | null;
}

interface Bounds {
  accountId: string;
  checkId: string;
  from: number;
}

interface PageBounds extends Bounds {
  /** Results before this one, in the order of time and then of arrival. */
  lastAt: number;
  lastSeq: number;
  limit: number;
}

interface SomeBounds extends Bounds {
  to: number;
  /** Numbers of results, as JSON. */
  seqs: string;
  /** Of their runs. */
  days: string;
}

const columns = [
  'check_results.seq',
  'check_results.started_at',
  'check_results.result_type',
  'check_results.has_failures',
  'check_results.has_errors',
  'check_results.run_location',
  'check_results.response_time_ms',
] as const;

/** Optional parts of a query; each costs time. */
interface Extras {
  withPayload: boolean;
  withStates: boolean;
}

type Results = SelectQueryBuilder<Database, 'check_results', object>;

/** The FINAL results and attempts of a query, with the optional parts. */
function countable(db: Db, results: Results, { withPayload, withStates }: Extras): Compilable<Row> {
  const states = withStates ? heartbeatStates() : absent<string>();
  const rows = (withPayload ? joinPayloads(db, results) : results)
    .select(columns)
    .select(states.as('states'))
    .where('check_results.result_type', 'in', ['FINAL', 'ATTEMPT'])
    .where('check_results.is_cancelled', '=', 0);
  return withPayload
    ? rows.select([
        payloadColumn('encoding').as('encoding'),
        payloadColumn('payload').as('payload'),
        payloadColumn('checksum').as('checksum'),
      ])
    : rows.select([
        absent<Row['encoding']>().as('encoding'),
        absent<Buffer>().as('payload'),
        absent<number>().as('checksum'),
      ]);
}

/** One statement for each combination of extras. */
function variants<Args extends object>(
  build: (extras: Extras) => PreparedQuery<Args, Row>,
): (extras: Extras) => PreparedQuery<Args, Row> {
  const built = [false, true].map((withPayload) =>
    [false, true].map((withStates) => build({ withPayload, withStates })),
  );
  return ({ withPayload, withStates }) => {
    const query = built[Number(withPayload)]?.[Number(withStates)];
    if (query === undefined) throw new Error('a statement is missing');
    return query;
  };
}

/** A page of the results of a window, newest first. */
const pageOfWindow = variants((extras) =>
  prepareQuery<PageBounds, Row>((db, argument) =>
    countable(
      db,
      db
        .selectFrom('check_results')
        .where('check_results.account_id', '=', argument('accountId'))
        .where('check_results.check_id', '=', argument('checkId'))
        .where('check_results.started_at', '>=', argument('from'))
        .where('check_results.started_at', '<=', argument('lastAt'))
        .where(isOfWindow('check_results', argument('from'), argument('lastAt')))
        .where((where) =>
          where.or([
            where('check_results.started_at', '<', argument('lastAt')),
            where('check_results.seq', '<', argument('lastSeq')),
          ]),
        )
        .orderBy('check_results.started_at', 'desc')
        .orderBy('check_results.seq', 'desc')
        .limit(argument('limit')),
      extras,
    ),
  ),
);

/** Those of some results that lie in a window. Looking at each is faster than reading all of the check. */
const someOfWindow = variants((extras) =>
  prepareQuery<SomeBounds, Row>((db, argument) =>
    countable(
      db,
      db
        .selectFrom('check_results')
        .where(isOfDays('check_results', argument('days')))
        .where(isOneOf('check_results.seq', eachNumberIn(argument('seqs'))))
        .where('check_results.account_id', '=', argument('accountId'))
        .where(unindexed<string>('check_results.check_id'), '=', argument('checkId'))
        .where('check_results.started_at', '>=', argument('from'))
        .where('check_results.started_at', '<', argument('to')),
      extras,
    ),
  ),
);

const flagOfStatus: Partial<Record<string, number>> = { success: 0, failure: 1 };

/** A filter for the rows that count for a request. */
function filterOf({ bases, statuses }: SampleRequest): (row: Row) => boolean {
  const withFinals = bases.some((base) => base !== 'retries');
  const withAttempts = bases.includes('retries');
  const flags = statuses.flatMap((status) => flagOfStatus[status] ?? []);
  return (row) => {
    if (row.result_type === 'ATTEMPT' && !withAttempts) return false;
    // An agent error says nothing about the target, but its attempt was repeated.
    if (row.result_type === 'FINAL' && (!withFinals || fromFlag(row.has_errors))) return false;
    if (statuses.length === 0) return true;
    if (flags.length > 0) return !fromFlag(row.has_errors) && flags.includes(row.has_failures);
    return fromJson<string[]>(row.states ?? '[]').some((state) => statuses.includes(state));
  };
}

function extrasOf({ bases, groupBy, statuses }: SampleRequest): Extras {
  return {
    withPayload: needsPayload(bases, groupBy),
    withStates: statuses.some((status) => flagOfStatus[status] === undefined),
  };
}

function toSamples(row: Row, { bases, groupBy }: SampleRequest): Sample[] {
  const result = {
    startedAt: row.started_at,
    isFinal: row.result_type === 'FINAL',
    hasFailures: fromFlag(row.has_failures),
    runLocation: row.run_location,
    responseTimeMs: row.response_time_ms,
    payload: decodeJoinedPayload(row),
  };
  return samplesOf(result, bases, groupBy);
}

interface Read {
  samples: Sample[];
  /** Number of results read. */
  read: number;
  /** True when there are more than `maxResults`. */
  truncated: boolean;
}

/** The results of one check as samples, newest first; with `among` only results with these numbers. */
export async function readSamples(
  db: Db,
  request: SampleRequest,
  among?: ReadonlySet<number>,
): Promise<Read> {
  const { accountId, checkId, window, maxResults } = request;
  const query = pageOfWindow(extrasOf(request));
  const counts = filterOf(request);
  const samples: Sample[] = [];
  let read = 0;
  let last = { lastAt: window.to, lastSeq: 0 };
  for (;;) {
    // One row more than allowed shows whether there are more.
    const batch = isOfSuite(request.groupBy) ? batchSuites : batchRows;
    const limit = Math.min(batch, maxResults - read + 1);
    const bounds = { accountId, checkId, from: window.from, limit };
    const rows = await query.run(db, { ...bounds, ...last });
    for (const row of rows) {
      if (!counts(row) || among?.has(row.seq) === false) continue;
      if (read === maxResults) return { samples, read, truncated: true };
      read += 1;
      samples.push(...toSamples(row, request));
    }
    const lowest = rows.at(-1);
    if (lowest === undefined || rows.length < limit) return { samples, read, truncated: false };
    last = { lastAt: lowest.started_at, lastSeq: lowest.seq };
    await scheduler.yield();
  }
}

/** Up to this many results of all checks, those of one check are found by looking at each. */
const fewResults = 5_000;

/** Numbers of results, which may be of other checks, and the days of their runs. */
export interface WaitingSamples {
  seqs: readonly number[];
  days: string;
}

/** Like `readSamples`, but only these results. */
export async function readSamplesAmong(
  db: Db,
  request: SampleRequest,
  { seqs, days }: WaitingSamples,
): Promise<Read> {
  if (seqs.length > fewResults) return readSamples(db, request, new Set(seqs));
  const { accountId, checkId, window } = request;
  const bounds = { accountId, checkId, from: window.from, to: window.to };
  const rows = await someOfWindow(extrasOf(request)).run(db, {
    ...bounds,
    seqs: JSON.stringify(seqs),
    days,
  });
  const counted = rows.filter(filterOf(request));
  return {
    samples: counted.flatMap((row) => toSamples(row, request)),
    read: counted.length,
    truncated: false,
  };
}
