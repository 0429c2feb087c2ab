/**
 * One agent from start to end: its assignments, its state (`session-state.ts`), and its shutdown.
 * Stopping is not cancelling: `drain` lets runs finish and delivers their results, `stop` aborts
 * measurements and leaves results on disk for the next start.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { AssignedCheck, CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import type { UploadLoop } from '../artifacts/upload-loop.ts';
import type { ResultEncryption } from '../encryption/result-encryption.ts';
import { CallFailure, type ControlPlaneClient } from '../link/control-plane-client.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import type { Traces } from '../observability/tracing/open-traces.ts';
import type { CertificateWatch } from './certificate-watch.ts';
import type { CheckInLoop } from './check-in-loop.ts';
import type { Executor } from './executor.ts';
import type { LeaseBook } from './lease-book.ts';
import type { OpenRunReports } from './open-runs.ts';
import type { Outbox } from './outbox.ts';
import type { RunIds } from './run-ids.ts';
import type { CachedSchedule, ScheduleCache } from './schedule-cache.ts';
import type { Scheduler } from './scheduler.ts';
import { nextState, sessionStates, type SessionEvent, type SessionState } from './session-state.ts';
import type { SubmitLoop } from './submit-loop.ts';
import { tryUntil } from './try-until.ts';

/**
 * Time for the last results and the goodbye, after the last run has ended. A control plane that is
 * replaced is away for ten seconds and more, and the agent may lose its disk.
 */
const flushWithinMs = 20_000;
const filesWithinMs = 10_000;
/** The part of the time for draining in which others may take over the checks; the rest is for runs. */
const handOverShare = 0.6;
/** Results have priority over traces when time is short. */
const tracesWithinMs = 2_000;
/** Short enough for a crash right after an assignment, long enough to combine a burst of assignments. */
const cacheWithinMs = 100;

export interface AgentSessionParts {
  /** The clock of the control plane. */
  clock: Clock;
  /** The clock of this machine. */
  rawClock: Clock;
  logger: Logger;
  metrics: AgentMetrics;
  /** How long runs may take to end once the agent drains. */
  drainTimeoutMs: number;
  client: ControlPlaneClient;
  outbox: Outbox;
  cache: ScheduleCache;
  ids: RunIds;
  encryption: ResultEncryption;
  leases: LeaseBook;
  executor: Executor;
  scheduler: Scheduler;
  certificates: CertificateWatch;
  checkIns: CheckInLoop;
  openRuns: OpenRunReports;
  submitLoop: SubmitLoop;
  uploads: UploadLoop;
  traces: Traces;
}

export class AgentSession {
  readonly #parts: AgentSessionParts;
  readonly #ready = Promise.withResolvers<void>();
  #state: SessionState = 'starting';
  #location: string | null = null;
  #epoch = 0;
  #cancelCaching: (() => void) | null = null;
  /** Ids of checks that changed since the schedule was cached, or all. */
  #uncached: Set<string> | 'all' = 'all';
  #draining: Promise<number> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(parts: AgentSessionParts) {
    this.#parts = parts;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Null before the first assignment. */
  get location(): string | null {
    return this.#location;
  }

  /** Why readiness is 503; null when it is 200. */
  get notReady(): string | null {
    return sessionStates[this.#state].notReady;
  }

  /** Resolves when the agent follows a schedule. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Continues with the state on disk, and connects to the control plane. */
  start(): void {
    const { clock, logger, outbox, cache, executor, submitLoop, uploads, checkIns } = this.#parts;
    const cached = cache.load(clock.now());
    if (cached !== null) {
      this.#parts.encryption.resume(cached.resultKeys);
      this.#follow(cached, cached.checks, [], true);
      this.#parts.certificates.watch(cached.checks);
      this.#enter('schedule-known');
      logger.info({ checks: cached.checks.length }, 'cached schedule is being followed');
    }
    executor.resume(outbox.pendingRetries());
    submitLoop.start();
    uploads.start();
    checkIns.start();
  }

  #enter(event: SessionEvent): void {
    this.#state = nextState(this.#state, event);
    if (event === 'schedule-known') this.#ready.resolve();
  }

