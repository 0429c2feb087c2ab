/** What is known about the submissions of a commit, read in a constant number of statements. */
import { sql } from 'kysely';
import type {
  MissedSubmission,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { fromFlag, fromJson, toFlag } from '../db/columns.ts';
import { eachIdIn, eachNumberIn, eachTextIn, isOneOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import { rowsOf } from '../db/rows.ts';
import { daysOf, isOfDays, runDayIn, runDayOf } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { type Gap, stepBackOver, stepsBackOver } from '../reception/index.ts';
import { earlyMs, isEarly, slotGridOf, type LeasedJob, type SlotGrid } from './decide/admission.ts';
import {
  measurementColumns,
  type Measurement,
  releasedId,
  releaseRuns,
  textOfMeasurement,
} from './release-runs.ts';

/** A submission about a run, with the key that sent it. */
export interface RunItem {
  accountId: string;
  /** Location of the key. */
  location: string;
  /** The agent that sent it. */
  agentId: string;
  data: ResultSubmission | MissedSubmission;
}

export type RunRow = Omit<RowOf<'check_runs'>, 'created_at' | 'late_results'>;
export type ResultRow = Pick<
  RowOf<'check_results'>,
  'seq' | 'id' | 'check_run_id' | 'attempt' | 'result_type' | keyof Measurement
>;

const runColumns = [
  'check_runs.id',
  'check_runs.account_id',
  'check_runs.check_id',
  'check_runs.run_id',
  'check_runs.location',
  'check_runs.scheduled_for',
  'check_runs.state',
  'check_runs.missed_reason',
  'check_runs.result_id',
] as const;

const runsById = prepareQuery<{ runIds: string; days: string }, RunRow>((db, argument) =>
  db
    .selectFrom('check_runs')
    .select(runColumns)
    .select(runDayIn('check_runs').as('run_day'))
    .where(isOneOf('run_id', eachIdIn(argument('runIds'))))
    .where(isOfDays('check_runs', argument('days'))),
);

const resultsOfRuns = prepareQuery<{ runs: string; days: string }, ResultRow>((db, argument) =>
  db
    .selectFrom('check_results')
    .select(['seq', 'id', 'check_run_id', 'attempt', 'result_type'])
    .select(measurementColumns)
    .where(isOneOf('check_run_id', eachNumberIn(argument('runs'))))
    .where(isOfDays('check_results', argument('days'))),
);

const checksById = prepareQuery<
  { accountIds: string; checkIds: string },
  { id: string; account_id: string; type: string }
>((db, argument) =>
  db
    .selectFrom('checks')
    .select(['id', 'account_id', 'type'])
    .where('account_id', 'in', eachTextIn(argument('accountIds')))
    .where('id', 'in', eachTextIn(argument('checkIds'))),
);

const encryptedLocations = prepareQuery<
  { accountIds: string },
  { account_id: string; slug_name: string }
>((db, argument) =>
  db
    .selectFrom('private_locations')
    .select(['account_id', 'slug_name'])
    .where('account_id', 'in', eachTextIn(argument('accountIds')))
    .where('encrypted_since', 'is not', null),
);

/** The schedules of checks since an instant. */
const schedulesOf = prepareQuery<
  { accountIds: string; checkIds: string; since: number },
  Pick<
    RowOf<'schedule_periods'>,
    'check_id' | 'frequency' | 'frequency_offset' | 'run_parallel' | 'locations_json' | 'starts_at'
  >
>((db, argument) =>
  db
    .selectFrom('schedule_periods')
    .select(['check_id', 'frequency', 'frequency_offset', 'run_parallel', 'locations_json'])
    .select((select) => select.fn.min('starts_at').as('starts_at'))
    .where('account_id', 'in', eachTextIn(argument('accountIds')))
    .where('check_id', 'in', eachTextIn(argument('checkIds')))
    .where((where) =>
      where.or([where('ends_at', 'is', null), where('ends_at', '>', argument('since'))]),
    )
    .groupBy(['check_id', 'frequency', 'frequency_offset', 'run_parallel', 'locations_json']),
);

/** By the whole beginning of the key: there is a lease for each job of as long as results are kept. */
function leasesOfRuns(
  db: Db,
  runs: readonly { accountId: string; location: string; runId: string }[],
): Promise<RowOf<'job_leases'>[]> {
  const given = rowsOf({ accountId: 'text', location: 'text', runId: 'text' }, runs);
  return db
    .selectFrom('job_leases')
    .selectAll()
    .where(
      sql<boolean>`(account_id, location, run_id) in (select "accountId", location, "runId" from ${given} as given)`,
    )
    .execute();
}

/** The slot of a run. */
export interface Slot {
  checkId: string;
  location: string;
  scheduledFor: number | null;
}

/** Null without a slot. */
export function slotKey({ checkId, location, scheduledFor }: Slot): string | null {
  return scheduledFor === null ? null : `${scheduledFor}/${checkId}/${location}`;
}

export const slotOf = ({ checkId, slotLocation, scheduledFor }: RunItem['data']): Slot => ({
  checkId,
  location: slotLocation,
  scheduledFor,
});

const leaseKey = (accountId: string, location: string, runId: string, jobId: string): string =>
  `${accountId} ${location} ${runId} ${jobId}`;

const distinct = (values: readonly string[]): string => JSON.stringify([...new Set(values)]);

const daysOfItems = (items: readonly RunItem[]): string =>
  daysOf(
    items.map(({ data }) => runDayOf({ run_id: data.runId, scheduled_for: data.scheduledFor })),
  );

/** By how much its times may have been moved: not, or by the step of the clock before which it was made. */
const movesBy = (steps: readonly Gap[]): number[] => [0, ...steps.map(({ stepMs }) => stepMs)];

/** As it came, or moved. */
const measurementsOf = (item: ResultSubmission, steps: readonly Gap[]): string[] =>
  movesBy(steps).map((movedMs) =>
    textOfMeasurement({
      started_at: item.startedAt + movedMs,
      response_time_ms: Math.floor(item.responseTime),
      has_failures: toFlag(item.hasFailures),
      has_errors: toFlag(item.hasErrors),
    }),
  );

interface KnownCheck {
  accountId: string;
  type: string;
  grids: SlotGrid[];
}

export class IngestFacts {
  /** By `id` of their rows. */
  readonly runs = new Map<number, RunRow>();
  /** By `id` of the row of their run. */
  readonly results = new Map<number, ResultRow[]>();
  readonly #checks = new Map<string, KnownCheck>();
  readonly #leases = new Map<string, LeasedJob>();
  readonly #encrypted = new Set<string>();
  /** Ids of results that are sent again and were stored before their slot came again. */
  readonly released = new Set<string>();

  /**
   * Reads what is known about these items. Under the locks of their checks nothing of it changes before
   * the commit. `keptMs`: retention of results. Runs whose slots came again give way to newer ones.
   */
  static async read(
    db: Db,
    items: readonly RunItem[],
    { now, keptMs, stepsBack }: { now: number; keptMs: number; stepsBack: readonly Gap[] },
  ): Promise<IngestFacts> {
    const facts = new IngestFacts();
    if (items.length === 0) return facts;
    const accountIds = distinct(items.map(({ accountId }) => accountId));
    const checkIds = distinct(items.map(({ data }) => data.checkId));
    await facts.#addRunsById(db, items);
    if (stepsBack.length > 0) await facts.#giveWay(db, items, stepsBack, now);
    const continued = items.filter(
      ({ data }) => data.kind === 'result' && data.retryElsewhere !== null,
    );
    if (continued.length > 0) await facts.addRunsOfSlots(db, continued);
    for (const { id, account_id: accountId, type } of await checksById.run(db, {
      accountIds,
      checkIds,
    })) {
      facts.#checks.set(id, { accountId, type, grids: [] });
    }
    const since = now - keptMs;
    for (const period of await schedulesOf.run(db, { accountIds, checkIds, since })) {
      facts.#checks.get(period.check_id)?.grids.push(
        slotGridOf({
          checkId: period.check_id,
          frequency: period.frequency,
          frequencyOffset: period.frequency_offset,
          runParallel: fromFlag(period.run_parallel),
          locations: fromJson<string[]>(period.locations_json),
          startsAt: period.starts_at,
        }),
      );
    }
    await facts.#readLeases(db, items);
    for (const row of await encryptedLocations.run(db, { accountIds })) {
      facts.#encrypted.add(`${row.account_id} ${row.slug_name}`);
    }
    return facts;
  }

  /**
   * A slot that came again, because the clock was set back, may have been run twice. The run that was
   * known gives way to another measurement, and what gave way already is not stored again.
   */
  async #giveWay(
    db: Db,
    items: readonly RunItem[],
    stepsBack: readonly Gap[],
    now: number,
  ): Promise<void> {
    const byRunId = new Map([...this.runs.values()].map((run) => [run.run_id, run]));
    const again = items.flatMap(({ data, ...sender }) => {
      const steps = stepsBackOver(data.scheduledFor ?? 0, stepsBack);
      return data.kind === 'result' && steps.length > 0 ? [{ data, steps, sender }] : [];
    });
    if (again.length === 0) return;
    const ids = again.flatMap(({ data, steps }) =>
      measurementsOf(data, steps).map((each) => ({ data, steps, id: releasedId(data.id, each) })),
    );
    const released = await db
      .selectFrom('check_results')
      .select(['id', 'stopped_at'])
      .where(isOneOf('id', eachIdIn(JSON.stringify(ids.map(({ id }) => id)))))
      .execute();
    const stopsAt = new Map(released.map((row) => [row.id, row.stopped_at]));
    for (const { data, steps, id } of ids) {
      const stopped = stopsAt.get(id);
      if (stopped === undefined) continue;
      // What comes later may be the run of the slot itself, which began and took as long by chance.
      const isSame = movesBy(steps).some((moved) => data.stoppedAt + moved === stopped);
      if (isEarly(data, now) || isSame) this.released.add(data.id);
    }
    for (const { data, steps, sender } of again) {
      const run = byRunId.get(data.runId);
      if (run === undefined || run.state === 'MISSED' || this.released.has(data.id)) continue;
      // A job has its own lease.
      if (data.jobId !== null) continue;
      const { account_id: accountId, check_id: checkId, location } = run;
      const isItsOwn = accountId === sender.accountId && checkId === data.checkId;
      if (!isItsOwn || location !== sender.location) continue;
      const results = this.results.get(run.id) ?? [];
      const same = results.find(({ attempt }) => attempt === data.attempt);
      const isAnother =
        same === undefined
          ? data.attempt === 1
          : !measurementsOf(data, steps).includes(textOfMeasurement(same));
      if (!isAnother) continue;
      const slot = data.scheduledFor ?? 0;
      // Or an agent that was cut off ran it, by the clock from before the step.
      const wasEarly = results.some((each) => each.started_at < slot - earlyMs);
      const step = stepBackOver(slot, stepsBack) ?? (wasEarly ? steps.at(-1) : undefined);
      if (step === undefined) continue;
      await releaseRuns(db, [run], step);
      this.runs.delete(run.id);
      this.results.delete(run.id);
      byRunId.delete(run.run_id);
    }
  }

  async #readLeases(db: Db, items: readonly RunItem[]): Promise<void> {
    const runs = items.flatMap(({ accountId, location, data }) =>
      data.kind === 'result' && data.jobId !== null
        ? [{ accountId, location, runId: data.runId }]
        : [],
    );
    if (runs.length === 0) return;
    for (const lease of await leasesOfRuns(db, runs)) {
      const { account_id: accountId, location, run_id: runId, job_id: jobId } = lease;
      this.#leases.set(leaseKey(accountId, location, runId, jobId), {
        checkId: lease.check_id,
        slotLocation: lease.slot_location,
        scheduledFor: lease.scheduled_for,
        attempt: lease.attempt,
      });
    }
  }

  async #addRunsById(db: Db, items: readonly RunItem[]): Promise<boolean> {
    const runIds = distinct(items.map(({ data }) => data.runId));
    return this.#addRuns(db, await runsById.run(db, { runIds, days: daysOfItems(items) }));
  }

  /** True when some of the rows were not known before. */
  async #addRuns(db: Db, rows: readonly RunRow[]): Promise<boolean> {
    const added = rows.filter(({ id }) => !this.runs.has(id));
    if (added.length === 0) return false;
    for (const row of added) {
      this.runs.set(row.id, row);
      this.results.set(row.id, []);
    }
    const runs = JSON.stringify(added.map(({ id }) => id));
    const days = daysOf(added.map((run) => run.run_day));
    for (const result of await resultsOfRuns.run(db, { runs, days })) {
      this.results.get(result.check_run_id)?.push(result);
    }
    return true;
  }

  /**
   * Adds the runs of these slots, which may have other ids than the items say: agents of two protocols
   * derive ids in two ways.
   */
  async addRunsOfSlots(db: Db, items: readonly RunItem[]): Promise<boolean> {
    const slots = items.flatMap(({ data }) => {
      const { checkId, location, scheduledFor } = slotOf(data);
      return scheduledFor === null
        ? []
        : [{ check_id: checkId, location, scheduled_for: scheduledFor }];
    });
    if (slots.length === 0) return false;
    const given = rowsOf({ check_id: 'id', location: 'text', scheduled_for: 'int' }, slots);
    const rows = await db
      .selectFrom(given.as('given'))
      .innerJoin('check_runs', (join) =>
        join
          .onRef('check_runs.scheduled_for', '=', 'given.scheduled_for')
          .onRef('check_runs.check_id', '=', 'given.check_id')
          .onRef('check_runs.location', '=', 'given.location'),
      )
      .select(runColumns)
      .select(runDayIn('check_runs').as('run_day'))
      .where(isOfDays('check_runs', daysOfItems(items)))
      .execute();
    return this.#addRuns(db, rows);
  }

  /** Adds the runs that stand where the runs of these items could not be inserted. False for none. */
  async addRunsInTheWay(db: Db, items: readonly RunItem[]): Promise<boolean> {
    const byId = await this.#addRunsById(db, items);
    return (await this.addRunsOfSlots(db, items)) || byId;
  }

  /** True where the content of a result is stored only when it is encrypted. */
  isEncrypted({ accountId, location }: RunItem): boolean {
    return this.#encrypted.has(`${accountId} ${location}`);
  }

  check(checkId: string): KnownCheck | undefined {
    return this.#checks.get(checkId);
  }

  /** The lease of the job that a submission names. */
  leaseOf({ accountId, location, data }: RunItem): LeasedJob | undefined {
    const jobId = data.kind === 'result' ? data.jobId : null;
    if (jobId === null) return undefined;
    return this.#leases.get(leaseKey(accountId, location, data.runId, jobId));
  }
}
