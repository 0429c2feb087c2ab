/**
 * Results arrive here: in batches, possibly twice, late, or from two agents at once. Batches that
 * arrive together share one durable commit; each is answered after it.
 */
import type { Kysely, Selectable } from 'kysely';
import {
  submission,
  type CertificateSubmission,
  type ItemOutcome,
  type MissedSubmission,
  type ResultSubmission,
  type Submission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { encodePayload, fromJson, toFlag } from '../db/columns.ts';
import type { CheckRunsTable, Database } from '../db/tables.ts';
import { decideResult } from '../domain/ingest.ts';
import { checkTypes, type KnownCheckType } from '@monitor/shared/contract/checks/index.ts';
import { runIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { sha256Hex } from '../keys.ts';
import type { Services } from '../services.ts';
import {
  closeRun,
  countLate,
  insertPayload,
  insertResult,
  insertRun,
  promoteResult,
  type NewResult,
} from './result-rows.ts';
import { alertOn } from './alerting/alert-on.ts';
import type { RunVerdict } from './alerting/run-verdict.ts';
import { verdictOfSubmission } from './alerting/verdict-of-result.ts';
import { announceArtifacts } from './announce-artifacts.ts';
import { groupErrors } from './group-errors.ts';
import { saveLearnedScript } from './learned-scripts.ts';
import { recordCertificate } from './record-certificate.ts';
import { recordFaults, type RunEnding } from './record-faults.ts';
import { retryElsewhere } from './retry-elsewhere.ts';
import { statusUpdate, writeStatuses, type StatusChange } from './update-status.ts';

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

type ParsedItem = ReturnType<typeof submission.safeParse>;

/** What is about a run. */
type RunSubmission = Exclude<Submission, CertificateSubmission>;

type RunRow = Pick<Selectable<CheckRunsTable>, 'id' | 'run_id' | 'state' | 'check_id'>;

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
    run_location: item.runLocation,
    scheduled_for: item.scheduledFor,
    started_at: item.startedAt,
    stopped_at: item.stoppedAt,
    created_at: now,
    response_time_ms: Math.floor(item.responseTime),
    epoch: item.epoch,
    is_cancelled: toFlag(item.isCancelled),
  };
}

/** What a run saw, in the shape of its type: an agent that does not know the type has no such thing. */
function payloadOf(item: ResultSubmission): unknown {
  const { checkType } = item;
  return checkType in checkTypes ? item[checkTypes[checkType as KnownCheckType].resultField] : null;
}

/** What one commit knows and changes; filled before its items are decided. */
class IngestUnit {
  readonly #db: Kysely<Database>;
  readonly #services: Services;
  readonly #now: number;
  readonly #runs = new Map<string, RunRow>();
  readonly #results = new Map<string, NewResult['result_type']>();
  readonly #checks = new Map<string, string>();
  /** Where each check runs, or ran under an earlier schedule. */
  readonly #locations = new Map<string, Set<string>>();
  readonly statusChanges = new Map<string, StatusChange>();
  readonly verdicts: RunVerdict[] = [];
  readonly endings: RunEnding[] = [];
  readonly locationsWithNews: { accountId: string; location: string }[] = [];
  readonly endedRuns: string[] = [];
  /** Something stands in the outbox. */
  hasTold = false;

  constructor(db: Kysely<Database>, services: Services) {
    this.#db = db;
    this.#services = services;
    this.#now = services.clock.now();
  }

  /** Reads what the items may meet, in a few queries rather than a few an item. */
  async prefetch(all: readonly Submission[]): Promise<void> {
    const items = all.filter((item) => item.kind !== 'certificate');
    if (items.length === 0) return;
    const runIds = [...new Set(items.map((item) => item.runId))];
    const ids = [...new Set(items.map((item) => item.id))];
    const checkIds = [...new Set(items.map((item) => item.checkId))];
    const runs = await this.#db
      .selectFrom('check_runs')
      .select(['id', 'run_id', 'state', 'check_id'])
      .where('run_id', 'in', runIds)
      .execute();
    for (const run of runs) this.#runs.set(run.run_id, run);
    const results = await this.#db
      .selectFrom('check_results')
      .select(['id', 'result_type'])
      .where('id', 'in', ids)
      .execute();
    for (const result of results) this.#results.set(result.id, result.result_type);
    const checks = await this.#db
      .selectFrom('checks')
      .select(['id', 'account_id'])
      .where('id', 'in', checkIds)
      .execute();
    for (const check of checks) {
      this.#checks.set(check.id, check.account_id);
      this.#locations.set(check.id, new Set());
    }
    const places = await this.#db
      .selectFrom('check_locations')
      .select(['check_id', 'location'])
      .where('check_id', 'in', checkIds)
      .execute();
    for (const place of places) this.#locations.get(place.check_id)?.add(place.location);
    const periods = await this.#db
      .selectFrom('schedule_periods')
      .select(['check_id', 'locations_json'])
      .distinct()
      .where('check_id', 'in', checkIds)
      .execute();
    for (const period of periods) {
      const known = this.#locations.get(period.check_id);
      for (const location of fromJson<string[]>(period.locations_json)) known?.add(location);
    }
  }

