/**
 * Reads the results of the other side, check by check, and notes where its verdicts differ from ours. Each check is
 * compared up to some time ago, when results of both sides are in; what ends a turn is taken up by the next one.
 */
import type { Kysely } from 'kysely';
import type { Services } from '../core/services.ts';
import { fromFlag, toFlag } from '../db/columns.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import { isOfWindow } from '../db/run-days.ts';
import type { Database } from '../db/tables.ts';
import type { Send } from '../notifications/index.ts';
import { errorOfDetails, findVerdict, isOfCheck, olderThan } from '../results/index.ts';
import { type Compared, compareVerdicts, reachOf, usualGapMs } from './decide/compare.ts';
import { SourceApi, SourceApiError } from './source-api.ts';
import { type Evidence, type Pair, pairsOf, type ShadowRow, whyNot } from './store.ts';

const minuteMs = 60_000;
/** Results of our agents and theirs may arrive so much later. */
const lateMs = 5 * minuteMs;
const leastWindowMs = 60 * minuteMs;
const mostWindowMs = 6 * leastWindowMs;
/** A minute of the limit of the other side. */
const requestsPerTurn = 50;
const afterProblemMs = 10 * minuteMs;
const longestPauseMs = 5_000;
const rowsAtOnce = 500;

/** The other side asks to wait longer than a turn may take. */
class Later extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super('the other side asks to wait');
    this.ms = ms;
  }
}

interface Range {
  from: number;
  to: number;
}

async function oursWithin(
  { db }: Pick<Services, 'db'>,
  accountId: string,
  checkId: string,
  { from, to }: Range,
): Promise<Evidence[]> {
  const rows = await db
    .selectFrom('check_results')
    .select(['id', 'started_at', 'has_failures', 'has_errors', 'run_location', 'response_time_ms'])
    .where(isOfCheck(accountId, checkId))
    .where('result_type', '=', 'FINAL')
    .where('is_cancelled', '=', 0)
    .where('started_at', '>=', from)
    .where('started_at', '<', to)
    .where(isOfWindow('check_results', from, to))
    .execute();
  return rows.map((row) => ({
    ...{ id: row.id, at: row.started_at, location: row.run_location, error: null },
    isFailing: fromFlag(row.has_failures) || fromFlag(row.has_errors),
    responseTimeMs: row.response_time_ms,
  }));
}

async function theirsWithin(api: SourceApi, otherId: string, { from, to }: Range) {
  const seconds = (at: number) => Math.floor((at + api.clockOffsetMs) / 1_000);
  const query = { from: seconds(from), to: seconds(to) + 1, resultType: 'FINAL' };
  const found: Evidence[] = [];
  const path = `/v2/check-results/${encodeURIComponent(otherId)}`;
  for await (const entries of api.byCursor(path, query)) {
    for (const entry of entries) {
      const { id, startedAt, hasFailures, hasErrors, isCancelled, runLocation } = entry;
      const at = Date.parse(String(startedAt));
      if (isCancelled === true || Number.isNaN(at)) continue;
      const isFailing = hasFailures === true || hasErrors === true;
      const { responseTime } = entry;
      found.push({
        ...{ id: String(id).slice(0, 64), location: String(runLocation).slice(0, 64) },
        ...{ at: at - api.clockOffsetMs, isFailing },
        error: isFailing ? errorOfDetails(entry) : null,
        responseTimeMs: typeof responseTime === 'number' ? Math.round(responseTime) : null,
      });
    }
  }
  return found;
}

type Written = Compared<Evidence> & { until: number };

/** Compares one check up to some time ago; null where too little time has passed. */
async function compareOne(
  services: Pick<Services, 'db' | 'clock'>,
  api: SourceApi,
  { account_id: accountId, created_at: since }: ShadowRow,
  { checkId, otherId, gapMs, readUntil }: Pair,
): Promise<Written | null> {
  const from = readUntil ?? since;
  let reachMs = reachOf([gapMs]);
  for (let isKnown = false; ;) {
    const to = Math.min(services.clock.now() - reachMs - lateMs, from + mostWindowMs);
    if (to - from < leastWindowMs) return null;
    const range = { from: from - 2 * reachMs, to: to + reachMs };
    const theirs = await theirsWithin(api, otherId, range);
    const slower = reachOf([gapMs, usualGapMs(theirs) ?? 0]);
    if (slower > reachMs && !isKnown) {
      // They run it less often: their neighbours lie further away.
      reachMs = slower;
      isKnown = true;
      continue;
    }
    const ours = await oursWithin(services, accountId, checkId, range);
    const compared = compareVerdicts({ THEIRS: theirs, OURS: ours }, { from, to }, reachMs);
    return { ...compared, until: to };
  }
}

/** With why a result of ours failed, which its details say. */
async function withErrors(
  db: Kysely<Database>,
  accountId: string,
  { differences }: Written,
): Promise<void> {
  for (const { side, seen } of differences) {
    if (side === 'OURS') seen.error = (await findVerdict(db, accountId, seen.id))?.error ?? null;
  }
}

