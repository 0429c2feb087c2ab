/** Results and runs: rows → wire. */
import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { z } from 'zod';
import type { CheckResult, checkRun } from '@monitor/shared/contract/check-result-routes.ts';
import { resultFields, type ResultField } from '@monitor/shared/contract/check-result.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import {
  fromFlag,
  payloadText,
  toFlag,
  toTimestamp,
  toTimestampOrNull,
  type EncodedPayload,
  type StoredPayload,
} from '../../db/columns.ts';
import { engineOf } from '../../db/engine.ts';
import { eachNumberIn, idOf, isOneOf, jsonList } from '../../db/expressions.ts';
import { readCursor, readPage } from '../../db/page.ts';
import { prepareQuery, type PreparedQuery } from '../../db/prepared.ts';
import { daysOf, isOfDays, isOfSameDay, isOfWindow, runDayIn } from '../../db/run-days.ts';
import type { Database, Db, RowOf } from '../../db/tables.ts';
import { isEncryptedPayload } from '../decide/encrypted-payload.ts';
import { isOfCheck } from '../delete-results.ts';
import { joinPayloads, payloadColumn } from '../payload-columns.ts';
import type { Services } from '../../core/services.ts';

type ResultRow = Omit<RowOf<'check_results'>, 'account_id' | 'epoch' | keyof EncodedPayload> & {
  run_uuid: string;
  /** A JSON list. */
  error_group_ids: string;
  /** Stored bytes of the payload; null without one. */
  payload_bytes: number | null;
  /** The payload, unless it is large. */
  payload: Buffer | null;
  encoding: EncodedPayload['encoding'] | null;
  checksum: number | null;
};

type Payload = Omit<RowOf<'result_payloads'>, 'run_day'>;

/**
 * Limit of the payloads of an answer as JSON, and of the stored payloads that are read at a time. A
 * list leaves out further payloads and says so; each result can be read by its id.
 */
const answerBytes = 16_777_216;
const storedBytesAtOnce = 4_194_304;
/** Payloads up to this size come with their rows, of which a page has a hundred at most. */
const smallPayloadBytes = storedBytesAtOnce / 128;

export interface ResultFilter {
  from: number;
  /** Exclusive. */
  to: number;
  location?: string;
  checkType?: string;
  hasFailures?: boolean;
  /** LATE: results that arrived after the end of their run. */
  resultType: 'FINAL' | 'ATTEMPT' | 'ALL' | 'LATE';
}

type Fields = Omit<CheckResult, ResultField | 'errorGroupIds'>;

type ResultReader = Pick<Services, 'db' | 'resolveReferences'>;

const omittedRemark = ',"detailsOmitted":true';
const damagedRemark = `,"payloadError":${JSON.stringify(
  'what this result saw is damaged in the database and cannot be shown; "control-plane verify" looks at all of it',
)}`;

const noResults = new Map(
  resultFields.map((field) => [
    field,
    resultFields
      .filter((other) => other !== field)
      .map((other) => `"${other}":null`)
      .join(','),
  ]),
);

function resultFieldOf(type: string): ResultField {
  return checkTypes[type as CheckType].resultField;
}

/** All fields of a result except its payload. */
function toFields(row: ResultRow): Fields {
  return {
    id: row.id,
    name: row.name,
    checkId: row.check_id,
    checkType: row.check_type as CheckType,
    resultType: row.result_type === 'FINAL' ? 'FINAL' : 'ATTEMPT',
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    overMaxResponseTime: fromFlag(row.over_max_response_time),
    runLocation: row.run_location,
    startedAt: toTimestamp(row.started_at),
    stoppedAt: toTimestamp(row.stopped_at),
    created_at: toTimestamp(row.created_at),
    responseTime: row.response_time_ms,
    checkRunId: row.check_run_id,
    attempts: row.attempt,
    sequenceId: row.run_uuid,
    scheduledFor: toTimestampOrNull(row.scheduled_for),
    underLoad: fromFlag(row.under_load),
    agentWaitMs: row.agent_wait_ms,
    isCancelled: fromFlag(row.is_cancelled),
    isLate: row.result_type === 'LATE',
    isPayloadDropped: fromFlag(row.is_payload_dropped),
  };
}

/**
 * A result as JSON. The stored JSON of the payload is inserted unchanged: parsing and printing it
 * would be half of the work of a list.
 */
