/** What analytics reads: checks, and results as samples. */
import { scheduler } from 'node:timers/promises';
import type { Kysely, Selectable } from 'kysely';
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import type { CheckType } from '@monitor/shared/contract/primitives.ts';
import type { BaseMetric } from '@monitor/shared/domain/metrics.ts';
import { decodePayload, fromFlag, fromJson, toFlag } from '../../db/columns.ts';
import type { ChecksTable, Database } from '../../db/tables.ts';
import type { Window } from '../../domain/results-window.ts';
import { needsPayload, samplesOf, type Sample } from '../../domain/samples.ts';

/** Between two batches other requests have their turn: the driver blocks while it reads. */
const batchRows = 1_000;

/** A check as answers show it. */
export interface AnalysedCheck {
  id: string;
  name: string;
  type: CheckType;
  activated: boolean;
  muted: boolean;
  frequency: number;
  tags: string[];
}

function toAnalysed(row: Selectable<ChecksTable>): AnalysedCheck {
  const { muted, tags } = fromJson<{ muted: boolean; tags: string[] }>(row.body_json);
  return {
    id: row.id,
    name: row.name,
    type: row.type as CheckType,
    activated: fromFlag(row.activated),
    muted,
    frequency: row.frequency,
    tags,
  };
}

export interface CheckFilter {
  ids?: readonly string[];
  /** Any of these. */
  tags?: readonly string[];
  activated?: boolean;
}

/** The checks of an account that match, by name. */
export async function listChecks(
  db: Kysely<Database>,
  accountId: string,
  { ids, tags, activated }: CheckFilter,
): Promise<AnalysedCheck[]> {
  let query = db.selectFrom('checks').selectAll().where('account_id', '=', accountId);
  if (ids !== undefined) query = query.where('id', 'in', ids);
  if (activated !== undefined) query = query.where('activated', '=', toFlag(activated));
  if (tags !== undefined) {
    query = query.where('id', 'in', (tagged) =>
      tagged
        .selectFrom('check_tags')
        .select('check_id')
        .where('account_id', '=', accountId)
        .where('tag', 'in', tags),
    );
  }
  return (await query.orderBy('name').orderBy('id').execute()).map(toAnalysed);
}

export interface SampleRequest {
  accountId: string;
  checkId: string;
  window: Window;
  /** What the samples must tell; what no metric needs is not read. */
  bases: readonly BaseMetric[];
  groupBy?: GroupBy | undefined;
  /** `success` and `failure`, or states of a heartbeat. Without any, all results. */
  statuses: readonly string[];
  maxResults: number;
}

const flagOfStatus: Partial<Record<string, number>> = { success: 0, failure: 1 };

function results(db: Kysely<Database>, request: SampleRequest) {
  const { accountId, checkId, window, bases, statuses } = request;
  const types: ('FINAL' | 'ATTEMPT')[] = [
    ...(bases.some((base) => base !== 'retries') ? (['FINAL'] as const) : []),
    ...(bases.includes('retries') ? (['ATTEMPT'] as const) : []),
  ];
  let query = db
    .selectFrom('check_results')
    .select([
      'seq',
      'started_at',
      'result_type',
      'has_failures',
      'run_location',
      'response_time_ms',
    ])
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('started_at', '>=', window.from)
    .where('started_at', '<', window.to)
    .where('result_type', 'in', types)
    .where('is_cancelled', '=', 0);
  // A fault of ours says nothing about the target, but an attempt was repeated all the same.
  if (types.includes('FINAL')) {
    query = query.where((where) =>
      where.or([where('has_errors', '=', 0), where('result_type', '=', 'ATTEMPT')]),
    );
  }
  if (statuses.length === 0) return query;
  const flags = statuses.flatMap((status) => flagOfStatus[status] ?? []);
  if (flags.length > 0) {
    return query.where('has_errors', '=', 0).where('has_failures', 'in', flags);
  }
  return query.where((where) =>
    where.exists(
      where
        .selectFrom('heartbeat_events')
        .select('heartbeat_events.seq')
        .where('heartbeat_events.account_id', '=', accountId)
        .where('heartbeat_events.check_id', '=', checkId)
        .whereRef('heartbeat_events.happened_at', '=', 'check_results.started_at')
        .where('heartbeat_events.state', 'in', statuses),
    ),
  );
}

async function payloadsOf(
  db: Kysely<Database>,
  accountId: string,
  seqs: readonly number[],
): Promise<Map<number, unknown>> {
  const rows = await db
    .selectFrom('check_results')
    .innerJoin('result_payloads', 'result_payloads.result_seq', 'check_results.seq')
    .select(['check_results.seq', 'result_payloads.encoding', 'result_payloads.payload'])
    .where('check_results.account_id', '=', accountId)
    .where('check_results.seq', 'in', seqs)
    .execute();
  return new Map(rows.map((row) => [row.seq, decodePayload(row)]));
}

/**
 * The results of one check as samples, newest first: the one place from which analytics has its
 * numbers. `truncated` when the window has more than `maxResults`.
 */
export async function readSamples(
  db: Kysely<Database>,
  request: SampleRequest,
): Promise<{ samples: Sample[]; read: number; truncated: boolean }> {
  const { bases, groupBy, maxResults } = request;
  const withPayload = needsPayload(bases, groupBy);
  const ordered = results(db, request).orderBy('started_at', 'desc').orderBy('seq', 'desc');
  const samples: Sample[] = [];
  let read = 0;
  let query = ordered;
  for (;;) {
    // One more than may be used tells whether there are more.
    const asked = Math.min(batchRows, maxResults - read + 1);
    const rows = await query.limit(asked).execute();
    const usable = rows.slice(0, maxResults - read);
    const payloads =
      withPayload && usable.length > 0
        ? await payloadsOf(
            db,
            request.accountId,
            usable.map(({ seq }) => seq),
          )
        : new Map<number, unknown>();
    for (const row of usable) {
      const result = {
        startedAt: row.started_at,
        isFinal: row.result_type === 'FINAL',
        hasFailures: fromFlag(row.has_failures),
        runLocation: row.run_location,
        responseTimeMs: row.response_time_ms,
        payload: payloads.get(row.seq),
      };
      samples.push(...samplesOf(result, bases, groupBy));
    }
    read += usable.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < asked) return { samples, read, truncated: false };
    if (usable.length < rows.length) return { samples, read, truncated: true };
    query = ordered
      .where('started_at', '<=', last.started_at)
      .where((where) =>
        where.or([where('started_at', '<', last.started_at), where('seq', '<', last.seq)]),
      );
    await scheduler.yield();
  }
}
