/**
 * Makes runs over all their attempts: it takes them from the queue, makes an attempt, and stores
 * its result together with the next step. After an attempt a run
 *
 *   waits        here, for its next attempt; this state is on disk, so a restart goes on with it
 *   is gone      to another location, which makes the next attempt
 *   is done      its FINAL is in the outbox
 *
 * A run whose lease is lost while it is measured ends without a result; one that a person cancels is
 * recorded as cancelled.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type {
  AssignedCheck,
  Job,
  OpenRun,
  ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { encryptedText } from '@monitor/shared/contract/encrypted-result.ts';
import { exchangeOf, type MissedReason } from '@monitor/shared/contract/check-result.ts';
import { scheduleOf } from '@monitor/shared/domain/frequency.ts';
import type { Logger } from 'pino';
import type { AgentMetrics } from '../observability/metrics.ts';
import type { FinishedAttempt } from '../observability/tracing/run-spans.ts';
import { poolOf } from '../runners/index.ts';
import {
  makeAttempt,
  outcomeWithoutAttempt,
  outcomeWithoutDefinition,
  type Attempt,
  type AttemptOutcome,
  type AttemptTools,
} from './attempt.ts';
import type { Cipher } from './cipher.ts';
import { concludeAttempt, type EndedAttempt } from './conclude-attempt.ts';
import { EvidenceBudget, type AttemptEvidence } from './evidence-budget.ts';
import type { ResultEncryption, ResultEncrypter } from '../encryption/result-encryption.ts';
import type { SignedWork } from '../signed-work/signed-work.ts';
import type { LeaseBook } from './lease-book.ts';
import type { LiveLogs } from './live-logs.ts';
import type { Overload } from './overload.ts';
import type { Outbox, OutboxEntry, PendingRetry } from './outbox.ts';
import type { RunIds } from './run-ids.ts';
import { RunQueue, type PoolName, type PoolState, type Turn } from './run-queue.ts';
import {
  run,
  runOfJob,
  runOfSlot,
  encryptedRun,
  encryptRun,
  keyOfRun,
  type Run,
  type SlotRun,
} from './run.ts';
import type { SharedRuns } from './shards/shared-runs.ts';

/** States of the agent as a whole: all checks have them. */
const ofAgent = new Set(['AGENT_OVERLOADED', 'AGENT_SUSPENDED']);
/** The agent error of a check, or of the agent, is logged once in this time. */
const sameErrorMs = 60_000;
/** A slot that waits longer for a permit than both is late. */
const lateBeginMs = 5_000;
const lateShare = 0.1;
/** A slot that waited longer for a permit would measure another moment. */
const maxQueueMs = 60_000;
/** Runs without a slot: an attempt in which the agent was suspended is made again this long. */
const repeatJobMs = 10 * 60_000;
/** A retry that a restart finds this long overdue is not worth making: its moment has passed. */
const staleRetryMs = 10 * 60_000;

