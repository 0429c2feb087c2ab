/**
 * Runs, over all their attempts. A run goes through
 *
 *   waiting    for a place in its pool
 *   measuring  one attempt is being made
 *   between    the attempt failed and another follows after a delay; this state is on disk, so a
 *              restart goes on with it
 *   handed on  another location makes the next attempt; nothing more to do here
 *   done       its FINAL is in the outbox
 *
 * A run whose lease is lost while measuring ends without a result; one that a person cancels is
 * recorded as cancelled.
 */
import type { FinishedAttempt } from '../observability/tracing/run-spans.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import {
  assignedCheck,
  type AssignedCheck,
  type Job,
  type OpenRun,
  type ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { exchangeOf, type MissedReason } from '@monitor/shared/contract/check-result.ts';
import { scheduleOf } from '@monitor/shared/domain/frequency.ts';
import { decideRetry } from '@monitor/shared/domain/retry.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { TracedRequest } from '../net/http/traced-request.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import { poolOf } from '../runners/index.ts';
import type { EvidenceExtent } from '../net/network-evidence.ts';
import {
  makeAttempt,
  outcomeWithoutAttempt,
  type Attempt,
  type AttemptOutcome,
  type AttemptTools,
} from './attempt.ts';
import type { Outbox, OutboxEntry, PendingRetry } from './outbox.ts';
import { Pool } from './pool.ts';
import type { RunIds } from './run-ids.ts';
import type { Seal } from './seal.ts';

/** A slot that waited longer for a place in its pool would measure another moment. */
const longestQueueMs = 60_000;
/** Runs without a slot: an attempt in which the agent was suspended is made again this long. */
const repeatJobMs = 10 * 60_000;
/** A retry that a restart finds this long overdue is not worth making: its moment has passed. */
const staleRetryMs = 10 * 60_000;
/**
 * Attempts that are over, and of which evidence is gathered or files are written. When a whole network
 * fails there are more than anybody will look at: beyond the first number none waits for a traceroute
 * any more, and beyond the second the next ones come with their events alone.
 */
const mostTracing = 100;
const mostGathering = 300;

/** Reason of an abort that a person asked for. */
const cancelledByPerson = new Error('cancelled');

const run = z.object({
  check: assignedCheck,
  runId: z.uuid(),
  slotLocation: z.string(),
  runLocation: z.string(),
  scheduledFor: z.number().nullable(),
  jobId: z.uuid().nullable(),
  attempt: z.number(),
  sequenceStartedAt: z.number().nullable(),
  epoch: z.number(),
  source: z.string().nullable().default(null),
  environmentUrl: z.string().nullable().default(null),
});
type Run = z.output<typeof run>;

/** A run with an attempt that is over. Files of the attempt stand under `resultId`. */
type EndedRun = Run & { isCancelled?: boolean; resultId?: string };
function openRunOf(of: Run, startedAt: number): OpenRun {
  const { check, runId, slotLocation, scheduledFor, attempt } = of;
  return {
    ...{ runId, checkId: check.id, slotLocation, scheduledFor, attempt },
    startedAt: Math.round(startedAt),
  };
}