function toJson(row: ResultRow, payload: string | null, remark: string): string {
  const field = resultFieldOf(row.check_type);
  const fields = JSON.stringify(toFields(row)).slice(0, -1);
  const others = noResults.get(field) ?? '';
  if (payload !== null && isEncryptedPayload(payload)) {
    return `${fields},"errorGroupIds":${row.error_group_ids},${others},"${field}":null,"encryptedResult":${payload}${remark}}`;
  }
  return `${fields},"errorGroupIds":${row.error_group_ids},${others},"${field}":${payload}${remark}}`;
}

const payloadsBySeq = prepareQuery<{ seqs: string; days: string }, Payload>((db, argument) =>
  db
    .selectFrom('result_payloads')
    .select(['result_seq', 'encoding', 'payload', 'checksum'])
    .where(isOneOf('result_seq', eachNumberIn(argument('seqs'))))
    .where(isOfDays('result_payloads', argument('days'))),
);

const isLarge = (row: ResultRow): row is ResultRow & { payload_bytes: number } =>
  row.payload_bytes !== null && row.payload === null;

function findPayloads(db: Db, rows: readonly ResultRow[]): Promise<Payload[]> {
  const days = daysOf(rows.map((row) => row.run_day));
  return payloadsBySeq.run(db, { seqs: JSON.stringify(rows.map(({ seq }) => seq)), days });
}

/** Rows whose large payloads are read together: up to the limit, and at least one. */
function* portionsOf(rows: readonly ResultRow[]): Generator<ResultRow[]> {
  let portion: ResultRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = isLarge(row) ? row.payload_bytes : 0;
    if (portion.length > 0 && bytes + size > storedBytesAtOnce) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(row);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}

/** The payload that came with a row. */
function smallPayload({ payload, encoding, checksum }: ResultRow): StoredPayload | undefined {
  return payload === null || encoding === null ? undefined : { payload, encoding, checksum };
}

/** Rows as a JSON list, with as many payloads, from the first on, as an answer may contain. */
async function listJson(
  { db, resolveReferences }: ResultReader,
  rows: readonly ResultRow[],
): Promise<string> {
  const parts: string[] = [];
  let left = answerBytes;
  for (const portion of portionsOf(rows)) {
    const large = portion.filter(isLarge);
    const found = left <= 0 || large.length === 0 ? [] : await findPayloads(db, large);
    const payloads = new Map(found.map((payload) => [payload.result_seq, payload]));
    for (const row of portion) {
      const payload = smallPayload(row) ?? payloads.get(row.seq);
      const stored = payload === undefined ? null : payloadText(payload);
      left -= stored?.length ?? 0;
      // The first payload is left out too when it exceeds the limit.
      const isCarried = stored !== null && left >= 0;
      const text = isCarried ? resolveReferences(stored, row.id) : null;
      const isDamaged = payload !== undefined && stored === null;
      const missing = isDamaged ? damagedRemark : omittedRemark;
      parts.push(toJson(row, text, isCarried || row.payload_bytes === null ? '' : missing));
    }
  }
  return `[${parts.join(',')}]`;
}

function results(db: Db, accountId: string, checkId: string) {
  return db.selectFrom('check_results').where(isOfCheck(accountId, checkId));
}

const resultColumns = [
  'check_results.seq',
  'check_results.id',
  'check_results.check_id',
  'check_results.check_run_id',
  'check_results.check_type',
  'check_results.name',
  'check_results.result_type',
  'check_results.attempt',
  'check_results.has_failures',
  'check_results.has_errors',
  'check_results.is_degraded',
  'check_results.over_max_response_time',
  'check_results.under_load',
  'check_results.agent_wait_ms',
  'check_results.run_location',
  'check_results.scheduled_for',
  'check_results.started_at',
  'check_results.stopped_at',
  'check_results.created_at',
  'check_results.response_time_ms',
  'check_results.is_cancelled',
  'check_results.is_payload_dropped',
] as const;

const payloadBytes = (): RawBuilder<number | null> =>
  sql<number | null>`length(${payloadColumn('payload')})`;

