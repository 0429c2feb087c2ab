/**
 * Decides in memory what becomes of the submissions of a commit. Nothing is written before all of them
 * are decided, so that each table is written once.
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  ItemOutcome,
  MissedSubmission,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { keyedResultIdOfAttempt, type KeyedSha256Hex } from '@monitor/shared/domain/run-id.ts';
import { sha256Hex } from '../core/keys.ts';
import { encodePayload, fromFlag, type EncodedPayload } from '../db/columns.ts';
import { type Gap, stepsBackOver } from '../reception/index.ts';
import type { FinishedJob, NewJob, RetryLocations } from '../scheduling/index.ts';
import { whyRefused, withoutFuture } from './decide/admission.ts';
import { encryptedPayload, hasContent, withoutContent } from './decide/encrypted-payload.ts';
import { decideResult } from './decide/ingest.ts';
import { slotKey, slotOf, type IngestFacts, type RunItem, type RunRow } from './ingest-facts.ts';
import { runDayOf } from '../db/run-days.ts';
import type { NewResult } from './result-rows.ts';

export interface PlannedRun {
  /** Null for a new run, until it is inserted. */
  id: number | null;
  row: Omit<RunRow, 'id'>;
  /** By number of the attempt: an attempt has one result, whatever its id is derived from. */
  attempts: Map<number, PlannedResult>;
  /** Number of the FINAL of another agent that made an attempt again: an attempt of the first agent may have it too. */
  repeated: number | null;
  /** What made the run; null for a known one. */
  item: RunItem | null;
  /** Results that arrived after its FINAL. */
  late: number;
  isChanged: boolean;
}

export interface PlannedResult {
  run: PlannedRun;
  id: string;
  resultType: NewResult['result_type'];
  /** Null for a new result. */
  seq: number | null;
  isPromoted: boolean;
  verdict: string;
}

/** What tells attempts apart that are alike to people. */
const verdictOf = (hasFailures: boolean, hasErrors: boolean): string =>
  `${hasFailures} ${hasErrors}`;

/** Agents hand in no such attempts: the id of the first agent's own next attempt stays free. */
const repeatedFrom = 1_000;

/** The id of an attempt that another agent has made again, under the next number. */
const repeatedIdOf = (runId: string, attempt: number): string =>
  keyedResultIdOfAttempt(runId, repeatedFrom + attempt, sha256Hex);

/** A result to be stored. */
export interface NewPlannedResult extends PlannedResult {
  accountId: string;
  item: ResultSubmission;
  payload: EncodedPayload | null;
}

/** A FINAL result that ended its run. */
interface Closing {
  accountId: string;
  run: PlannedRun;
  item: ResultSubmission;
}

export interface PlanOptions {
  now: number;
  /** Retention of results. */
  keptMs: number;
  retries: RetryLocations;
  stepsBack: readonly Gap[];
}

export class IngestPlan {
  readonly #facts: IngestFacts;
  readonly #options: PlanOptions;
  readonly #byId = new Map<string, PlannedRun>();
  readonly #bySlot = new Map<string, PlannedRun>();
  readonly newRuns: PlannedRun[] = [];
  readonly newResults: NewPlannedResult[] = [];
  readonly promoted: PlannedResult[] = [];
  readonly closings: Closing[] = [];
  readonly jobs: NewJob[] = [];
  readonly finishedJobs: FinishedJob[] = [];

  constructor(facts: IngestFacts, options: PlanOptions) {
    this.#facts = facts;
    this.#options = options;
    for (const { id, ...row } of facts.runs.values()) {
      const run: PlannedRun = {
        ...{ id, row: { ...row }, attempts: new Map(), repeated: null },
        ...{ item: null, late: 0, isChanged: false },
      };
      for (const result of facts.results.get(id) ?? []) {
        const { seq, attempt, result_type: resultType } = result;
        const verdict = verdictOf(fromFlag(result.has_failures), fromFlag(result.has_errors));
        if (resultType === 'FINAL' && result.id === repeatedIdOf(row.run_id, attempt)) {
          run.repeated = attempt;
          continue;
        }
        run.attempts.set(attempt, {
          ...{ run, id: result.id, resultType, seq, isPromoted: false, verdict },
        });
      }
      this.#add(run);
    }
  }