export interface ExecutorOptions extends AttemptTools {
  clock: Clock;
  outbox: Outbox;
  ids: RunIds;
  leases: LeaseBook;
  metrics: AgentMetrics;
  logger: Logger;
  lightConcurrency: number;
  heavyConcurrency: number;
  /** True while the control plane answers: only then can another location take over. */
  isLinkUp: () => boolean;
  /** Encrypts runs that wait on disk for their next attempt. */
  cipher: Cipher;
  /** Encrypts what results contain. */
  encryption: Pick<ResultEncryption, 'encrypterFor'>;
  /** Lets only signed work through; null takes all. */
  signedWork?: Pick<SignedWork, 'admit'> | null;
  /** The files of this result may follow it. */
  onStored: (submission: ResultSubmission) => void;
  /** The reason why a slot is missed that was due so many milliseconds ago. */
  missedReason: (lateMs: number) => MissedReason;
  /** Learns how runs fare. */
  overload: Pick<Overload, 'began' | 'gaveUp'>;
  /** Shares runs with other agents; absent where all are made alone. */
  sharedRuns?: Pick<SharedRuns, 'make' | 'handInFor' | 'giveBack'>;
  /** Takes what watched runs print. */
  liveLogs?: Pick<LiveLogs, 'add' | 'finish'>;
  /** Called with each attempt once its result is stored. */
  onAttempt?: (attempt: FinishedAttempt) => void;
}

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #tools: AttemptTools;
  readonly #queue: RunQueue;
  #unopened: { retry: PendingRetry; slot: SlotRun }[] = [];
  readonly #evidence = new EvidenceBudget();
  /** By state, on the monotonic clock. */
  readonly #errorsLoggedAt = new Map<string, number>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { clock, lightConcurrency: light, heavyConcurrency: heavy, metrics, logger } = options;
    this.#tools = { ...options, onVoid: this.#onVoid, pace: this.#pace };
    this.#queue = new RunQueue({
      ...{ clock, permits: { light, heavy }, poolOf: ({ check }) => this.#poolOf(check) },
      attempt: (current, turn) => this.#attempt(current, turn),
      onPermit: (current, pool, queuedMs) => {
        metrics.queueWait.observe({ pool }, queuedMs / 1000);
        this.#noteBegin(current, queuedMs);
      },
      onBroken: (error) => {
        logger.error({ err: error }, 'run broke');
        metrics.internalErrors.inc({ code: 'RUNNER_BROKEN' });
      },
    });
    metrics.permits.set({ pool: 'light' }, light);
    metrics.permits.set({ pool: 'heavy' }, heavy);
  }

  /** Attempts in progress or queued for a permit. */
  get running(): number {
    return this.#queue.size;
  }

  get pools(): Record<PoolName, PoolState> {
    return { light: this.#queue.pool('light'), heavy: this.#queue.pool('heavy') };
  }

  /** Runs that have begun and not ended, those that wait for a retry among them. */
  openRuns(): Iterable<OpenRun> {
    return this.#queue.openRuns();
  }

  /** Starts the run of a slot. */
  startSlot(check: AssignedCheck, scheduledFor: number, location: string, epoch: number): void {
    const runId = this.#options.ids.ofSlot({ checkId: check.id, location, scheduledFor });
    this.#queue.add(runOfSlot(check, { runId, scheduledFor, location, epoch }));
  }

  /** Starts a job when its time has come. */
  startJob(job: Job, location: string, epoch: number): void {
    const { leases, clock, sharedRuns } = this.#options;
    const current = runOfJob(job, location, epoch);
    if (!leases.hold(job.id, keyOfRun(current))) return;
    // One that waited here for its turn would keep the others waiting, as these may keep it.
    if (job.shard !== undefined && this.roomForShards === 0) sharedRuns?.giveBack(job.id);
    else this.#queue.add(current, job.notBefore - clock.now());
  }

  /** How many shards of other agents' runs would begin at once. */
  get roomForShards(): number {
    if (this.#queue.isClosed || this.#options.sharedRuns === undefined) return 0;
    const { permits, running, queued } = this.#queue.pool('heavy');
    return Math.max(0, permits - running - queued);
  }

  /** What a person starts, and what is made again, may wait. */
  #noteBegin({ check, scheduledFor, attempt, shard }: Run, queuedMs: number): void {
    if (scheduledFor === null || attempt > 1 || shard !== undefined) return;
    const { intervalMs } = scheduleOf({ ...check, checkId: check.id });
    this.#options.overload.began(queuedMs > Math.max(lateBeginMs, intervalMs * lateShare));
  }

  /** Records that a slot was not run, which was due so many milliseconds ago. */
  miss(check: AssignedCheck, scheduledFor: number, location: string, lateMs: number): void {
    const { ids, metrics, outbox, missedReason } = this.#options;
    const reason = missedReason(lateMs);
    const runId = ids.ofSlot({ checkId: check.id, location, scheduledFor });
    metrics.missedSlots.inc({ reason });
    const stored = outbox.put({
      submission: {
        ...{ kind: 'missed', id: ids.ofAttempt(runId, 0), runId, checkId: check.id },
        ...{ slotLocation: location, scheduledFor, reason },
      },
      finishedSlot: { checkId: check.id, scheduledFor },
    });
    this.#queue.track(stored);
  }

  /**
   * Goes on with the runs that waited for their next attempt when the process ended. With another key
   * the checks of these runs cannot be read: they come with the first assignment.
   */
  resume(retries: readonly PendingRetry[]): void {
    for (const retry of retries) {
      const { sealed, slot } = encryptedRun(retry.payload);
      const opened = this.#openRetry(sealed);
      if (opened === null && slot !== null) this.#unopened.push({ retry, slot });
      else this.#goOn(retry, opened);
    }
  }

  /** Goes on with what waits for its check. */
  assigned(checks: readonly AssignedCheck[], location: string): void {
    for (const { retry, slot } of this.#unopened.splice(0)) {
      const check = checks.find(({ id }) => id === slot.checkId);
      const isHere = check !== undefined && slot.slotLocation === location;
      const { attempt, sequenceStartedAt } = slot;
      const first = isHere ? runOfSlot(check, { ...slot, location }) : null;
      this.#goOn(retry, first && { ...first, attempt, sequenceStartedAt });
    }
  }

  #goOn({ runId, dueAt }: PendingRetry, opened: Run | null): void {
    const { clock, outbox, leases, logger } = this.#options;
    const overdueMs = clock.now() - dueAt;
    // One that is due in a far future was planned by a clock that has been set right since.
    if (opened === null || Math.abs(overdueMs) > staleRetryMs) {
      // The control plane ends such a run with its last attempt.
      logger.warn({ runId, overdueMs }, 'waiting retry given up');
      outbox.dropRetry(runId);
      return;
    }
    if (opened.jobId !== null) leases.hold(opened.jobId, runId);
    this.#queue.add(opened, -overdueMs);
  }

  /** Null for one that was encrypted with another key, or written by another version. */
  #openRetry(sealed: string): Run | null {
    try {
      const text = this.#options.cipher.decrypt(Buffer.from(sealed, 'base64'));
      return run.safeParse(JSON.parse(text)).data ?? null;
    } catch {
      return null;
    }
  }

  #poolOf(check: AssignedCheck): PoolName {
    const { runners } = this.#options;
    // A type may be called as a member that every object has.
    const entry = Object.hasOwn(runners, check.type) ? runners[check.type] : undefined;
    return entry === undefined ? 'light' : poolOf(entry, check);
  }

  async #attempt(current: Run, turn: Turn): Promise<void> {
    const { clock, liveLogs, sharedRuns } = this.#options;
    const { signal } = turn;
    // A shard is of a slot that its coordinator keeps.
    const scheduledFor = current.shard === undefined ? current.scheduledFor : null;
    let startedAt = clock.now();
    let begunAt = clock.monotonic();
    if (signal.aborted) {
      turn.end();
      if (!turn.isCancelled()) return;
      if (current.shard === undefined) await this.#recordCancelled(current);
      else if (current.jobId !== null) sharedRuns?.giveBack(current.jobId);
      return;
    }
    if (scheduledFor !== null && current.attempt === 1 && startedAt - scheduledFor > maxQueueMs) {
      turn.end();
      this.miss(current.check, scheduledFor, current.slotLocation, startedAt - scheduledFor);
      return;
    }
    let attemptEnded: { at: number; tookMs: number } | null = null;
    const attemptEndedAt = () =>
      (attemptEnded ??= { at: clock.now(), tookMs: clock.monotonic() - begunAt });
    using evidence = this.#evidence.open();
    const begin = () => {
      attemptEndedAt();
      turn.measured();
      return evidence.begin();
    };
    try {
      const made = this.#asAttempt(current, startedAt);
      const encrypter = await this.#encrypterOf(made);
      const attempt = {
        ...made,
        encrypter,
        // What was void before does not belong to the run.
        onRepeat: () => {
          startedAt = clock.now();
          begunAt = clock.monotonic();
        },
        // What a run prints is content: nobody watches it where results are encrypted.
        ...(current.streamsLogs === true && liveLogs !== undefined && encrypter === null
          ? { onPrinted: (line: string) => liveLogs.add(current.runId, line, current.attempt) }
          : {}),
      };
      const { deadline } = evidence;
      const admitted = await this.#admit(current, startedAt);
      const measured =
        'refusal' in admitted
          ? admitted.refusal
          : await this.#measure(current, { ...attempt, ...admitted }, signal, {
              ...{ begin, deadline },
            });
      if (current.shard !== undefined) {
        await sharedRuns?.handInFor(current, attempt, measured, turn);
        return;
      }
      turn.end();
      // What was printed comes before the result.
      if (current.streamsLogs === true) await liveLogs?.finish(current.runId);
      const isCancelled = turn.isCancelled();
      if (signal.aborted && !isCancelled) return;
      const { at, tookMs } = attemptEndedAt();
      // The clock may have been set back meanwhile.
      const outcome =
        measured.startedAt > at
          ? { ...measured, startedAt: Math.round(at - tookMs), stoppedAt: at }
          : measured;
      if (!isCancelled) this.#count(current, outcome, tookMs, encrypter !== null);
      const ended = {
        ...{ run: current, outcome, resultId: attempt.run.resultId, isCancelled, endedAt: at },
        sequenceStartedAt: current.sequenceStartedAt ?? startedAt,
      };
      await this.#conclude(ended, encrypter);
    } finally {
      turn.end();
    }
  }

  /** Alone, or with the other agents of the location. */
  async #measure(
    current: Run,
    attempt: Attempt,
    signal: AbortSignal,
    evidence: Pick<AttemptEvidence, 'begin' | 'deadline'>,
  ): Promise<AttemptOutcome> {
    const shared = await this.#options.sharedRuns?.make(current, attempt, this.#tools, signal);
    if (shared !== undefined && 'startedAt' in shared) return shared;
    const own = shared === undefined ? attempt : { ...attempt, part: shared };
    return makeAttempt(own, this.#tools, signal, evidence);
  }

  /** The check as it may run, or the outcome of one that may not. */
  async #admit(
    { check, runLocation: location, environmentUrl, source }: Run,
    startedAt: number,
  ): Promise<{ check: AssignedCheck } | { refusal: AttemptOutcome }> {
    const { signedWork = null, clock } = this.#options;
    if (signedWork === null) return { check };
    try {
      return { check: await signedWork.admit({ check, location, environmentUrl, source }) };
    } catch (error) {
      return { refusal: outcomeWithoutDefinition(error, check, startedAt, clock.now()) };
    }
  }

  readonly #onVoid: NonNullable<AttemptTools['onVoid']> = (run, { cause, time, isRepeated }) => {
    const { metrics, logger } = this.#options;
    metrics.voidAttempts.inc({ cause });
    logger.debug(
      {
        ...{ checkId: run.checkId, runId: run.runId, attempt: run.attempt, cause, isRepeated },
        ...{ suspendedMs: Math.round(time.suspendedMs), waitedMs: Math.round(time.waitedMs) },
      },
      'attempt is void, the agent did not have its time',
    );
  };

  readonly #pace: NonNullable<AttemptTools['pace']> = (check) => ({
    isStopping: this.#queue.isClosed,
    isCrowded: this.#queue.pool(this.#poolOf(check)).queued > 0,
  });

  #count(current: Run, outcome: AttemptOutcome, tookMs: number, isEncrypted: boolean): void {
    const { clock, metrics, logger, runners, overload } = this.#options;
    const result = outcome.hasErrors ? 'error' : outcome.hasFailures ? 'failed' : 'passed';
    // A type this agent does not know is whatever the control plane says it is.
    const check_type = Object.hasOwn(runners, current.check.type) ? current.check.type : 'unknown';
    metrics.runs.inc({ check_type, outcome: result });
    metrics.runDuration.observe({ check_type }, tookMs / 1000);
    if (outcome.underLoad) metrics.underLoad.inc();
    if (outcome.faultCode !== null) metrics.internalErrors.inc({ code: outcome.faultCode });
    const evidence = exchangeOf(outcome)?.networkDiagnostics ?? null;
    if (evidence !== null) {
      metrics.captures.inc({ kind: evidence.capture.kind });
      metrics.traceroutes.inc({ outcome: evidence.traceroute === null ? 'missing' : 'made' });
    }
    const { check, runId, attempt } = current;
    if (outcome.faultCode === 'AGENT_OVERLOADED')
      overload.gaveUp({ checkId: check.id, runId, attempt });
    const facts = {
      ...{ checkId: check.id, runId, attempt, type: check.type, outcome: result },
      ...{ tookMs: Math.round(tookMs), responseTime: outcome.responseTime },
      // It quotes what the target answered, and logs are read by others than results.
      reason: isEncrypted && outcome.reason !== null ? encryptedText : outcome.reason,
    };
    if (!outcome.hasErrors) {
      logger.debug(facts, 'attempt made');
      return;
    }
    const code = outcome.faultCode ?? 'RUNNER_BROKEN';
    const now = clock.monotonic();
    const state = ofAgent.has(code) ? code : `${code} ${check.id}`;
    const isNews = now - (this.#errorsLoggedAt.get(state) ?? -Infinity) >= sameErrorMs;
    if (isNews) {
      for (const [known, at] of this.#errorsLoggedAt) {
        if (now - at >= sameErrorMs) this.#errorsLoggedAt.delete(known);
      }
      this.#errorsLoggedAt.set(state, now);
    }
    // One line for a state; the metric counts the rest.
    logger[isNews ? 'warn' : 'debug']({ ...facts, code }, 'run ended in an agent error');
  }

  /** The end of a run that was cancelled before its next attempt began. */
  async #recordCancelled(current: Run): Promise<void> {
    const { clock, ids } = this.#options;
    const now = clock.now();
    const ended = {
      ...{ run: current, outcome: outcomeWithoutAttempt(now), isCancelled: true },
      resultId: ids.ofAttempt(current.runId, current.attempt),
      ...{ sequenceStartedAt: now, endedAt: now },
    };
    await this.#conclude(ended, null);
  }

  #encrypterOf({ run: made }: Attempt): Promise<ResultEncrypter | null> {
    const { accountId, location, checkId, resultId, attempt } = made;
    const context = { accountId, location, checkId, resultId, attempt };
    return this.#options.encryption.encrypterFor(context);
  }

  #asAttempt(
    { check, runId, runLocation, attempt, scheduledFor, source, ...run }: Run,
    startedAt: number,
  ): Attempt {
    const { intervalMs } = scheduleOf({ ...check, checkId: check.id });
    return {
      check,
      latestStart:
        scheduledFor === null || run.shard !== undefined
          ? startedAt + repeatJobMs
          : (attempt === 1 ? scheduledFor : startedAt) + Math.min(intervalMs, maxQueueMs),
      environmentUrl: run.environmentUrl,
      ...(run.updatesSnapshots === true && { updatesSnapshots: true }),
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

  /** Stores an attempt together with the decision whether another one follows. */
  async #conclude(ended: EndedAttempt, encrypter: ResultEncrypter | null): Promise<void> {
    const { clock, outbox, leases, metrics, isLinkUp, onStored, onAttempt } = this.#options;
    const { run: current, outcome, sequenceStartedAt } = ended;
    const { submission, retry, retriedWhere } = concludeAttempt(ended, isLinkUp());
    const { check, runId, jobId, scheduledFor } = current;
    const entry: OutboxEntry = {
      submission,
      ...(encrypter === null ? {} : { encrypt: () => encrypter.result(submission) }),
      ...(current.attempt > 1 && retry === null ? { endsRetryOf: runId } : {}),
      ...(scheduledFor !== null && jobId === null
        ? { finishedSlot: { checkId: check.id, scheduledFor } }
        : {}),
      ...(retry === null ? {} : { pendingRetry: this.#pendingRetry(retry) }),
    };
    if (retriedWhere !== null) metrics.retries.inc({ where: retriedWhere });
    await outbox.put(entry);
    onStored(submission);
    if (retry !== null) this.#queue.add(retry.run, retry.dueAt - clock.now());
    else if (jobId !== null) leases.release(jobId);
    const { requests, reason, faultCode } = outcome;
    onAttempt?.({ submission, requests, reason, faultCode, sequenceStartedAt });
  }

  #pendingRetry({ run: next, dueAt }: { run: Run; dueAt: number }): PendingRetry {
    const { cipher } = this.#options;
    const payload = encryptRun(next, (text) => cipher.encrypt(text).toString('base64'));
    return { runId: next.runId, dueAt, payload };
  }

  /** A person ends a run: it is recorded as cancelled, measuring or not. */
  cancel(runId: string): void {
    const waiting = this.#queue.cancel(runId);
    if (waiting !== null) this.#queue.track(this.#recordCancelled(waiting));
  }

  /** The leases of these jobs are lost: their runs end without a result. */
  loseJobs(jobIds: readonly string[]): void {
    for (const runId of this.#options.leases.lose(jobIds)) {
      this.#queue.drop(runId);
      this.#options.outbox.dropRetry(runId);
    }
  }

  /** Starts nothing more; runs that wait for a retry stay on disk. Resolves when nothing is measuring. */
  drain(): Promise<void> {
    return this.#queue.drain();
  }

  /** Ends everything that is measuring. Resolves when what was measured before is stored. */
  async abort(): Promise<void> {
    this.#queue.abort();
    await this.#evidence.cut();
  }

  /** Brings the gauges up to date. */
  observe(): void {
    const { metrics } = this.#options;
    for (const [pool, { running, queued }] of Object.entries(this.pools)) {
      metrics.running.set({ pool }, running);
      metrics.queued.set({ pool }, queued);
    }
  }
}
