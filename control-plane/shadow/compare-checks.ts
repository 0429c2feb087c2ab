/**
 * Reads the results of the other side, check by check, and notes where its verdicts differ from ours. Each check is
 * compared up to some time ago, when results of both sides are in; what ends a turn is taken up by the next one.
 */
import { sleep } from '@monitor/shared/clock.ts';
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import { behindAfterHours } from '@monitor/shared/contract/shadow.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { Services } from '../core/services.ts';
import { ImportedSums } from '../analytics/index.ts';
import { fromFlag, toFlag } from '../db/columns.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import { isOfWindow } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';
import type { Send } from '../notifications/index.ts';
import { errorOfDetails, findVerdict, isOfCheck } from '../results/index.ts';
import { type Compared, compareVerdicts, reachOf, usualGapMs } from './decide/compare.ts';
import { isAbsent } from './read-account.ts';
import { entriesWithin, hoursOfPart, readHistory } from './read-history.ts';
import { SourceApi, SourceApiError } from './source-api.ts';
import {
  type Evidence,
  findShadow,
  gone,
  historiesOf,
  type PastOfCheck,
  type Pair,
  pairsOf,
  type ShadowRow,
} from './store.ts';

const minuteMs = 60_000;
/** Results of our agents and theirs may arrive so much later. */
const lateMs = 5 * minuteMs;
const leastWindowMs = 60 * minuteMs;
const mostWindowMs = 6 * leastWindowMs;
/** A minute of the limit of the other side; the check that is being read may go beyond. */
const requestsPerTurn = 50;
const mostRequestsPerTurn = 200;
const mostTurnMs = 3 * minuteMs;
/** So many runs of a check lie in the longest window: what is read for it must fit into a turn. */
const runsPerWindow = 720;
const afterProblemMs = 10 * minuteMs;
const afterRefusalMs = 60 * minuteMs;
const afterGoneMs = 24 * afterRefusalMs;
/** Answers that another try an hour later does not change. */
const lasting: readonly unknown[] = [402, 403, 404, 410];
const longestPauseMs = 5_000;
/** Slow answers move their clock by less. */
const clockChangeMs = 15_000;
const behindMs = behindAfterHours * 60 * minuteMs;

/** The other side asks to wait longer than a turn may take. */
class Later extends SourceApiError {
  readonly ms: number;

  constructor(ms: number, { message, status }: SourceApiError) {
    super(message, status);
    this.ms = ms;
  }
}

/** The turn has made its requests, or taken its time; without a message somebody has ended or changed it. */
class TurnOver extends Error {}

async function oursWithin(
  { db }: Pick<Services, 'db'>,
  accountId: string,
  checkId: string,
  { from, to }: Window,
): Promise<Evidence[]> {
  const rows = await db
    .selectFrom('check_results')
    .select(['id', 'started_at', 'has_failures', 'run_location', 'response_time_ms'])
    .where(isOfCheck(accountId, checkId))
    .where('result_type', '=', 'FINAL')
    .where('is_cancelled', '=', 0)
    // An error of an agent is no verdict about the target.
    .where((where) => where.or([where('has_failures', '=', 1), where('has_errors', '=', 0)]))
    .where('started_at', '>=', from)
    .where('started_at', '<', to)
    .where(isOfWindow('check_results', from, to))
    .execute();
  return rows.map((row) => ({
    ...{ id: row.id, at: row.started_at, location: row.run_location, error: null },
    isFailing: fromFlag(row.has_failures),
    responseTimeMs: row.response_time_ms,
  }));
}

async function theirsWithin(api: SourceApi, otherId: string, range: Window) {
  const found: Evidence[] = [];
  for await (const { entry, isError, ...seen } of entriesWithin(api, otherId, range)) {
    if (!isError) found.push({ ...seen, error: seen.isFailing ? errorOfDetails(entry) : null });
  }
  return found;
}

type Written = Compared<Evidence> & { until: number };