  /** Known runs with a new state or more late results. */
  get changedRuns(): PlannedRun[] {
    return [...new Set(this.#byId.values())].filter(
      ({ item, isChanged }) => item === null && isChanged,
    );
  }

  #add(run: PlannedRun): void {
    const { run_id: runId, check_id: checkId, location, scheduled_for: scheduledFor } = run.row;
    this.#byId.set(runId, run);
    const slot = slotKey({ checkId, location, scheduledFor });
    if (slot !== null) this.#bySlot.set(slot, run);
  }

  /** Decides one submission; `keyedSha256Hex` is of the location of its key. */
  take(item: RunItem, keyedSha256Hex: KeyedSha256Hex, payload: EncodedPayload | null): ItemOutcome {
    const { accountId, location, data } = item;
    const { now, keptMs, stepsBack } = this.#options;
    const run = this.#byId.get(data.runId);
    const reason = whyRefused(data, {
      ...{ now, keptMs, accountId, location, keyedSha256Hex, sha256Hex },
      check: this.#facts.check(data.checkId),
      run: run && { accountId: run.row.account_id, checkId: run.row.check_id },
      lease: this.#facts.leaseOf(item),
    });
    if (reason !== null) return { id: data.id, outcome: 'refused', reason };
    const slot = slotKey(slotOf(data));
    const known = run ?? (slot === null ? undefined : this.#bySlot.get(slot));
    if (data.kind === 'missed') return this.#takeMissed(item, data, known);
    if (this.#facts.released.has(data.id)) return { id: data.id, outcome: 'duplicate' };
    const steps = stepsBackOver(data.scheduledFor ?? 0, stepsBack);
    const isPlain =
      this.#facts.isEncrypted(item) && data.encryptedResult == null && hasContent(data);
    if (!isPlain) return this.#takeResult(item, withoutFuture(data, now, steps), payload, known);
    // Its agent did not know the keys when the run began: the verdict counts, the content is not stored.
    const dropped = withoutContent(data);
    const metrics = encodePayload(encryptedPayload(data.checkType, dropped.encryptedResult));
    return this.#takeResult(item, withoutFuture(dropped, now, steps), metrics, known);
  }

  #takeMissed(item: RunItem, data: MissedSubmission, known: PlannedRun | undefined): ItemOutcome {
    if (known !== undefined) return { id: data.id, outcome: 'duplicate' };
    this.#newRun(item, 'MISSED', data.reason, null);
    return { id: data.id, outcome: 'accepted' };
  }

  #newRun(
    item: RunItem,
    state: RunRow['state'],
    missedReason: string | null,
    resultId: string | null,
  ): PlannedRun {
    const { checkId, location, scheduledFor } = slotOf(item.data);
    const identity = { run_id: item.data.runId, scheduled_for: scheduledFor };
    const run: PlannedRun = {
      id: null,
      row: {
        account_id: item.accountId,
        check_id: checkId,
        ...identity,
        run_day: runDayOf(identity),
        location,
        state,
        missed_reason: missedReason,
        result_id: resultId,
      },
      ...{ attempts: new Map(), repeated: null, item, late: 0, isChanged: false },
    };
    this.newRuns.push(run);
    this.#add(run);
    return run;
  }

