/**
 * The numbers of a check over any window: sums for whole days and hours, and single results for the
 * edges of the window and for results that wait to be rolled up. Sums and what waits are read
 * in one snapshot, so nothing is counted twice or left out while results are rolled up.
 */
import type { GroupBy } from '@monitor/shared/contract/analytics.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { isOfSuite } from '@monitor/shared/contract/checks/metric.ts';
import { absent, eachNumberOf, isOneOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import { isOfDays } from '../db/run-days.ts';
import { shardOf } from '../db/shard.ts';
import { inSnapshot } from '../db/snapshot.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { waitingOfShard } from '../results/index.ts';
import { dayMs, dayOf, hasOutcome, hasPages, hourOf } from './decide/roll-ups/cell.ts';
import { fineFrom, placeHours, rangesOf, spanOfDay, withoutDays } from './decide/roll-ups/plan.ts';
import type { Span, Spans } from './decide/roll-ups/spans.ts';
import { Tally } from './decide/roll-ups/tally.ts';
import { isMeasured, type Group, type Sample } from './decide/samples.ts';
import { importedUntil } from './imported-sums.ts';
import { readSamples, readSamplesAmong, type WaitingSamples } from './read-samples.ts';

export interface TallyRequest {
  accountId: string;
  checkId: string;
  checkType: CheckType;
  spans: Spans;
  bases: readonly string[];
  groupBy?: GroupBy | undefined;
  /** `success` and `failure`, or states of a heartbeat. Without any, all results. */
  statuses: readonly string[];
  /** Also what another installation measured before the check was made here. */
  withImported?: true;
  /** Limit of results that are read one by one. */
  maxResults: number;
}

type SumsRequest = Omit<TallyRequest, 'maxResults'>;

type SumsRow = Pick<
  RowOf<'roll_ups'>,
  | 'starts_at'
  | 'location'
  | 'part'
  | 'outcome'
  | 'finals'
  | 'failures'
  | 'retries'
  | 'first_at'
  | 'last_at'
> & { metrics: Buffer | null };

interface SumsArguments {
  accountId: string;
  checkId: string;
  hours: number;
  from: number;
  to: number;
}

const sumsWith = (withMetrics: boolean) =>
  prepareQuery<SumsArguments, SumsRow>((db, argument) => {
    const rows = db
      .selectFrom('roll_ups')
      .select([
        'starts_at',
        'location',
        'part',
        'outcome',
        'finals',
        'failures',
        'retries',
        'first_at',
        'last_at',
      ])
      .where('account_id', '=', argument('accountId'))
      .where('check_id', '=', argument('checkId'))
      .where('hours', '=', argument('hours'))
      .where('starts_at', '>=', argument('from'))
      .where('starts_at', '<', argument('to'));
    return withMetrics ? rows.select('metrics') : rows.select(absent<Buffer>().as('metrics'));
  });
const sumsAlone = sumsWith(false);
const sumsAndMetrics = sumsWith(true);

const rawFromNow = prepareQuery<object, { raw_from: number }>((db) =>
  db.selectFrom('roll_up_progress').select('raw_from'),
);

/** The sums of a check as a snapshot of the database had them. */
export interface Snapshot {
  /** All single results since this instant are still stored. */
  rawFrom: number;
  /** Results that are in no sum yet; most are of other checks. */
  waiting: WaitingSamples;
  counted: { row: SumsRow; span: Span }[];
  /** Hours whose results are to be read one by one. */
  divided: Set<number>;
}

/** Hours with attempts that are summed up as such and became FINAL. */
async function uncertainHours(
  db: Db,
  { checkId, spans }: SumsRequest,
  promoted: readonly number[],
  days: string,
): Promise<Set<number>> {
  if (promoted.length === 0) return new Set();
  const results = await db
    .selectFrom('check_results')
    .select('started_at')
    .where(isOneOf('seq', eachNumberOf(promoted)))
    .where(isOfDays('check_results', days))
    .where('check_id', '=', checkId)
    .where('started_at', '>=', spans.from)
    .where('started_at', '<', spans.to)
    .execute();
  return new Set(results.map(({ started_at }) => hourOf(started_at)));
}

type WaitingOfShard = Awaited<ReturnType<typeof waitingOfShard>>;

/** What the checks of one snapshot share. */
interface Shared {
  rawFrom: number;
  waitingBeside: (checkId: string) => Promise<WaitingOfShard>;
}

async function readShared(db: Db): Promise<Shared> {
  const [progress] = await rawFromNow.run(db, {});
  if (progress === undefined) throw new Error('since when results are kept is not known');
  const known = new Map<number, WaitingOfShard>();
  return {
    rawFrom: progress.raw_from,
    async waitingBeside(checkId) {
      const shard = shardOf(checkId);
      const waiting = known.get(shard) ?? (await waitingOfShard(db, shard));
      known.set(shard, waiting);
      return waiting;
    },
  };
}

async function readSums(
  db: Db,
  request: SumsRequest,
  { rawFrom: storedFrom, waitingBeside }: Shared,
): Promise<Snapshot> {
  const { accountId, checkId, spans, bases } = request;
  const query = bases.some(isMeasured) ? sumsAndMetrics : sumsAlone;
  const [{ at: imported } = { at: 0 }] = await importedUntil.run(db, { checkId });
  const { withImported = false } = request;
  // Imported hours have no single results.
  const rawFrom = withImported ? Math.max(storedFrom, imported) : storedFrom;
  const sumsFrom = withImported ? spans.from : Math.max(spans.from, imported);
  const { stored, promoted, days: waitingDays } = await waitingBeside(checkId);
  const waiting = { seqs: stored, days: waitingDays };
  const uncertain = await uncertainHours(db, request, promoted, waitingDays);
  const of = { accountId, checkId };
  const counted: { row: SumsRow; span: Span }[] = [];
  const days = new Set<number>();
  const uncertainDays = new Set([...uncertain].map(dayOf));
  if (spans.holdDays && spans.to - spans.from >= dayMs) {
    const rows = await query.run(db, { ...of, hours: 24, from: sumsFrom, to: spans.to });
    for (const row of rows) {
      const span = spanOfDay(spans, row.starts_at);
      if (span === null || uncertainDays.has(row.starts_at)) continue;
      counted.push({ row, span });
      days.add(row.starts_at);
    }
  }
  const hours: SumsRow[] = [];
  const to = Math.min(spans.to, fineFrom(spans, rawFrom));
  for (const range of withoutDays({ from: hourOf(sumsFrom), to }, days)) {
    const rows = await query.run(db, { ...of, hours: 1, ...range });
    for (const row of rows) if (!days.has(dayOf(row.starts_at))) hours.push(row);
  }
  const placed = placeHours(spans, hours, rawFrom, uncertain);
  const { divided } = placed;
  return { rawFrom, waiting, counted: [...counted, ...placed.counted], divided };
}

function groupOf({ groupBy, checkType }: TallyRequest, row: SumsRow): Group | undefined {
  const isPage = row.part !== '' && hasPages(checkType);
  switch (groupBy) {
    case 'pageIndex':
      return isPage ? Number(row.part) : undefined;
    case 'statusCode':
      return row.part === '' ? null : Number(row.part);
    case 'runLocation':
      return isPage ? undefined : row.location;
    case 'project':
    case 'test':
    case 'page':
      return undefined;
    case undefined:
      return isPage ? undefined : null;
  }
}

/** Tallies by the key of their span, then by group. */
class Tallying {
  readonly tallies = new Map<number, Map<Group, Tally>>();
  readonly #request: TallyRequest;
  readonly #measured: ReadonlySet<string>;
  readonly #withFinals: boolean;
  readonly #withAttempts: boolean;

  constructor(request: TallyRequest) {
    const { bases } = request;
    this.#request = request;
    this.#measured = new Set(bases.filter(isMeasured));
    this.#withFinals = bases.some((base) => base !== 'retries');
    this.#withAttempts = bases.includes('retries');
  }

  #tally(key: number, group: Group): Tally {
    let groups = this.tallies.get(key);
    if (groups === undefined) {
      groups = new Map();
      this.tallies.set(key, groups);
    }
    let tally = groups.get(group);
    if (tally === undefined) {
      tally = new Tally();
      groups.set(group, tally);
    }
    return tally;
  }

  addSums(row: SumsRow, span: Span): void {
    if (!hasOutcome(row.outcome, this.#request.statuses)) return;
    const counts = (this.#withFinals && row.finals > 0) || (this.#withAttempts && row.retries > 0);
    const group = groupOf(this.#request, row);
    if (counts && group !== undefined) {
      this.#tally(span.key, group).addSums(row, this.#measured);
    }
  }

  addSample(sample: Sample): void {
    const span = this.#request.spans.at(sample.startedAt);
    if (span !== null) this.#tally(span.key, sample.group).addSample(sample);
  }
}

export interface Tallies {
  /** By the key of their span, then by group; only where there are results. */
  tallies: Map<number, Map<Group, Tally>>;
  /** Number of results read one by one. */
  read: number;
  /** True when `maxResults` was reached; the oldest results are missing. */
  truncated: boolean;
}

/** The sums of several checks in one snapshot, in the order of the requests. */
export function readSnapshots(db: Db, requests: readonly SumsRequest[]): Promise<Snapshot[]> {
  return inSnapshot(db, async (unit) => {
    const shared = await readShared(unit);
    const snapshots: Snapshot[] = [];
    for (const request of requests) snapshots.push(await readSums(unit, request, shared));
    return snapshots;
  });
}

/** Adds up the results of one check by span and group, in a snapshot of its own unless one is given. */
export async function readTallies(
  db: Db,
  request: TallyRequest,
  given?: Snapshot,
): Promise<Tallies> {
  const { spans, maxResults } = request;
  const tallying = new Tallying(request);
  if (spans.to <= spans.from) return { tallies: tallying.tallies, read: 0, truncated: false };
  const { rawFrom, waiting, counted, divided } =
    given ??
    (await inSnapshot(db, async (unit) => readSums(unit, request, await readShared(unit))));
  for (const { row, span } of counted) tallying.addSums(row, span);

  // Sums have no tests and pages: those of results that are deleted are missing.
  const hasSums = !isOfSuite(request.groupBy);
  const fine = hasSums ? fineFrom(spans, rawFrom) : spans.from;
  let read = 0;
  let truncated = !hasSums && rawFrom > spans.from;
  const add = (found: Awaited<ReturnType<typeof readSamples>>): void => {
    read += found.read;
    truncated ||= found.truncated;
  };
  const left = () => ({ ...request, maxResults: Math.max(0, maxResults - read) });
  const whole = { from: spans.from, to: Math.min(spans.to, fine) };
  if (waiting.seqs.length > 0 && whole.from < whole.to) {
    const window = { ...left(), window: whole };
    const recent = await readSamplesAmong(db, window, waiting);
    add(recent);
    for (const sample of recent.samples) {
      if (!divided.has(hourOf(sample.startedAt))) tallying.addSample(sample);
    }
  }
  const ranges = rangesOf(divided, whole);
  const fineRange = { from: Math.max(spans.from, fine), to: spans.to };
  for (const window of fine < spans.to ? [fineRange, ...ranges] : ranges) {
    const found = await readSamples(db, { ...left(), window });
    add(found);
    for (const sample of found.samples) tallying.addSample(sample);
  }
  return { tallies: tallying.tallies, read, truncated };
}