  async take(batch: Batch, item: Submission): Promise<ItemOutcome> {
    const { accountId, location } = batch;
    if (item.kind === 'certificate') {
      const { outcome, isTold } = await recordCertificate(this.#services, this.#db, batch, item);
      if (isTold) this.hasTold = true;
      return outcome;
    }
    const run = this.#runs.get(item.runId);
    const reason = this.#whyRefused(accountId, location, item, run);
    if (reason !== null) return { id: item.id, outcome: 'refused', reason };
    return item.kind === 'missed'
      ? this.#takeMissed(accountId, item, run)
      : this.#takeResult(accountId, item, run);
  }

  /** A key speaks for its own location, and a slot has one run: whatever the agent may say. */
  #whyRefused(
    accountId: string,
    location: string,
    item: RunSubmission,
    run: RunRow | undefined,
  ): string | null {
    if (this.#checks.get(item.checkId) !== accountId) return 'the check does not exist';
    if (run !== undefined && run.check_id !== item.checkId)
      return 'the run belongs to another check';
    if ((item.kind === 'result' ? item.runLocation : item.slotLocation) !== location) {
      return `the key is for location ${location}`;
    }
    if (this.#locations.get(item.checkId)?.has(location) !== true) {
      return `the check does not run in ${location}`;
    }
    const { checkId, slotLocation, scheduledFor } = item;
    if (scheduledFor === null) return null;
    const runId = runIdOfSlot({ checkId, location: slotLocation, scheduledFor }, sha256Hex);
    return runId === item.runId ? null : 'the run is not the one of its slot';
  }

  async #takeMissed(
    accountId: string,
    item: MissedSubmission,
    run: RunRow | undefined,
  ): Promise<ItemOutcome> {
    if (run !== undefined) return { id: item.id, outcome: 'duplicate' };
    await this.#newRun(accountId, item, item.scheduledFor, 'MISSED', item.reason, null);
    return { id: item.id, outcome: 'accepted' };
  }