  #follow(
    { location, epoch, idKey }: Pick<CachedSchedule, 'location' | 'epoch' | 'idKey'>,
    upserts: readonly AssignedCheck[],
    removals: readonly string[],
    isFull: boolean,
  ): void {
    const { ids, scheduler, metrics } = this.#parts;
    this.#location = location;
    this.#epoch = epoch;
    ids.use(idKey);
    scheduler.apply(location, upserts, removals, isFull);
    metrics.assignedChecks.set(scheduler.size);
  }

  startSlot(check: AssignedCheck, scheduledFor: number, lateMs: number): void {
    const { metrics, executor } = this.#parts;
    metrics.slotLateness.observe(lateMs / 1000);
    if (this.#location === null) return;
    executor.startSlot(check, scheduledFor, this.#location, this.#epoch);
  }

  missSlot(check: AssignedCheck, scheduledFor: number, lateMs: number): void {
    if (this.#location === null) return;
    this.#parts.executor.miss(check, scheduledFor, this.#location, lateMs);
  }

  /** Applies the answer to a check-in. */
  answer(answer: CheckInAnswer): void {
    const { executor, openRuns, ids, certificates, scheduler, rawClock, encryption } = this.#parts;
    const { location, epoch, upserts, removals, jobs, cancellations, full: isFull } = answer;
    if (!sessionStates[this.#state].takesWork) {
      for (const runId of cancellations) executor.cancel(runId);
      return;
    }
    if (isFull) openRuns.forget();
    const idKey = answer.idKey ?? null;
    const { resultKeys = [] } = answer;
    const isSame =
      location === this.#location &&
      epoch === this.#epoch &&
      idKey === ids.key &&
      resultKeys.join() === encryption.announced.join();
    const isWhole = isFull || location !== this.#location;
    if (isWhole) this.#uncached = 'all';
    // Before a run of the new assignments can end.
    encryption.use(resultKeys);
    this.#follow({ location, epoch, idKey }, upserts, removals, isFull);
    if (isFull) executor.assigned(scheduler.checks(), location);
    for (const job of jobs) executor.startJob(job, location, epoch);
    for (const runId of cancellations) executor.cancel(runId);
    if (!isSame || isFull || upserts.length > 0 || removals.length > 0) {
      if (isWhole) certificates.watch(scheduler.checks());
      else certificates.change(upserts, removals);
      for (const id of [...removals, ...upserts.map((check) => check.id)]) {
        if (this.#uncached !== 'all') this.#uncached.add(id);
      }
      this.#cancelCaching ??= rawClock.after(cacheWithinMs, () => this.#saveSchedule());
    }
    this.#enter('schedule-known');
  }

  #saveSchedule(): void {
    const { cache, encryption, ids, scheduler } = this.#parts;
    this.#cancelCaching = null;
    if (this.#location === null) return;
    const head = {
      ...{ location: this.#location, epoch: this.#epoch, idKey: ids.key },
      resultKeys: [...encryption.followed],
    };
    const changed = this.#uncached;
    this.#uncached = new Set();
    const isAppended =
      changed !== 'all' &&
      cache.append({
        ...head,
        checks: [...changed].flatMap((id) => scheduler.find(id) ?? []),
        removals: [...changed].filter((id) => scheduler.find(id) === undefined),
      });
    if (!isAppended) cache.save({ ...head, checks: scheduler.checks() });
  }

  /** Renews the leases of all jobs. After a failure the next renewal is in time: three fit into a lease. */
  renewLeases(): void {
    const { client, executor, leases } = this.#parts;
    const { jobIds } = leases;
    if (jobIds.length === 0) return;
    void client
      .renewLeases(jobIds)
      .then(({ lost }) => executor.loseJobs(lost))
      .catch(() => undefined);
  }

  /**
   * Shuts down gracefully: readiness turns 503 at once, running checks finish within the drain
   * timeout, and results are delivered. Gives the number of results that stay on disk.
   */
  drain(): Promise<number> {
    return (this.#draining ??= this.#drain());
  }

  async #drain(): Promise<number> {
    const { executor, checkIns, metrics, logger, rawClock, scheduler } = this.#parts;
    this.#enter('stop-asked');
    metrics.draining.set(1);
    logger.info({ running: executor.running }, 'draining');
    const cancelTimeout = rawClock.after(this.#parts.drainTimeoutMs, () => {
      logger.warn({ running: executor.running }, 'drain timeout reached, running checks are ended');
      void executor.abort();
    });
    // Until others have its checks, it runs them, and the last of these runs needs time to end.
    const waiting = new AbortController();
    const handedOver = checkIns.handOver();
    const over = sleep(rawClock, this.#parts.drainTimeoutMs * handOverShare, waiting.signal);
    if (scheduler.size > 0) await Promise.race([handedOver, over]);
    waiting.abort();
    scheduler.startDue();
    this.#stopSchedule();
    await executor.drain();
    cancelTimeout();
    await checkIns.stop();
    if (this.#cancelCaching !== null) {
      this.#cancelCaching();
      this.#saveSchedule();
    }
    const left = await this.#deliver();
    this.#enter('work-finished');
    return left;
  }

  #stopSchedule(): void {
    this.#parts.scheduler.stop();
    this.#parts.certificates.stop();
  }

  /** Results first, then files, then traces; the goodbye releases the remaining jobs. */
  async #deliver(): Promise<number> {
    const { submitLoop, uploads, traces, leases, client, logger, rawClock } = this.#parts;
    const until = rawClock.monotonic() + flushWithinMs;
    const left = await tryUntil(
      rawClock,
      until,
      () => submitLoop.flush(Math.max(0, until - rawClock.monotonic())),
      (waiting) => waiting === 0 || submitLoop.isRefused,
    );
    const filesLeft = await uploads.flush(filesWithinMs);
    await traces.flush(tracesWithinMs);
    const { jobIds } = leases;
    const sayGoodbye = async (): Promise<unknown> => {
      try {
        if (jobIds.length > 0) await client.release(jobIds);
        await client.goodbye();
        return null;
      } catch (error) {
        return error;
      }
    };
    const problem = await tryUntil(
      rawClock,
      until,
      sayGoodbye,
      (failure) => failure === null || (failure instanceof CallFailure && !failure.retryable),
    );
    if (problem !== null) {
      logger.warn({ err: problem }, 'goodbye not heard; the control plane notices by itself');
    }
    if (left + filesLeft > 0) {
      logger.warn(
        { left, filesLeft },
        'results or files could not be delivered: they stay in AGENT_DATA_DIR, and the next start delivers them',
      );
    }
    logger.info({ left, filesLeft }, 'drained');
    return left;
  }

  /** Aborts measurements without results. */
  abort(): void {
    void this.#parts.executor.abort();
  }

  /** Ends everything at once; finished measurements are in the outbox when it resolves. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const { executor, checkIns, submitLoop, uploads } = this.#parts;
    this.#stopSchedule();
    const stored = executor.abort();
    this.#cancelCaching?.();
    await checkIns.stop();
    await stored;
    await submitLoop.flush(0);
    await uploads.stop();
  }
}