export interface ExecutorOptions extends AttemptTools {
  clock: Clock;
  outbox: Outbox;
  ids: RunIds;
  metrics: AgentMetrics;
  logger: Logger;
  lightConcurrency: number;
  heavyConcurrency: number;
  /** True while the control plane answers: only then can another location take over. */
  isLinkUp: () => boolean;
  /** Seals runs that wait on disk between two attempts. */
  seal: Seal;
  /** The files of this result may follow it. */
  onStored: (submission: ResultSubmission) => void;
  /** The reason why a slot is missed that was due so many milliseconds ago. */
  missedReason: (lateMs: number) => MissedReason;
  /** Told what became of each attempt, once its result is stored. */
  onAttempt?: (attempt: FinishedAttempt) => void;
}

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #tools: AttemptTools;
  readonly #pools: Record<'light' | 'heavy', Pool>;
  /** Of runs that wait for a place or are measuring. */
  readonly #cancellations = new Map<string, AbortController>();
  /** Of attempts that are over and gather evidence: ending that costs evidence, never the result. */
  readonly #gathering = new Map<
    AbortController,
    { enough: AbortController; stored: Promise<void> }
  >();
  readonly #between = new Map<string, { next: Run; stop: () => void }>();
  /** Of runs that wait for a place or are measuring: what there is to say about them. */
  readonly #inProgress = new Map<string, OpenRun>();
  readonly #activeJobs = new Set<string>();
  readonly #busy = new Set<Promise<void>>();
  #isDraining = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#tools = { ...options, onVoid: this.#onVoid, pace: this.#pace };
    const { lightConcurrency, heavyConcurrency, metrics } = options;
    this.#pools = { light: new Pool(lightConcurrency), heavy: new Pool(heavyConcurrency) };
    metrics.places.set({ pool: 'light' }, lightConcurrency);
    metrics.places.set({ pool: 'heavy' }, heavyConcurrency);
  }

  /** Attempts in progress or waiting for a place. */
  get running(): number {
    return this.#busy.size;
  }

  /** Who runs and who waits, by pool. */
  get pools(): Record<'light' | 'heavy', { running: number; queued: number; places: number }> {
    const { lightConcurrency, heavyConcurrency } = this.#options;
    const { light, heavy } = this.#pools;
    return {
      light: { running: light.running, queued: light.queued, places: lightConcurrency },
      heavy: { running: heavy.running, queued: heavy.queued, places: heavyConcurrency },
    };
  }

  /** Runs that have begun and not ended, those between two attempts among them. */
  *openRuns(): Generator<OpenRun, void> {
    yield* this.#inProgress.values();
    for (const { next } of this.#between.values()) {
      if (next.sequenceStartedAt !== null) yield openRunOf(next, next.sequenceStartedAt);
    }
  }

  /** Ids of the jobs whose lease this agent must keep. */
  get activeJobs(): string[] {
    return [...this.#activeJobs];
  }

  /** Starts the run of a slot. */
  startSlot(check: AssignedCheck, scheduledFor: number, location: string, epoch: number): void {
    this.#begin({
      check,
      runId: this.#options.ids.ofSlot({ checkId: check.id, location, scheduledFor }),
      slotLocation: location,
      runLocation: location,
      scheduledFor,
      jobId: null,
      attempt: 1,
      sequenceStartedAt: null,
      epoch,
      source: null,
      environmentUrl: null,
    });
  }

  /** Starts a job when its time has come. */
  startJob(job: Job, location: string, epoch: number): void {
    if (this.#activeJobs.has(job.id)) return;
    this.#activeJobs.add(job.id);
    const next: Run = {
      check: job.check,
      runId: job.runId,
      slotLocation: job.slotLocation,
      runLocation: location,
      scheduledFor: job.scheduledFor,
      jobId: job.id,
      attempt: job.attempt,
      sequenceStartedAt: job.sequenceStartedAt,
      epoch,
      source: job.source,
      environmentUrl: job.environmentUrl,
    };
    this.#wait(next, job.notBefore - this.#options.clock.now());
  }

  /** Records that a slot was not run. */
  miss(check: AssignedCheck, scheduledFor: number, location: string, reason: MissedReason): void {
    const runId = this.#options.ids.ofSlot({ checkId: check.id, location, scheduledFor });
    this.#options.metrics.missedSlots.inc({ reason });
    this.#track(
      this.#options.outbox.put({
        submission: {
          kind: 'missed',
          id: this.#options.ids.ofAttempt(runId, 0),
          runId,
          checkId: check.id,
          slotLocation: location,
          scheduledFor,
          reason,
        },
        finishedSlot: { checkId: check.id, scheduledFor },
      }),
    );
  }

  /** Goes on with the runs that waited between two attempts when the process ended. */
  resume(retries: readonly PendingRetry[]): void {
    const { clock, outbox, logger } = this.#options;
    for (const retry of retries) {
      const overdueMs = clock.now() - retry.dueAt;
      const parsed = this.#openRetry(retry);
      // One that is due in a far future was planned by a clock that has been set right since.
      if (parsed === null || Math.abs(overdueMs) > staleRetryMs) {
        // The control plane ends such a run with its last attempt.
        logger.warn({ runId: retry.runId, overdueMs }, 'waiting retry given up');
        outbox.dropRetry(retry.runId);
        continue;
      }
      if (parsed.jobId !== null) this.#activeJobs.add(parsed.jobId);
      this.#wait(parsed, -overdueMs);
    }
  }

  /** Null for one that another key sealed, or another version wrote. */
  #openRetry(retry: PendingRetry): Run | null {
    try {
      const text = this.#options.seal.open(Buffer.from(retry.payload, 'base64'));
      return run.safeParse(JSON.parse(text)).data ?? null;
    } catch {
      return null;
    }
  }

  #wait(next: Run, delayMs: number): void {
    if (delayMs <= 0) {
      this.#begin(next);
      return;
    }
    const stop = this.#options.clock.after(delayMs, () => {
      this.#between.delete(next.runId);
      this.#begin(next);
    });
    this.#between.set(next.runId, { next, stop });
  }

  #begin(next: Run): void {
    if (this.#isDraining) return;
    const entry = this.#options.runners[next.check.type];
    const pool = entry === undefined ? 'light' : poolOf(entry, next.check);
    const cancellation = new AbortController();
    this.#cancellations.set(next.runId, cancellation);
    const { clock, metrics } = this.#options;
    const startedAt = next.sequenceStartedAt ?? clock.now();
    this.#inProgress.set(next.runId, openRunOf(next, startedAt));
    const since = clock.monotonic();
    this.#track(
      this.#pools[pool].run((leave) => {
        metrics.queueWait.observe({ pool }, (clock.monotonic() - since) / 1000);
        return this.#attempt(next, cancellation, leave);
      }),
    );
  }

  #track(work: Promise<void>): void {
    this.#busy.add(work);
    void work
      .catch((error: unknown) => {
        this.#options.logger.error({ err: error }, 'run broke');
        this.#options.metrics.internalErrors.inc({ code: 'RUNNER_BROKEN' });
      })
      .finally(() => this.#busy.delete(work));
  }

  /** How much evidence an attempt may gather, with its place in the pool left to others. */
  #extentOf(leave: () => void): EvidenceExtent {
    leave();
    const { light, heavy } = this.#pools;
    const others = light.running + light.queued + heavy.running + heavy.queued;
    const gathering = this.#busy.size - others;
    if (gathering > mostGathering) return 'events';
    return gathering > mostTracing ? 'packets' : 'all';
  }

  async #attempt(current: Run, cancellation: AbortController, leave: () => void): Promise<void> {
    const { clock } = this.#options;
    let startedAt = clock.now();
    let begunAt = clock.monotonic();
    const { scheduledFor, attempt } = current;
    const { signal } = cancellation;
    if (signal.aborted) {
      this.#forget(current, cancellation);
      if (signal.reason === cancelledByPerson) await this.#concludeCancelled(current);
      return;
    }
    if (scheduledFor !== null && attempt === 1 && startedAt - scheduledFor > longestQueueMs) {
      this.#forget(current, cancellation);
      const reason = this.#options.missedReason(startedAt - scheduledFor);
      this.miss(current.check, scheduledFor, current.slotLocation, reason);
      return;
    }
    const enough = new AbortController();
    const { promise: stored, resolve: nowStored } = Promise.withResolvers<void>();
    // The gathering of evidence is time of ours, neither of the attempt nor of the wait for the next.
    let over: { at: number; tookMs: number } | null = null;
    const isOver = () => (over ??= { at: clock.now(), tookMs: clock.monotonic() - begunAt });
    const extentOf = (): EvidenceExtent => {
      isOver();
      this.#gathering.set(cancellation, { enough, stored });
      return this.#extentOf(leave);
    };
    try {
      const attempt = {
        ...this.#asAttempt(current, startedAt),
        // What was void before does not belong to the run.
        onRepeat: () => {
          startedAt = clock.now();
          begunAt = clock.monotonic();
        },
      };
      const ended = { ...current, resultId: attempt.run.resultId };
      const outcome = await makeAttempt(attempt, this.#tools, signal, extentOf, enough.signal);
      this.#forget(current, cancellation);
      if (signal.aborted) {
        if (signal.reason === cancelledByPerson) {
          await this.#conclude({ ...ended, isCancelled: true }, outcome, startedAt);
        }
        return;
      }
      const { at, tookMs } = isOver();
      this.#count(current, outcome, tookMs);
      await this.#conclude(ended, outcome, current.sequenceStartedAt ?? startedAt, at);
    } finally {
      this.#forget(current, cancellation);
      this.#gathering.delete(cancellation);
      nowStored();
    }
  }

  readonly #onVoid: NonNullable<AttemptTools['onVoid']> = (run, { cause, time, isRepeated }) => {
    const { metrics, logger } = this.#options;
    metrics.voidAttempts.inc({ cause });
    logger.warn(
      {
        ...{ checkId: run.checkId, runId: run.runId, attempt: run.attempt, cause, isRepeated },
        ...{ suspendedMs: Math.round(time.suspendedMs), waitedMs: Math.round(time.waitedMs) },
      },
      'attempt is void, the agent did not have its time',
    );
  };

  readonly #pace: NonNullable<AttemptTools['pace']> = (check) => {
    const entry = this.#options.runners[check.type];
    const pool = entry === undefined ? 'light' : poolOf(entry, check);
    return { isStopping: this.#isDraining, isCrowded: this.#pools[pool].queued > 0 };
  };

  #count(current: Run, outcome: AttemptOutcome, tookMs: number): void {
    const { metrics, logger, runners } = this.#options;
    const state = outcome.hasErrors ? 'error' : outcome.hasFailures ? 'failed' : 'passed';
    // A type this agent does not know is whatever the control plane says it is.
    const check_type = Object.hasOwn(runners, current.check.type) ? current.check.type : 'unknown';
    metrics.runs.inc({ check_type, outcome: state });
    metrics.runDuration.observe({ check_type }, tookMs / 1000);
    if (outcome.underLoad) metrics.underLoad.inc();
    if (outcome.faultCode !== null) metrics.internalErrors.inc({ code: outcome.faultCode });
    const evidence = exchangeOf(outcome)?.networkDiagnostics ?? null;
    if (evidence !== null) {
      metrics.captures.inc({ kind: evidence.capture.kind });
      metrics.traceroutes.inc({ outcome: evidence.traceroute === null ? 'missing' : 'made' });
    }
    const { check, runId, attempt } = current;
    const facts = {
      ...{ checkId: check.id, runId, attempt, type: check.type, outcome: state },
      ...{ tookMs: Math.round(tookMs), responseTime: outcome.responseTime },
    };
    if (outcome.hasErrors) {
      logger.warn(
        { ...facts, code: outcome.faultCode, reason: outcome.reason },
        'run ended in an error of ours',
      );
    } else logger.debug({ ...facts, reason: outcome.reason }, 'attempt made');
  }

  #forget({ runId }: Run, cancellation: AbortController): void {
    if (this.#cancellations.get(runId) !== cancellation) return;
    this.#cancellations.delete(runId);
    this.#inProgress.delete(runId);
  }

  /** The end of a run that was called off before its next attempt began. */
  async #concludeCancelled(current: Run): Promise<void> {
    const now = this.#options.clock.now();
    const outcome = outcomeWithoutAttempt(now);
    await this.#conclude({ ...current, isCancelled: true }, outcome, now);
  }

  #asAttempt(
    { check, runId, runLocation, attempt, scheduledFor, source, ...run }: Run,
    startedAt: number,
  ): Attempt {
    const { intervalMs } = scheduleOf({ ...check, checkId: check.id });
    return {
      check,
      latestStart:
        scheduledFor === null
          ? startedAt + repeatJobMs
          : (attempt === 1 ? scheduledFor : startedAt) + Math.min(intervalMs, longestQueueMs),
      environmentUrl: run.environmentUrl,
      run: {
        accountId: check.accountId,
        checkId: check.id,
        checkName: check.name,
        checkType: check.type,
        runId,
        resultId: this.#options.ids.ofAttempt(runId, attempt),
        location: runLocation,
        attempt,
        scheduledFor,
        source,
      },
    };
  }

  /** Decides whether another attempt follows, and stores this one together with that decision. */
  async #conclude(
    current: EndedRun,
    outcome: AttemptOutcome,
    sequenceStartedAt: number,
    overAt: number = this.#options.clock.now(),
  ): Promise<void> {
    const { clock, outbox, isLinkUp } = this.#options;
    const { check } = current;
    const decision = decideRetry({
      strategy: check.retryStrategy,
      attempt: current.attempt,
      hasFailures: outcome.hasFailures && !current.isCancelled,
      isNetworkError: outcome.isNetworkError,
      elapsedMs: overAt - sequenceStartedAt,
      canGoElsewhere: check.locations.length > 1 && !check.runParallel && isLinkUp(),
    });
    const isRetryHere = decision.kind === 'retry' && decision.where === 'here';
    const isHandedOn = decision.kind === 'retry' && decision.where === 'elsewhere';
    const notBefore = overAt + (decision.kind === 'retry' ? decision.delayMs : 0);
    const { isCancelled: _cancelled, resultId: _result, ...run } = current;
    const next: Run = { ...run, attempt: current.attempt + 1, sequenceStartedAt };
    const submission = this.#submission(
      current,
      outcome,
      decision.kind === 'final' ? 'FINAL' : 'ATTEMPT',
      isHandedOn ? { notBefore, sequenceStartedAt } : null,
    );
    const entry: OutboxEntry = {
      submission,
      ...(current.attempt > 1 && !isRetryHere ? { endsRetryOf: current.runId } : {}),
      ...(current.scheduledFor !== null && current.jobId === null
        ? { finishedSlot: { checkId: check.id, scheduledFor: current.scheduledFor } }
        : {}),
      ...(isRetryHere
        ? {
            pendingRetry: {
              runId: current.runId,
              dueAt: notBefore,
              // The check in it has its variables, secrets among them.
              payload: this.#options.seal.seal(JSON.stringify(next)).toString('base64'),
            },
          }
        : {}),
    };
    if (decision.kind === 'retry') this.#options.metrics.retries.inc({ where: decision.where });
    await outbox.put(entry);
    this.#options.onStored(submission);
    if (isRetryHere) this.#wait(next, notBefore - clock.now());
    else if (current.jobId !== null) this.#activeJobs.delete(current.jobId);
    const { requests, reason, faultCode } = outcome;
    this.#options.onAttempt?.({ submission, requests, reason, faultCode, sequenceStartedAt });
  }

  #submission(
    current: EndedRun,
    outcome: AttemptOutcome,
    resultType: ResultSubmission['resultType'],
    retryElsewhere: ResultSubmission['retryElsewhere'],
  ): ResultSubmission {
    const {
      isNetworkError: _network,
      reason: _reason,
      faultCode,
      requests: _requests,
      ...fields
    } = outcome;
    return {
      kind: 'result',
      id: current.resultId ?? this.#options.ids.ofAttempt(current.runId, current.attempt),
      runId: current.runId,
      checkId: current.check.id,
      checkRevision: current.check.revision,
      checkType: current.check.type,
      name: current.check.name,
      slotLocation: current.slotLocation,
      runLocation: current.runLocation,
      scheduledFor: current.scheduledFor,
      jobId: current.jobId,
      attempt: current.attempt,
      resultType,
      retryElsewhere,
      epoch: current.epoch,
      ...fields,
      ...(faultCode === null || current.isCancelled === true ? {} : { faultCode }),
      // Nothing is claimed about a run that was ended half way.
      ...(current.isCancelled === true
        ? {
            isCancelled: true,
            hasFailures: false,
            hasErrors: false,
            isDegraded: false,
            overMaxResponseTime: false,
            errorMessages: [],
          }
        : { isCancelled: false }),
    };
  }

  /** Ends a run without a result: somebody else has it. */
  #giveUp(runId: string): void {
    this.#between.get(runId)?.stop();
    this.#between.delete(runId);
    this.#cancellations.get(runId)?.abort();
    this.#options.outbox.dropRetry(runId);
  }

  /** A person ends a run: it is recorded as cancelled, measuring or not. */
  cancel(runId: string): void {
    const waiting = this.#between.get(runId);
    if (waiting !== undefined) {
      waiting.stop();
      this.#between.delete(runId);
      this.#track(this.#concludeCancelled(waiting.next));
    }
    this.#cancellations.get(runId)?.abort(cancelledByPerson);
  }

  /** The lease of these jobs is lost: somebody else has them now. */
  loseJobs(jobIds: readonly string[], runIdOf: (jobId: string) => string | undefined): void {
    for (const jobId of jobIds) {
      this.#activeJobs.delete(jobId);
      const runId = runIdOf(jobId);
      if (runId !== undefined) this.#giveUp(runId);
    }
  }

  /** Starts nothing more; runs between two attempts stay on disk. Resolves when nothing is measuring. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const { stop } of this.#between.values()) stop();
    this.#between.clear();
    while (this.#busy.size > 0) await Promise.allSettled(this.#busy);
  }

  /** Ends everything that is measuring. Resolves when what was measured before is stored. */
  async abort(): Promise<void> {
    this.#isDraining = true;
    for (const controller of this.#cancellations.values()) {
      if (!this.#gathering.has(controller)) controller.abort();
    }
    const gathering = [...this.#gathering.values()];
    for (const { enough } of gathering) enough.abort();
    await Promise.all(gathering.map(({ stored }) => stored));
  }

  /** Brings the gauges up to date. */
  observe(): void {
    const { metrics } = this.#options;
    for (const name of ['light', 'heavy'] as const) {
      metrics.running.set({ pool: name }, this.#pools[name].running);
      metrics.queued.set({ pool: name }, this.#pools[name].queued);
    }
  }
}