  async #newRun(
    accountId: string,
    item: RunSubmission,
    scheduledFor: number | null,
    state: RunRow['state'],
    missedReason: string | null,
    resultId: string | null,
  ): Promise<RunRow> {
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
    if (inserted === undefined) throw new Error('a run was inserted without an id');
    const row: RunRow = { id: inserted.id, run_id: item.runId, state, check_id: item.checkId };
    this.#runs.set(item.runId, row);
    return row;
  }

  async #takeResult(
    accountId: string,
    item: ResultSubmission,
    known: RunRow | undefined,
  ): Promise<ItemOutcome> {
    const storedType = this.#results.get(item.id);
    const followUp =
      item.resultType === 'ATTEMPT' && item.retryElsewhere !== null && known?.state !== 'FINAL'
        ? await retryElsewhere(this.#services, this.#db, accountId, item, storedType !== undefined)
        : null;
    const resultType = followUp === 'too-late' ? 'FINAL' : item.resultType;
    const decision = decideResult(
      known,
      storedType === undefined ? undefined : { resultType: storedType },
      resultType,
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
          await this.#store(accountId, item, known.id, 'LATE');
        }
        await this.#finishJob(accountId, item);
        return { id: item.id, outcome: 'late' };
      }
      case 'promote': {
        await promoteResult.run(this.#db, { id: item.id });
        this.#results.set(item.id, 'FINAL');
        if (known !== undefined) await this.#close(accountId, item, known);
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
        await this.#store(accountId, item, run.id, resultType);
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

  async #store(
    accountId: string,
    item: ResultSubmission,
    runRowId: number,
    resultType: NewResult['result_type'],
  ): Promise<void> {
    const row = toResultRow(item, accountId, runRowId, resultType, this.#now);
    const [inserted] = await insertResult.run(this.#db, row);
    if (inserted === undefined) throw new Error('a result was inserted without a number');
    this.#results.set(item.id, resultType);
    const payload = payloadOf(item);
    if (payload !== null) {
      await insertPayload.run(this.#db, { result_seq: inserted.seq, ...encodePayload(payload) });
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
    if (item.learnedScript !== null) {
      await saveLearnedScript(this.#db, accountId, item.checkId, item.learnedScript, happenedAt);
      // Whichever agent makes the next run plays it back.
      await this.#db
        .updateTable('checks')
        .set((set) => ({ revision: set('revision', '+', 1) }))
        .where('account_id', '=', accountId)
        .where('id', '=', item.checkId)
        .execute();
      for (const location of this.#locations.get(item.checkId) ?? []) {
        this.locationsWithNews.push({ accountId, location });
      }
    }
  }

  async #close(accountId: string, item: ResultSubmission, run: RunRow): Promise<void> {
    if (run.state !== 'FINAL') {
      await closeRun.run(this.#db, { id: run.id, state: 'FINAL', result_id: item.id });
      run.state = 'FINAL';
    }
    this.endedRuns.push(run.run_id);
    // A run that somebody ended says nothing about the target.
    if (item.isCancelled) return;
    const { checkId, runLocation: location, hasErrors, faultCode } = item;
    // The clock of the agent may be ahead: what others see later is newer all the same.
    const startedAt = Math.min(item.startedAt, this.#now);
    const change = this.statusChanges.get(checkId);
    this.statusChanges.set(
      checkId,
      statusUpdate(change, { ...{ accountId, checkRunId: run.id, ...item }, startedAt }),
    );
    const verdict = verdictOfSubmission(accountId, item);
    this.verdicts.push(verdict);
    // Neither agents that know no codes nor one without letters name an error.
    const code = faultCode === undefined || faultCode === '' ? 'UNKNOWN' : faultCode;
    const fault = hasErrors ? { code, message: verdict.error } : null;
    this.endings.push({ accountId, checkId, location, startedAt, fault });
  }

  async #finishJob(accountId: string, item: ResultSubmission): Promise<void> {
    if (item.jobId === null) return;
    if (item.resultType === 'ATTEMPT' && item.retryElsewhere === null) return;
    await this.#db
      .deleteFrom('jobs')
      .where('account_id', '=', accountId)
      .where('location', '=', item.runLocation)
      .where('id', '=', item.jobId)
      .execute();
  }
}

/** Takes batches and commits them together. */
export class ResultIntake {
  readonly #services: Services;
  #queue: QueuedBatch[] = [];
  #working = false;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Stores a batch durably and says what became of each item, in order. */
  ingest(batch: Batch): Promise<ItemOutcome[]> {
    return new Promise((resolve, reject) => {
      const arrivedAt = this.#services.clock.monotonic();
      this.#queue.push({ ...batch, arrivedAt, resolve, reject });
      if (!this.#working) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#queue.length > 0) {
      const batches = this.#queue;
      this.#queue = [];
      try {
        const outcomes = await this.#commit(batches);
        batches.forEach((batch, index) => {
          this.#settle(batch, outcomes[index]);
        });
      } catch (error) {
        if (batches.length === 1) {
          batches[0]?.reject(error);
        } else {
          // One of them is poison: alone, the others still get through.
          for (const batch of batches) {
            await this.#commit([batch]).then(
              ([outcome]) => {
                this.#settle(batch, outcome);
              },
              (reason: unknown) => {
                batch.reject(reason);
              },
            );
          }
        }
      }
    }
    this.#working = false;
  }

  #settle(batch: QueuedBatch, outcomes: ItemOutcome[] = []): void {
    const { metrics, clock } = this.#services;
    metrics.ingestDuration.observe((clock.monotonic() - batch.arrivedAt) / 1000);
    batch.resolve(outcomes);
  }

  /** Of a batch that is committed. */
  #count(items: readonly ParsedItem[], outcomes: readonly ItemOutcome[]): void {
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
      items: batch.items.map((item) => submission.safeParse(item)),
    }));
    const { unit, outcomes } = await this.#services.db.transaction().execute(async (db) => {
      const unitOfWork = new IngestUnit(db, this.#services);
      await unitOfWork.prefetch(
        parsed.flatMap(({ items }) => items.flatMap((item) => (item.success ? [item.data] : []))),
      );
      const taken: ItemOutcome[][] = [];
      for (const { batch, items } of parsed) {
        const ofBatch: ItemOutcome[] = [];
        for (const [index, item] of items.entries()) {
          if (item.success) {
            ofBatch.push(await unitOfWork.take(batch, item.data));
          } else {
            ofBatch.push(refusal(batch.items[index], item.error.issues[0]));
          }
        }
        taken.push(ofBatch);
      }
      const { statuses, clock } = this.#services;
      await writeStatuses(statuses, db, unitOfWork.statusChanges, clock.now());
      await recordFaults(db, unitOfWork.endings, clock.now());
      if (await alertOn(this.#services, db, unitOfWork.verdicts)) unitOfWork.hasTold = true;
      return { unit: unitOfWork, outcomes: taken };
    });
    this.#services.metrics.ingestBatch.observe(
      parsed.reduce((sum, { items }) => sum + items.length, 0),
    );
    for (const [index, { items }] of parsed.entries()) this.#count(items, outcomes[index] ?? []);
    if (unit.hasTold) this.#services.deliveries.wake();
    for (const { accountId, location } of unit.locationsWithNews) {
      this.#services.hub.notify(accountId, location);
    }
    this.#services.runs.ended(unit.endedRuns);
    return outcomes;
  }
}

function refusal(
  item: unknown,
  issue: { path: readonly PropertyKey[]; message: string } | undefined,
): ItemOutcome {
  const id =
    typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string'
      ? item.id
      : null;
  const reason = `${issue?.path.map(String).join('.') ?? 'item'}: ${issue?.message ?? 'is not valid'}`;
  return { id, outcome: 'refused', reason };
}