const joined = (db: Db, query: ReturnType<typeof results>) =>
  joinPayloads(db, query)
    .innerJoin('check_runs', (join) =>
      join.onRef('check_runs.id', '=', 'check_results.check_run_id').on(isOfSameDay),
    )
    .select(resultColumns)
    .select(runDayIn('check_results').as('run_day'))
    .select((select) =>
      jsonList(
        select
          .selectFrom('check_result_error_groups')
          .select('error_group_id')
          .whereRef('result_id', '=', 'check_results.id'),
        'error_group_id',
      ).as('error_group_ids'),
    )
    .select('check_runs.run_id as run_uuid')
    .select((select) => [
      payloadBytes().as('payload_bytes'),
      payloadColumn('encoding').as('encoding'),
      payloadColumn('checksum').as('checksum'),
      select
        .case()
        .when(payloadBytes(), '<=', sql.lit(smallPayloadBytes))
        .then(payloadColumn('payload'))
        .end()
        .as('payload'),
    ]);

function newestFirst<Row>(query: SelectQueryBuilder<Database, 'check_results', Row>) {
  return query.orderBy('check_results.started_at', 'desc').orderBy('check_results.seq', 'desc');
}

/** The filters of a list; absent ones are not part of the statement. */
interface ListArguments {
  accountId: string;
  checkId: string;
  from: number;
  to: number;
  limit: number;
  offset: number;
  location: string;
  checkType: string;
  hasFailures: number;
  resultType: 'FINAL' | 'ATTEMPT' | 'LATE';
  beforeStart: number;
  beforeSeq: number;
}

interface ListStatements {
  count: PreparedQuery<ListArguments, { total: number }>;
  page: PreparedQuery<ListArguments, ResultRow>;
}

/** One pair of statements per combination of filters, built at the first use. */
const statements = new Map<string, ListStatements>();

function statementsFor(given: Partial<ListArguments>): ListStatements {
  const optional = ['location', 'checkType', 'hasFailures', 'resultType', 'beforeStart'] as const;
  const present = new Set<keyof ListArguments>(
    optional.filter((name) => given[name] !== undefined),
  );
  if (given.offset !== undefined && given.offset > 0) present.add('offset');
  const key = [...present].join();
  const known = statements.get(key);
  if (known !== undefined) return known;
  type Argument = <K extends keyof ListArguments>(name: K) => ListArguments[K];
  const filtered = (db: Db, argument: Argument) => {
    let query = results(db, argument('accountId'), argument('checkId'))
      .where('check_results.started_at', '>=', argument('from'))
      .where('check_results.started_at', '<', argument('to'))
      .where(isOfWindow('check_results', argument('from'), argument('to')));
    if (present.has('location')) query = query.where('run_location', '=', argument('location'));
    if (present.has('checkType')) query = query.where('check_type', '=', argument('checkType'));
    if (present.has('hasFailures')) {
      query = query.where('has_failures', '=', argument('hasFailures'));
    }
    // Late results belong to the record of their run, and to no list of outcomes.
    query = present.has('resultType')
      ? query.where('result_type', '=', argument('resultType'))
      : query.where('result_type', '!=', 'LATE');
    if (present.has('beforeStart')) {
      query = query.where((where) =>
        where.or([
          where('started_at', '<', argument('beforeStart')),
          where.and([
            where('started_at', '=', argument('beforeStart')),
            where('seq', '<', argument('beforeSeq')),
          ]),
        ]),
      );
    }
    return query;
  };
  const made: ListStatements = {
    count: prepareQuery((db, argument) =>
      filtered(db, argument).select((select) => select.fn.countAll<number>().as('total')),
    ),
    page: prepareQuery((db, argument) => {
      const paged = <Row>(query: SelectQueryBuilder<Database, 'check_results', Row>) =>
        newestFirst(query).limit(argument('limit')).offset(argument('offset'));
      const query = filtered(db, argument);
      if (!present.has('offset') || engineOf(db) === 'postgres') return paged(joined(db, query));
      // The index alone says which rows come before: SQLite would look each of them up, and its run.
      const shown = db
        .selectFrom('check_results')
        .where('check_results.seq', 'in', paged(query).select('check_results.seq'));
      return newestFirst(joined(db, shown));
    }),
  };
  statements.set(key, made);
  return made;
}

function toArguments(
  accountId: string,
  checkId: string,
  { hasFailures, resultType, ...filter }: ResultFilter,
) {
  return {
    accountId,
    checkId,
    ...filter,
    ...(hasFailures === undefined ? {} : { hasFailures: toFlag(hasFailures) }),
    ...(resultType === 'ALL' ? {} : { resultType }),
  };
}