  #takeResult(
    from: RunItem,
    item: ResultSubmission,
    payload: EncodedPayload | null,
    known: PlannedRun | undefined,
  ): ItemOutcome {
    const { accountId } = from;
    const stored = known?.attempts.get(item.attempt);
    const isLast = this.#rescheduleRetry(accountId, item, known, stored) === 'too-late';
    const resultType = isLast ? 'FINAL' : item.resultType;
    const final =
      known?.row.state === 'FINAL' && item.resultType === 'ATTEMPT'
        ? [...known.attempts].find(([, result]) => result.resultType === 'FINAL')
        : undefined;
    const decision = decideResult(
      known && { state: known.row.state, finalAttempt: known.repeated ?? final?.[0] ?? null },
      stored,
      { resultType, attempt: item.attempt },
    );
    switch (decision.kind) {
      case 'duplicate':
        if (stored !== undefined) this.#requireOneMeasurement(stored, item);
        // Another agent had the job before, and its result came first.
        this.#finishJob(from, item);
        return { id: item.id, outcome: 'duplicate' };
      case 'late':
        if (known !== undefined) {
          known.late += 1;
          known.isChanged = true;
          this.#store(accountId, known, item, payload, 'LATE');
        }
        this.#finishJob(from, item);
        return { id: item.id, outcome: 'late' };
      case 'promote':
        if (
          known !== undefined &&
          stored?.verdict !== verdictOf(item.hasFailures, item.hasErrors)
        ) {
          // Another agent has made the attempt again, and seen something else: that came after it.
          const attempt = Math.max(...known.attempts.keys()) + 1;
          const next = { ...item, id: repeatedIdOf(known.row.run_id, attempt), attempt };
          known.repeated = attempt;
          this.#store(accountId, known, next, payload, 'FINAL');
          this.#close(accountId, next, known);
        } else if (known !== undefined && stored !== undefined) {
          stored.resultType = 'FINAL';
          if (stored.seq !== null) {
            stored.isPromoted = true;
            this.promoted.push(stored);
          }
          this.#close(accountId, { ...item, id: stored.id }, known);
        }
        return { id: item.id, outcome: 'accepted' };
      case 'store': {
        const isOpen = resultType === 'ATTEMPT';
        const run =
          known ?? this.#newRun(from, isOpen ? 'RUNNING' : 'FINAL', null, isOpen ? null : item.id);
        this.#store(accountId, run, item, payload, resultType);
        if (!isOpen) this.#close(accountId, item, run);
        else if (run.row.state === 'MISSED') this.#setState(run, 'RUNNING', null);
        this.#finishJob(from, item);
        return { id: item.id, outcome: 'accepted' };
      }
    }
  }

  /** Two runs of a slot that came again are committed one after the other: the first one gives way. */
  #requireOneMeasurement(stored: PlannedResult, item: ResultSubmission): void {
    const other = this.newResults.find((result) => result === stored);
    if (other === undefined || isDeepStrictEqual(other.item, item)) return;
    const { stepsBack } = this.#options;
    if (stepsBackOver(item.scheduledFor ?? 0, stepsBack).length === 0) return;
    throw new Error('a slot that came again was run twice');
  }

  /** Plans the next attempt in another location, where the item asks for it. */
  #rescheduleRetry(
    accountId: string,
    item: ResultSubmission,
    known: PlannedRun | undefined,
    stored: PlannedResult | undefined,
  ): 'too-late' | null {
    if (item.resultType !== 'ATTEMPT' || known?.row.state === 'FINAL') return null;
    if (stored !== undefined) return null;
    const job = this.#options.retries.jobFor(accountId, {
      ...item,
      runId: known?.row.run_id ?? item.runId,
    });
    if (job === 'too-late') return job;
    if (job !== null) this.jobs.push(job);
    return null;
  }

  #store(
    accountId: string,
    run: PlannedRun,
    item: ResultSubmission,
    payload: EncodedPayload | null,
    resultType: NewResult['result_type'],
  ): void {
    const result: NewPlannedResult = {
      ...{ run, id: item.id, resultType, seq: null, isPromoted: false },
      verdict: verdictOf(item.hasFailures, item.hasErrors),
      ...{ accountId, item, payload },
    };
    if (run.repeated !== item.attempt || resultType !== 'FINAL') {
      run.attempts.set(item.attempt, result);
    }
    this.newResults.push(result);
  }

  #setState(run: PlannedRun, state: 'RUNNING' | 'FINAL', resultId: string | null): void {
    Object.assign(run.row, { state, missed_reason: null, result_id: resultId });
    run.isChanged = true;
  }

  #close(accountId: string, item: ResultSubmission, run: PlannedRun): void {
    if (run.row.state !== 'FINAL') this.#setState(run, 'FINAL', item.id);
    this.closings.push({ accountId, run, item });
  }

  #finishJob({ accountId, agentId }: RunItem, item: ResultSubmission): void {
    if (item.jobId === null) return;
    if (item.resultType === 'ATTEMPT' && item.retryElsewhere === null) return;
    const { jobId, runLocation: location } = item;
    this.finishedJobs.push({ accountId, location, jobId, agentId });
  }
}
