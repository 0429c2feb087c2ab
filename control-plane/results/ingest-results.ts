/**
 * Receives results: in batches, possibly twice, late, or from two agents at once. Batches that
 * arrive together share one durable commit; each is answered after it.
 */
import type { Kysely, Selectable } from 'kysely';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import {
  type CertificateSubmission,
  type ItemOutcome,
  type MissedSubmission,
  type ResultSubmission,
  type Submission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { fromFlag, fromJson, toFlag, type EncodedPayload } from '../db/columns.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { CheckRunsTable } from './tables.ts';
import {
  withoutFuture,
  slotGridOf,
  whyRefused,
  type LeasedJob,
  type SlotGrid,
} from './decide/admission.ts';
import { decideResult } from './decide/ingest.ts';
import type { KeyedSha256Hex } from '@monitor/shared/domain/run-id.ts';
import { sha256Hex } from '../core/keys.ts';
import { raiseNews } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import {
  closeRun,
  countLate,
  insertPayload,
  insertResult,
  insertRun,
  promoteResult,
  type NewResult,
} from './result-rows.ts';
import type { RunVerdict } from './run-verdict.ts';
import { verdictOfSubmission } from './verdict-of-result.ts';
import { announceArtifacts } from './announce-artifacts.ts';
import { groupErrors } from './group-errors.ts';
import { saveLearnedScript } from '../checks/index.ts';
import { readSubmission, refusal, type ReadItem } from './read-submission.ts';
import { publishResults, type CertificateConsumer, type RunEnding } from './result-consumer.ts';
import { runAll, type AfterCommit } from '../core/after-commit.ts';
import { finishJob, rescheduleRetry } from '../scheduling/index.ts';
import { statusUpdate, writeStatuses, type StatusChange } from './update-status.ts';

/** Limit of items per commit: a statement has at most 32,766 parameters. */
const maxAtOnce = 5_000;

interface Batch {
  accountId: string;
  location: string;
  items: readonly unknown[];
}

interface QueuedBatch extends Batch {
  arrivedAt: number;
  resolve: (outcomes: ItemOutcome[]) => void;
  reject: (error: unknown) => void;
}

type TakenItem = Extract<ReadItem, { data: Submission }>;

/** A submission about a run. */
type RunSubmission = Exclude<Submission, CertificateSubmission>;

type RunRow = Pick<
  Selectable<CheckRunsTable>,
  'id' | 'run_id' | 'state' | 'check_id' | 'account_id'
>;

const runColumns = ['id', 'run_id', 'state', 'check_id', 'account_id'] as const;

interface StoredResult {
  id: string;
  resultType: NewResult['result_type'];
}

interface KnownCheck {
  accountId: string;
  type: string;
  grids: SlotGrid[];
}

const attemptOf = (runRowId: number, attempt: number): string => `${runRowId} ${attempt}`;
const leaseOf = (accountId: string, location: string, runId: string, jobId: string): string =>
  `${accountId} ${location} ${runId} ${jobId}`;

function toResultRow(
  item: ResultSubmission,
  accountId: string,
  runRowId: number,
  resultType: NewResult['result_type'],
  now: number,
): NewResult {
  return {
    id: item.id,
    account_id: accountId,
    check_id: item.checkId,
    check_run_id: runRowId,
    check_type: item.checkType,
    name: item.name,
    result_type: resultType,
    attempt: item.attempt,
    has_failures: toFlag(item.hasFailures),
    has_errors: toFlag(item.hasErrors),
    is_degraded: toFlag(item.isDegraded),
    over_max_response_time: toFlag(item.overMaxResponseTime),
    under_load: toFlag(item.underLoad),
    agent_wait_ms: item.agentWaitMs ?? null,
    run_location: item.runLocation,
    scheduled_for: item.scheduledFor,
    started_at: item.startedAt,
    stopped_at: item.stoppedAt,
    created_at: now,
    response_time_ms: Math.floor(item.responseTime),
    epoch: item.epoch,
    is_cancelled: toFlag(item.isCancelled),
    is_payload_dropped: toFlag(item.isPayloadDropped === true),
  };
}

export interface IntakeOptions {
  /** Retention of results. */
  keptMs: number;
  takeCertificate: CertificateConsumer;
}

/** The facts and changes of one commit; the facts are loaded before its items are decided. */
class IngestUnit {
  readonly #db: Kysely<Database>;
  readonly #services: Services;
  readonly #now: number;
  readonly #runs = new Map<string, RunRow>();
  /** By run and attempt: an attempt has one result, whatever its id is derived from. */
  readonly #results = new Map<string, StoredResult>();
  readonly #checks = new Map<string, KnownCheck>();
  readonly #leases = new Map<string, LeasedJob>();
  readonly #keptMs: number;
  readonly #takeCertificate: CertificateConsumer;
  readonly statusChanges = new Map<string, StatusChange>();
  readonly verdicts: RunVerdict[] = [];
  readonly endings: RunEnding[] = [];
  readonly locationsWithNews: { accountId: string; location: string }[] = [];
  readonly endedRuns: string[] = [];
  readonly steps: AfterCommit[] = [];

  constructor(
    db: Kysely<Database>,
    services: Services,
    { keptMs, takeCertificate }: IntakeOptions,
  ) {
    this.#takeCertificate = takeCertificate;
    this.#db = db;
    this.#services = services;
    this.#keptMs = keptMs;
    this.#now = services.clock.now();
  }

  /** Loads the facts about all items in a few queries, instead of a few per item. */
  async prefetch(
    batches: readonly { batch: Batch; items: readonly Submission[] }[],
  ): Promise<void> {
    const items = batches
      .flatMap((each) => each.items)
      .filter((item) => item.kind !== 'certificate');
    if (items.length === 0) return;
    const accountIds = [...new Set(batches.map(({ batch }) => batch.accountId))];
    const checkIds = [...new Set(items.map((item) => item.checkId))];
    const runs = await this.#db
      .selectFrom('check_runs')
      .select(runColumns)
      .where('run_id', 'in', [...new Set(items.map((item) => item.runId))])
      .execute();
    for (const run of runs) this.#runs.set(run.run_id, run);
    await this.#readResults(runs);
    const checks = await this.#db
      .selectFrom('checks')
      .select(['id', 'account_id', 'type'])
      .where('account_id', 'in', accountIds)
      .where('id', 'in', checkIds)
      .execute();
    for (const { id, account_id: accountId, type } of checks) {
      this.#checks.set(id, { accountId, type, grids: [] });
    }
    await this.#readSchedules(accountIds, checkIds);
    await this.#readLeases(batches);
  }

  async #readResults(runs: readonly RunRow[]): Promise<void> {
    if (runs.length === 0) return;
    const results = await this.#db
      .selectFrom('check_results')
      .select(['id', 'check_run_id', 'attempt', 'result_type'])
      .where(
        'check_run_id',
        'in',
        runs.map(({ id }) => id),
      )
      .execute();
    for (const { id, check_run_id: runRowId, attempt, result_type: resultType } of results) {
      this.#results.set(attemptOf(runRowId, attempt), { id, resultType });
    }
  }

  /** The schedules of the checks within the retention of results. */
  async #readSchedules(accountIds: string[], checkIds: string[]): Promise<void> {
    const periods = await this.#db
      .selectFrom('schedule_periods')
      .select(['check_id', 'frequency', 'frequency_offset', 'run_parallel', 'locations_json'])
      .select((select) => select.fn.min('starts_at').as('starts_at'))
      .where('account_id', 'in', accountIds)
      .where('check_id', 'in', checkIds)
      .where((where) =>
        where.or([where('ends_at', 'is', null), where('ends_at', '>', this.#now - this.#keptMs)]),
      )
      .groupBy(['check_id', 'frequency', 'frequency_offset', 'run_parallel', 'locations_json'])
      .execute();
    for (const period of periods) {
      this.#checks.get(period.check_id)?.grids.push(
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
  }

  async #readLeases(
    batches: readonly { batch: Batch; items: readonly Submission[] }[],
  ): Promise<void> {
    for (const { batch, items } of batches) {
      const runIds = items.flatMap((item) =>
        item.kind === 'result' && item.jobId !== null ? [item.runId] : [],
      );
      if (runIds.length === 0) continue;
      const { accountId, location } = batch;
      const leases = await this.#db
        .selectFrom('job_leases')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('location', '=', location)
        .where('run_id', 'in', runIds)
        .execute();
      for (const lease of leases) {
        this.#leases.set(leaseOf(accountId, location, lease.run_id, lease.job_id), {
          checkId: lease.check_id,
          slotLocation: lease.slot_location,
          scheduledFor: lease.scheduled_for,
          attempt: lease.attempt,
        });
      }
    }
  }

  async take(
    batch: Batch,
    keyedSha256Hex: KeyedSha256Hex,
    { data: item, payload }: TakenItem,
  ): Promise<ItemOutcome> {
    const { accountId, location } = batch;
    if (item.kind === 'certificate') {
      const taken = await this.#takeCertificate(this.#services, this.#db, batch, item);
      this.steps.push(taken.afterCommit);
      return taken.outcome;
    }
    const run = this.#runs.get(item.runId);
    const jobId = item.kind === 'result' ? item.jobId : null;
    const reason = whyRefused(item, {
      now: this.#now,
      keptMs: this.#keptMs,
      accountId,
      location,
      keyedSha256Hex,
      sha256Hex,
      check: this.#checks.get(item.checkId),
      run: run === undefined ? undefined : { accountId: run.account_id, checkId: run.check_id },
      lease:
        jobId === null
          ? undefined
          : this.#leases.get(leaseOf(accountId, location, item.runId, jobId)),
    });
    if (reason !== null) return { id: item.id, outcome: 'refused', reason };
    if (item.kind === 'missed') return this.#takeMissed(accountId, item, run);
    // Whether another attempt follows is decided before anything is written.
    const known = run ?? (item.retryElsewhere === null ? undefined : await this.#runOfSlot(item));
    return this.#takeResult(accountId, withoutFuture(item, this.#now), payload, known);
  }

  /**
   * The run of a slot under another id than the submission has: agents of two protocols derive ids in two
   * ways. Its results are known from then on.
   */
  async #runOfSlot(item: RunSubmission): Promise<RunRow | undefined> {
    if (item.scheduledFor === null) return undefined;
    const run = await this.#db
      .selectFrom('check_runs')
      .select(runColumns)
      .where('scheduled_for', '=', item.scheduledFor)
      .where('check_id', '=', item.checkId)
      .where('location', '=', item.slotLocation)
      .executeTakeFirst();
    if (run === undefined) return undefined;
    // Changes of this commit must not be lost.
    const known = this.#runs.get(run.run_id);
    if (known === undefined) {
      this.#runs.set(run.run_id, run);
      await this.#readResults([run]);
    }
    this.#runs.set(item.runId, known ?? run);
    return known ?? run;
  }

  async #takeMissed(
    accountId: string,
    item: MissedSubmission,
    run: RunRow | undefined,
  ): Promise<ItemOutcome> {
    const isNew =
      run === undefined &&
      (await this.#newRun(accountId, item, item.scheduledFor, 'MISSED', item.reason, null)) !==
        undefined;
    return { id: item.id, outcome: isNew ? 'accepted' : 'duplicate' };
  }

  /** Undefined when the slot already has a run. */
  async #newRun(
    accountId: string,
    item: RunSubmission,
    scheduledFor: number | null,
    state: RunRow['state'],
    missedReason: string | null,
    resultId: string | null,
  ): Promise<RunRow | undefined> {
    const [inserted] = await insertRun.run(this.#db, {
      account_id: accountId,
      check_id: item.checkId,
      run_id: item.runId,
      location: item.slotLocation,
      scheduled_for: scheduledFor,
      state,
      missed_reason: missedReason,
      result_id: resultId,
      created_at: this.#now,
    });
    if (inserted === undefined) return undefined;
    const row: RunRow = {
      ...{ id: inserted.id, run_id: item.runId, state },
      ...{ check_id: item.checkId, account_id: accountId },
    };
    this.#runs.set(item.runId, row);
    return row;
  }

  async #takeResult(
    accountId: string,
    item: ResultSubmission,
    payload: EncodedPayload | null,
    known: RunRow | undefined,
  ): Promise<ItemOutcome> {
    const stored =
      known === undefined ? undefined : this.#results.get(attemptOf(known.id, item.attempt));
    const followUp =
      item.resultType === 'ATTEMPT' && item.retryElsewhere !== null && known?.state !== 'FINAL'
        ? await rescheduleRetry(this.#services, this.#db, accountId, {
            ...item,
            runId: known?.run_id ?? item.runId,
            isKnown: stored !== undefined,
          })
        : null;
    const resultType = followUp === 'too-late' ? 'FINAL' : item.resultType;
    const decision = decideResult(
      known && { state: known.state, finalAttempt: await this.#finalAttemptOf(known, item) },
      stored,
      { resultType, attempt: item.attempt },
    );
    if (followUp !== null && followUp !== 'too-late') {
      this.locationsWithNews.push({ accountId, location: followUp });
    }
    switch (decision.kind) {
      case 'duplicate':
        return { id: item.id, outcome: 'duplicate' };
      case 'late': {
        if (known !== undefined) {
          await countLate.run(this.#db, { id: known.id });
          await this.#store(accountId, item, payload, known.id, 'LATE');
        }
        await this.#finishJob(accountId, item);
        return { id: item.id, outcome: 'late' };
      }
      case 'promote': {
        if (known !== undefined && stored !== undefined) {
          await promoteResult.run(this.#db, { id: stored.id });
          stored.resultType = 'FINAL';
          await this.#close(accountId, { ...item, id: stored.id }, known);
        }
        return { id: item.id, outcome: 'accepted' };
      }
      case 'store': {
        const isOpen = resultType === 'ATTEMPT';
        const run =
          known ??
          (await this.#newRun(
            accountId,
            item,
            item.scheduledFor,
            isOpen ? 'RUNNING' : 'FINAL',
            null,
            isOpen ? null : item.id,
          ));
        if (run === undefined) {
          const other = await this.#runOfSlot(item);
          if (other === undefined) throw new Error('a run is in the way that is of no slot');
          return this.#takeResult(accountId, item, payload, other);
        }
        await this.#store(accountId, item, payload, run.id, resultType);
        if (!isOpen) await this.#close(accountId, item, run);
        else if (run.state === 'MISSED') {
          await closeRun.run(this.#db, { id: run.id, state: 'RUNNING', result_id: null });
          run.state = 'RUNNING';
        }
        await this.#finishJob(accountId, item);
        return { id: item.id, outcome: 'accepted' };
      }
    }
  }

  /** The attempt that ended a run, where that decides what a further ATTEMPT of it is. */
  async #finalAttemptOf(run: RunRow, item: ResultSubmission): Promise<number | null> {
    if (run.state !== 'FINAL' || item.resultType !== 'ATTEMPT') return null;
    const final = await this.#db
      .selectFrom('check_results')
      .select('attempt')
      .where('check_run_id', '=', run.id)
      .where('result_type', '=', 'FINAL')
      .executeTakeFirst();
    return final?.attempt ?? null;
  }

  async #store(
    accountId: string,
    item: ResultSubmission,
    payload: EncodedPayload | null,
    runRowId: number,
    resultType: NewResult['result_type'],
  ): Promise<void> {
    const row = toResultRow(item, accountId, runRowId, resultType, this.#now);
    const [inserted] = await insertResult.run(this.#db, row);
    if (inserted === undefined) throw new Error('a result was inserted without a number');
    this.#results.set(attemptOf(runRowId, item.attempt), { id: item.id, resultType });
    if (payload !== null) {
      await insertPayload.run(this.#db, { result_seq: inserted.seq, ...payload });
    }
    await this.#storeWhatBelongsTo(accountId, item);
  }

  async #storeWhatBelongsTo(accountId: string, item: ResultSubmission): Promise<void> {
    const of = { accountId, checkId: item.checkId, resultId: item.id, now: this.#now };
    // It may have waited long on its agent, whose clock may be ahead.
    const happenedAt = Math.min(item.stoppedAt, this.#now);
    if (item.artifacts.length > 0) {
      await announceArtifacts(this.#db, {
        ...of,
        location: item.runLocation,
        artifacts: item.artifacts,
      });
    }
    if (item.errorMessages.length > 0 && !item.isCancelled) {
      const { newId } = this.#services;
      await groupErrors(this.#db, { ...of, now: happenedAt, messages: item.errorMessages, newId });
    }
    // Other types replay nothing.
    if (item.learnedScript !== null && findAgentType(item.checkType)?.learnsScripts === true) {
      const owner = { accountId, checkId: item.checkId, location: item.runLocation };
      await saveLearnedScript(this.#db, owner, item.learnedScript, happenedAt);
      this.locationsWithNews.push({ accountId, location: item.runLocation });
    }
  }

  async #close(accountId: string, item: ResultSubmission, run: RunRow): Promise<void> {
    if (run.state !== 'FINAL') {
      await closeRun.run(this.#db, { id: run.id, state: 'FINAL', result_id: item.id });
      run.state = 'FINAL';
    }
    this.endedRuns.push(run.run_id);
    // A cancelled run says nothing about the target.
    if (item.isCancelled) return;
    const { checkId, runLocation: location, hasErrors, faultCode } = item;
    // The clock of the agent may be ahead: later results must still be newer.
    const startedAt = Math.min(item.startedAt, this.#now);
    const change = this.statusChanges.get(checkId);
    this.statusChanges.set(
      checkId,
      statusUpdate(change, { ...{ accountId, checkRunId: run.id, ...item }, startedAt }),
    );
    const verdict = verdictOfSubmission(accountId, item);
    this.verdicts.push(verdict);
    // Agents without error codes and codes without letters name no error.
    const code = faultCode === undefined || faultCode === '' ? 'UNKNOWN' : faultCode;
    const error = hasErrors ? { code, message: verdict.error } : null;
    this.endings.push({ accountId, checkId, location, startedAt, error });
  }

  async #finishJob(accountId: string, item: ResultSubmission): Promise<void> {
    if (item.jobId === null) return;
    if (item.resultType === 'ATTEMPT' && item.retryElsewhere === null) return;
    const { jobId, runLocation: location } = item;
    await finishJob(this.#db, { accountId, location, jobId });
  }
}

/** True for a failure that every other item would have too: the disk, a lock, a damaged file. */
function isOfDatabase(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return /^(SQLITE_(?!CONSTRAINT|MISMATCH|TOOBIG|RANGE)|E[A-Z]+$)/.test(String(error.code));
}

/** Collects batches and commits them together. */
export class ResultIntake {
  readonly #services: Services;
  readonly #options: IntakeOptions;
  #queue: QueuedBatch[] = [];
  #working = false;

  constructor(services: Services, options: IntakeOptions) {
    this.#services = services;
    this.#options = options;
  }

  /** Stores a batch durably and gives the outcome of each item, in order. */
  ingest(batch: Batch): Promise<ItemOutcome[]> {
    return new Promise((resolve, reject) => {
      const arrivedAt = this.#services.clock.monotonic();
      this.#queue.push({ ...batch, arrivedAt, resolve, reject });
      if (!this.#working) void this.#work();
    });
  }

  /** The batches of the next commit: at least one, and as many others as fit. */
  #nextBatches(): QueuedBatch[] {
    let items = 0;
    const tooMuch = this.#queue.findIndex((batch) => (items += batch.items.length) > maxAtOnce);
    return this.#queue.splice(0, tooMuch === -1 ? this.#queue.length : Math.max(1, tooMuch));
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#queue.length > 0) {
      const batches = this.#nextBatches();
      try {
        const outcomes = await this.#commit(batches);
        batches.forEach((batch, index) => {
          this.#settle(batch, outcomes[index]);
        });
      } catch (error) {
        // One of them fails: committed separately, the others still succeed.
        for (const batch of batches) {
          await this.#commitInParts(batch, error).then(
            (outcomes) => {
              this.#settle(batch, outcomes);
            },
            (reason: unknown) => {
              batch.reject(reason);
            },
          );
        }
      }
    }
    this.#working = false;
  }

  /** Commits as much as possible after a failure; an item that fails by itself is refused. */
  async #commitInParts(batch: Batch, failure: unknown): Promise<ItemOutcome[]> {
    if (isOfDatabase(failure)) throw failure;
    const { items } = batch;
    if (items.length === 1) {
      const [item] = items;
      const { id } = refusal(item, '');
      this.#services.logger.error({ err: failure, id }, 'a submission cannot be stored, refused');
      return [refusal(item, 'item: cannot be stored')];
    }
    const outcomes: ItemOutcome[] = [];
    const half = Math.ceil(items.length / 2);
    for (const part of [items.slice(0, half), items.slice(half)]) {
      const ofPart = { ...batch, items: part };
      const stored = await this.#commit([ofPart]).catch(
        async (error: unknown): Promise<ItemOutcome[][]> => [
          await this.#commitInParts(ofPart, error),
        ],
      );
      outcomes.push(...(stored[0] ?? []));
    }
    return outcomes;
  }

  #settle(batch: QueuedBatch, outcomes: ItemOutcome[] = []): void {
    const { metrics, clock } = this.#services;
    metrics.ingestDuration.observe((clock.monotonic() - batch.arrivedAt) / 1000);
    batch.resolve(outcomes);
  }

  /** Counts a committed batch. */
  #count(items: readonly ReadItem[], outcomes: readonly ItemOutcome[]): void {
    const { metrics, clock } = this.#services;
    for (const [index, { data }] of items.entries()) {
      const outcome = outcomes[index]?.outcome ?? 'refused';
      metrics.ingested.inc({ kind: data?.kind ?? 'unreadable', outcome });
      if (outcome !== 'accepted' || data === undefined) continue;
      if (data.kind === 'missed') metrics.missedSlots.inc({ reason: data.reason });
      if (data.kind === 'result') {
        metrics.resultLag.observe(Math.max(0, clock.now() - data.stoppedAt) / 1000);
      }
    }
  }

  async #commit(batches: readonly Batch[]): Promise<ItemOutcome[][]> {
    const parsed = batches.map((batch) => ({
      batch,
      items: batch.items.map(readSubmission),
    }));
    const { reception } = this.#services;
    await reception.recorded();
    // With a clock that is years ahead, everything is too old.
    const keptMs = reception.isClockTrusted() ? this.#options.keptMs : Number.MAX_SAFE_INTEGER;
    const { unit, outcomes } = await inTransaction(this.#services.db, async (db) => {
      const unitOfWork = new IngestUnit(db, this.#services, { ...this.#options, keptMs });
      await unitOfWork.prefetch(
        parsed.map(({ batch, items }) => ({
          batch,
          items: items.flatMap(({ data }) => (data === undefined ? [] : [data])),
        })),
      );
      const taken: ItemOutcome[][] = [];
      for (const { batch, items } of parsed) {
        const keyedSha256Hex = this.#services.ids.keyedSha256HexOf(batch.accountId, batch.location);
        const ofBatch: ItemOutcome[] = [];
        for (const item of items) {
          ofBatch.push(
            item.data === undefined
              ? item.refused
              : await unitOfWork.take(batch, keyedSha256Hex, item),
          );
        }
        taken.push(ofBatch);
      }
      const { statuses, clock } = this.#services;
      await writeStatuses(statuses, db, unitOfWork.statusChanges, clock.now());
      unitOfWork.steps.push(...(await publishResults(this.#services, db, unitOfWork)));
      await raiseNews(db, unitOfWork.locationsWithNews);
      return { unit: unitOfWork, outcomes: taken };
    });
    this.#services.metrics.ingestBatch.observe(
      parsed.reduce((sum, { items }) => sum + items.length, 0),
    );
    for (const [index, { items }] of parsed.entries()) this.#count(items, outcomes[index] ?? []);
    runAll(unit.steps);
    for (const { accountId, location } of unit.locationsWithNews) {
      this.#services.hub.notify(accountId, location);
    }
    this.#services.runs.ended(unit.endedRuns);
    return outcomes;
  }
}