/** One page of a check's results, newest first, and how many match in all. */
export async function listResults(
  reader: ResultReader,
  accountId: string,
  checkId: string,
  filter: ResultFilter,
  { limit, page }: { limit: number; page: number },
): Promise<{ json: string; count: number; total: number; offset: number }> {
  const offset = (page - 1) * limit;
  const given = { ...toArguments(accountId, checkId, filter), limit, offset };
  const list = statementsFor(given);
  const [counted] = await list.count.run(reader.db, given as ListArguments);
  const rows = await list.page.run(reader.db, given as ListArguments);
  return {
    json: await listJson(reader, rows),
    count: rows.length,
    total: counted?.total ?? 0,
    offset,
  };
}

/** One page by cursor: `<start>.<number>` of the last result of the previous page. */
export async function listResultsByCursor(
  reader: ResultReader,
  accountId: string,
  checkId: string,
  filter: ResultFilter,
  { limit, nextId }: { limit: number; nextId?: string },
): Promise<{ json: string; count: number }> {
  const [beforeStart = 0, beforeSeq = 0] = nextId === undefined ? [] : readCursor(nextId, 2);
  const given = {
    ...toArguments(accountId, checkId, filter),
    ...(nextId === undefined ? {} : { beforeStart, beforeSeq }),
    limit: limit + 1,
    offset: 0,
  };
  const rows = await statementsFor(given).page.run(reader.db, given as ListArguments);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  const nextIdText = JSON.stringify(hasMore ? `${last.started_at}.${last.seq}` : null);
  return {
    json: `{"length":${shown.length},"entries":${await listJson(reader, shown)},"nextId":${nextIdText}}`,
    count: shown.length,
  };
}

/** One result as JSON. */
export async function findResult(
  { db, resolveReferences }: ResultReader,
  accountId: string,
  checkId: string,
  id: string,
): Promise<string | undefined> {
  const row = await joined(
    db,
    results(db, accountId, checkId).where('check_results.id', '=', idOf(id)),
  ).executeTakeFirst();
  if (row === undefined) return undefined;
  const [payload] = isLarge(row) ? await findPayloads(db, [row]) : [smallPayload(row)];
  const stored = payload === undefined ? null : payloadText(payload);
  const isDamaged = payload !== undefined && stored === null;
  const text = stored === null ? null : resolveReferences(stored, row.id);
  return toJson(row, text, isDamaged ? damagedRemark : '');
}

type RunWire = z.input<typeof checkRun>;

type RunRow = RowOf<'check_runs'> & {
  /** A JSON list. */
  late_result_ids: string;
};

function toRun(row: RunRow): RunWire {
  return {
    checkRunId: row.id,
    sequenceId: row.run_id,
    checkId: row.check_id,
    location: row.location,
    scheduledFor: toTimestampOrNull(row.scheduled_for),
    state: row.state,
    missedReason: row.missed_reason as RunWire['missedReason'],
    resultId: row.result_id,
    lateResults: row.late_results,
    lateResultIds: JSON.parse(row.late_result_ids) as string[],
  };
}

export interface RunFilter {
  from: number;
  /** Exclusive. */
  to: number;
  location?: string;
  state?: RunWire['state'];
}

/** One page of a check's runs by slot (or creation, without a slot), newest first. */
export async function listRuns(
  db: Db,
  accountId: string,
  checkId: string,
  filter: RunFilter,
  page: { limit: number; page: number },
): Promise<{ items: RunWire[]; total: number; offset: number }> {
  let query = db
    .selectFrom('check_runs')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where((where) =>
      where.and([
        where(where.fn.coalesce('scheduled_for', 'created_at'), '>=', filter.from),
        where(where.fn.coalesce('scheduled_for', 'created_at'), '<', filter.to),
      ]),
    )
    .where(isOfWindow('check_runs', filter.from, filter.to));
  if (filter.location !== undefined) query = query.where('location', '=', filter.location);
  if (filter.state !== undefined) query = query.where('state', '=', filter.state);
  const { rows, total, offset } = await readPage(
    query
      .selectAll()
      .select((select) =>
        jsonList(
          select
            .selectFrom('check_results')
            .select('check_results.id as late_id')
            .whereRef('check_results.check_run_id', '=', 'check_runs.id')
            .where(isOfSameDay)
            .where('result_type', '=', 'LATE')
            .orderBy('seq'),
          'late_id',
        ).as('late_result_ids'),
      )
      .orderBy((order) => order.fn.coalesce('scheduled_for', 'created_at'), 'desc')
      .orderBy('id', 'desc'),
    page,
  );
  return { items: rows.map(toRun), total, offset };
}