async function write(
  services: Pick<Services, 'commits' | 'clock' | 'db'>,
  { account_id: accountId }: ShadowRow,
  { checkId: check_id }: Pair,
  made: Written,
  problem: string | null = null,
): Promise<void> {
  const now = services.clock.now();
  const { until, compared, undecided, differences } = made;
  await services.commits.run(async (unit) => {
    await unit
      .insertInto('shadow_checks')
      .values({ account_id: accountId, check_id, read_until: until, compared, undecided, problem })
      .onConflict((conflict) =>
        conflict.column('check_id').doUpdateSet(({ ref, eb }) => ({
          ...{ read_until: until, problem },
          compared: eb(ref('shadow_checks.compared'), '+', compared),
          undecided: eb(ref('shadow_checks.undecided'), '+', undecided),
        })),
      )
      .execute();
    for (const each of differences) {
      const { side, firstAt: first_at, lastAt: last_at, results } = each;
      const open = each.continues
        ? await unit
            .selectFrom('shadow_differences')
            .select(['id', 'results'])
            .where('account_id', '=', accountId)
            .where('check_id', '=', check_id)
            .where('side', '=', side)
            .where('last_at', '>=', first_at)
            .orderBy('last_at', 'desc')
            .limit(1)
            .executeTakeFirst()
        : undefined;
      const fits_between_runs = toFlag(each.fitsBetweenRuns);
      if (open !== undefined) {
        await updateOwnRows(unit, 'shadow_differences', accountId)
          .set({ last_at, results: open.results + results, fits_between_runs })
          .where('id', '=', open.id)
          .execute();
        continue;
      }
      const evidence_json = JSON.stringify([each.seen, each.before, each.after]);
      await unit
        .insertInto('shadow_differences')
        .values({
          ...{ account_id: accountId, check_id, side, first_at, last_at, results },
          ...{ fits_between_runs, evidence_json, created_at: now },
        })
        .execute();
    }
  });
}

/** A turn of one account. Gives when the next one may begin, and what keeps it from reading. */
async function turn(
  services: Services,
  send: Send,
  row: ShadowRow,
): Promise<{ next_at: number; problem: string | null }> {
  const { db, clock, secrets } = services;
  const now = () => clock.now();
  try {
    const key = secrets.decrypt(row.key_encrypted, row.account_id);
    let requests = 0;
    const api = new SourceApi(
      { baseUrl: row.base_url, key, accountId: row.other_account_id },
      {
        now,
        signal: new AbortController().signal,
        pause: (ms) => {
          if (ms > longestPauseMs) return Promise.reject(new Later(ms));
          return new Promise((resolve) => clock.after(ms, resolve));
        },
        send(request, signal) {
          requests += 1;
          return send(request, signal);
        },
      },
    );
    for (const pair of await pairsOf(db, row)) {
      if (whyNot(pair) !== null) continue;
      if (requests >= requestsPerTurn) break;
      try {
        const made = await compareOne(services, api, row, pair);
        if (made === null) continue;
        await withErrors(db, row.account_id, made);
        await write(services, row, pair, made);
      } catch (error) {
        if (!(error instanceof SourceApiError) || error.status !== 404) throw error;
        const nothing = { differences: [], compared: 0, undecided: 0, until: now() };
        await write(services, row, pair, nothing, 'the other side does not have it any more');
      }
    }
    return { next_at: now() + minuteMs, problem: null };
  } catch (error) {
    if (error instanceof Later) return { next_at: now() + error.ms, problem: null };
    const isKnown = error instanceof SourceApiError;
    if (!isKnown) services.logger.warn({ err: error }, 'verdicts could not be compared');
    const problem = isKnown ? error.message : 'what was read could not be compared, see the log';
    return { next_at: now() + afterProblemMs, problem: problem.slice(0, 500) };
  }
}

/** Compares what is due, and forgets differences as old as results. True when there may be more to forget. */
export async function compareChecks(
  services: Services,
  send: Send,
  keptMs: number,
): Promise<boolean> {
  const { db, clock } = services;
  const due = await db
    .selectFrom('shadows')
    .selectAll()
    .where('next_at', '<=', clock.now())
    .execute();
  for (const row of due) {
    const after = await turn(services, send, row);
    await updateOwnRows(db, 'shadows', row.account_id)
      .set(after)
      // Somebody may have started it anew meanwhile.
      .where('next_at', '=', row.next_at)
      .execute();
  }
  const rows = await db
    .selectFrom('shadow_differences')
    .select(['id', 'account_id', 'created_at'])
    .orderBy('id')
    .limit(rowsAtOnce)
    .execute();
  const old = olderThan(rows, clock.now() - keptMs, (each) => each.created_at);
  for (const { id, account_id: accountId } of old) {
    await deleteOwnRows(db, 'shadow_differences', accountId).where('id', '=', id).execute();
  }
  return old.length === rowsAtOnce;
}