/** Up to when a check can be compared whose neighbours lie within `reachMs`. */
const comparableUntil = (now: number, reachMs: number): number => now - reachMs - lateMs;

/** Whether there is something to read of a check, and it may be read. */
const isDue = (pair: Pair, { created_at: since }: ShadowRow, now: number): boolean =>
  !isPinged(pair.type) &&
  (pair.retryAt ?? 0) <= now &&
  comparableUntil(now, reachOf([pair.gapMs])) - (pair.readUntil ?? since) >= leastWindowMs;

/** Compares one check up to some time ago; null where too little time has passed. */
async function compareOne(
  services: Pick<Services, 'db' | 'clock'>,
  api: SourceApi,
  { account_id: accountId, created_at: since }: ShadowRow,
  { checkId, otherId, gapMs, readUntil }: Pair,
): Promise<Written | null> {
  const from = readUntil ?? since;
  let reachMs = reachOf([gapMs]);
  for (let [isKnown, isMeasured] = [false, false]; ;) {
    const longest = Math.max(leastWindowMs, Math.min(mostWindowMs, runsPerWindow * gapMs));
    const to = Math.min(comparableUntil(services.clock.now(), reachMs), from + longest);
    if (to - from < leastWindowMs) return null;
    const range = { from: from - 2 * reachMs, to: to + reachMs };
    const offsetMs = api.clockOffsetMs;
    const theirs = await theirsWithin(api, otherId, range);
    if (!isMeasured && Math.abs(api.clockOffsetMs - offsetMs) > clockChangeMs) {
      // Their clock was not known, so that another time was asked for.
      isMeasured = true;
      continue;
    }
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

/** Throws where somebody has ended or changed it since the turn began. */
async function assertAsBefore(unit: Db, row: ShadowRow): Promise<void> {
  const { next_at } = (await findShadow(unit, row.account_id)) ?? {};
  if (next_at !== row.next_at) throw new TurnOver();
}

/** Writes about a check, unless it was deleted while it was read. */
const writeOf = (
  { commits }: Pick<Services, 'commits'>,
  row: ShadowRow,
  checkId: string,
  work: (unit: Db) => Promise<void>,
): Promise<void> =>
  commits.run(async (unit) => {
    await assertAsBefore(unit, row);
    const checks = unit.selectFrom('checks').select('id').where('id', '=', checkId);
    if ((await checks.executeTakeFirst()) !== undefined) await work(unit);
  });

/** Why a check could not be read. Without its id, so that checks with the same reason are listed as one. */
function reasonOf({ logger }: Pick<Services, 'logger'>, pair: Pair, error: unknown): string {
  if (error instanceof SourceApiError || error instanceof TurnOver) {
    return error.message.replace(`/v2/check-results/${pair.otherId}`, 'its results').slice(0, 500);
  }
  logger.warn({ err: error, checkId: pair.checkId }, 'results of the other side were not used');
  return 'what was read could not be used, see the log';
}

async function write(
  services: Pick<Services, 'commits' | 'clock'>,
  row: ShadowRow,
  { checkId: check_id }: Pair,
  { until, compared, undecided, differences }: Written,
): Promise<void> {
  const { account_id: accountId } = row;
  const now = services.clock.now();
  const none = { problem: null, retry_at: null };
  await writeOf(services, row, check_id, async (unit) => {
    await unit
      .insertInto('shadow_checks')
      .values({ account_id: accountId, check_id, read_until: until, compared, undecided, ...none })
      .onConflict((conflict) =>
        conflict.column('check_id').doUpdateSet(({ ref, eb }) => ({
          ...{ read_until: until, ...none },
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
          .set({ last_at, results: open.results + results, fits_between_runs, is_reported: 0 })
          .where('id', '=', open.id)
          .execute();
        continue;
      }
      if (side === 'OURS') {
        each.seen.error = (await findVerdict(unit, accountId, each.seen.id))?.error ?? null;
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

/** Notes why one check could not be compared, so that the others are. */
async function writeProblem(
  services: Pick<Services, 'commits' | 'clock' | 'logger'>,
  row: ShadowRow,
  pair: Pair,
  error: unknown,
): Promise<void> {
  const isGone = error instanceof SourceApiError && error.status === 404;
  const { checkId: check_id } = pair;
  const given = {
    problem: isGone ? gone : reasonOf(services, pair, error),
    retry_at: services.clock.now() + (isGone ? afterGoneMs : afterRefusalMs),
  };
  const nothing = { read_until: row.created_at, compared: 0, undecided: 0 };
  await writeOf(services, row, check_id, async (unit) => {
    await unit
      .insertInto('shadow_checks')
      .values({ account_id: row.account_id, check_id, ...nothing, ...given })
      .onConflict((conflict) => conflict.column('check_id').doUpdateSet(given))
      .execute();
  });
}

/** Whether it concerns all checks: a refused key, or a limit of requests. */
const isOfSide = (error: unknown): boolean =>
  error instanceof SourceApiError && [401, 429].includes(error.status ?? 0);

type Ended = Pick<ShadowRow, 'next_at' | 'problem'>;

/** Compares one check after another, as far as a turn goes. */
async function compareDue(
  services: Services,
  api: SourceApi,
  row: ShadowRow,
  due: readonly Pair[],
  { isOver, stopping }: { isOver: () => boolean; stopping: AbortSignal },
): Promise<void> {
  for (const pair of due) {
    if (pair !== due[0] && isOver()) return;
    try {
      const made = await compareOne(services, api, row, pair);
      if (made !== null) await write(services, row, pair, made);
    } catch (error) {
      if (isOfSide(error) || stopping.aborted) throw error;
      if (error instanceof TurnOver && (pair !== due[0] || error.message === '')) return;
      await writeProblem(services, row, pair, error);
    }
  }
}

const nextPast = async ({ db, clock }: Pick<Services, 'db' | 'clock'>, row: ShadowRow) =>
  (await historiesOf(db, row)).find(
    ({ isRead, history }) => !isRead && (history.retry_at ?? 0) <= clock.now(),
  );

/** Notes why hours of a check could not be read. Of those that did not fit into a turn, half are read next. */
async function writePastProblem(
  services: Pick<Services, 'commits' | 'clock' | 'logger'>,
  row: ShadowRow,
  past: PastOfCheck,
  { error, hasBegun }: { error: unknown; hasBegun: boolean },
): Promise<void> {
  const isCut = error instanceof TurnOver;
  const hours = hoursOfPart(past);
  const isTooMuch = isCut || (error instanceof Later && hasBegun);
  const isLasting = isCut || (error instanceof SourceApiError && lasting.includes(error.status));
  const afterMs = error instanceof Later ? error.ms : isLasting ? afterGoneMs : afterRefusalMs;
  const now = services.clock.now();
  const again = { problem: null, retry_at: null };
  const refused = { problem: reasonOf(services, past, error), retry_at: now + afterMs };
  const history = {
    ...{ ...past.history, ...(isCut && hours > 1 ? again : refused) },
    part_hours: isTooMuch ? Math.max(1, Math.floor(hours / 2)) : past.history.part_hours,
  };
  await writeOf(services, row, past.checkId, (unit) =>
    new ImportedSums().store(unit, history, now),
  );
}

/** Reads what was measured before the move, as far as what is left of a turn goes. */
async function readPast(
  services: Services,
  api: SourceApi,
  row: ShadowRow,
  { isOver, stopping, made }: { isOver: () => boolean; stopping: AbortSignal; made: () => number },
): Promise<void> {
  while (!isOver()) {
    const next = await nextPast(services, row);
    if (next === undefined) return;
    const before = made();
    try {
      const offsetMs = api.clockOffsetMs;
      let store = await readHistory(services, api, next);
      if (Math.abs(api.clockOffsetMs - offsetMs) > clockChangeMs) {
        // Their clock was not known, so that other hours were asked for.
        store = await readHistory(services, api, next);
      }
      await writeOf(services, row, next.checkId, store);
    } catch (error) {
      if (stopping.aborted || (error instanceof SourceApiError && error.status === 401))
        throw error;
      if (error instanceof TurnOver && error.message === '') return;
      await writePastProblem(services, row, next, { error, hasBegun: made() > before + 1 });
      if (isOfSide(error)) throw error;
    }
  }
}

/** A turn of one account. Gives when the next one may begin, and what keeps it from reading. */
async function turn(
  services: Services,
  send: Send,
  stopping: AbortSignal,
  row: ShadowRow,
): Promise<Ended> {
  const { db, clock, secrets } = services;
  const now = () => clock.now();
  let begunAt: number | null = null;
  let requests = 0;
  const isLate = () => begunAt !== null && clock.monotonic() - begunAt > mostTurnMs;
  const due = (await pairsOf(db, row)).filter((pair) => isDue(pair, row, now()));
  const [first] = due;
  const isIdle = first === undefined && (await nextPast(services, row)) === undefined;
  if (isIdle) return { next_at: now() + minuteMs, problem: row.problem };
  try {
    const key = secrets.decrypt(row.key_encrypted, row.account_id);
    const api = new SourceApi(
      { baseUrl: row.base_url, key, accountId: row.other_account_id },
      {
        ...{ now, signal: stopping },
        async pause(ms, why) {
          if (ms > longestPauseMs) throw why.status === 429 ? new Later(ms, why) : why;
          await sleep(clock, ms, stopping);
          stopping.throwIfAborted();
        },
        async send(request, signal) {
          // A key that somebody has had forgotten is not used again.
          await assertAsBefore(db, row);
          requests += 1;
          if (requests > mostRequestsPerTurn || isLate()) {
            throw new TurnOver('its results could not be read within a turn');
          }
          return send(request, signal);
        },
      },
    );
    // What fails here is of no check; its answer has the clock of the first window.
    await api.get('/v1/accounts/me').catch((error: unknown) => {
      if (!isAbsent(error)) throw error;
    });
    begunAt = clock.monotonic();
    const isOver = () => requests >= requestsPerTurn || isLate();
    await compareDue(services, api, row, due, { isOver, stopping });
    await readPast(services, api, row, { isOver, stopping, made: () => requests });
    return { next_at: now() + minuteMs, problem: null };
  } catch (error) {
    if (stopping.aborted) return row;
    if (error instanceof TurnOver) return row;
    const { message } = error as Error;
    if (error instanceof Later) {
      const isBehind =
        first === undefined
          ? begunAt === null
          : (first.readUntil ?? row.created_at) < now() - behindMs;
      return { next_at: now() + error.ms, problem: isBehind ? message : row.problem };
    }
    const isKnown = error instanceof SourceApiError;
    if (!isKnown) services.logger.warn({ err: error }, 'verdicts could not be compared');
    const problem = isKnown ? message : 'what was read could not be compared, see the log';
    return { next_at: now() + afterProblemMs, problem: problem.slice(0, 500) };
  }
}

/** Compares what is due, and forgets differences as old as results. */
export async function compareChecks(
  services: Services,
  send: Send,
  stopping: AbortSignal,
  keptMs: number,
): Promise<void> {
  const { db, clock } = services;
  const due = await db
    .selectFrom('shadows')
    .selectAll()
    .where('next_at', '<=', clock.now())
    .orderBy('next_at')
    .execute();
  for (const row of due) {
    const { next_at, problem } = await turn(services, send, stopping, row);
    if (stopping.aborted) return;
    await updateOwnRows(db, 'shadows', row.account_id)
      .set({ next_at, problem })
      // Somebody may have started it anew meanwhile.
      .where('next_at', '=', row.next_at)
      .execute();
  }
  const before = clock.now() - keptMs;
  await db.deleteFrom('shadow_differences').where('created_at', '<', before).execute();
}
