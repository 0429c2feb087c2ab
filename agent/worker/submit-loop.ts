/**
 * Submits results. New results are sent at once, so that an alert never waits for a backlog; the
 * backlog of an outage follows oldest first, at a limited rate.
 *
 *   live     records newer than `liveAfter`, sent as soon as a few have come together
 *   backlog  records up to `liveAfter`: a quarter of each batch, and whole batches in the gaps
 *
 * The ATTEMPTs of a run travel directly before its FINAL, wherever they wait. When the control plane does not take them, everything becomes backlog and the loop backs off.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import {
  maxBatchItems,
  type ItemOutcome,
  type ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { CallFailure, type ControlPlaneClient } from '../link/control-plane-client.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import { backoffMs } from '../link/backoff.ts';
import { FailureLog } from './failure-log.ts';
import type { StoredRecord } from './newest-records.ts';
import type { Outbox } from './outbox.ts';

/** Results within this time are sent together. */
const gatherMs = 150;
/** Time between two submissions while results keep coming: each one costs both sides a request. */
const submitEveryMs = 500;
const maxBatchBytes = 4_000_000;
/** Pause after a batch of backlog: limits the replay to about 2,000 results a second. */
const replayPauseMs = 250;
/** Share of the backlog in a batch, however many new results there are. */
const backlogShare = 1 / 4;
/** A single record that is refused this often is set aside. */
const triesOfOne = 3;
/** After so long, what something in between refused is tried again. */
const passOverMs = 60_000;
/** Smaller batches are no faster on any link. */
const smallestBatch = 20;
/** Random extra delay, so that agents that were refused together come back one after the other. */
const spread = 0.25;
/**
 * Longest backoff after a pause that the control plane asked for: it is there, and takes results again
 * within moments, as after a failover of its database.
 */
const maxBackoffWhenAskedMs = 3_000;

export interface SubmitLoopOptions {
  outbox: Outbox;
  client: ControlPlaneClient;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: AgentMetrics;
}

export class SubmitLoop {
  readonly #options: SubmitLoopOptions;
  readonly #stopping = new AbortController();
  #wake: (() => void) | null = null;
  #hasNews = false;
  #liveAfter: number;
  #backlogAfter = 0;
  /** Records up to here wait, because something in between refuses one of them; 0 for none. */
  #passedOver = 0;
  #passedOverAt = 0;
  #failures = 0;
  /** The pause that the control plane asked for with its last refusal. */
  #askedMs: number | null = null;
  #batchLimit = maxBatchItems;
  #triesOfFirst = 0;
  #lastDeliveredAt: number | null = null;
  #isRefused = false;
  readonly #failureLog: FailureLog;
  #finished: Promise<void> = Promise.resolve();

  constructor(options: SubmitLoopOptions) {
    this.#options = options;
    this.#failureLog = new FailureLog(options.clock);
    this.#liveAfter = options.outbox.newestSeq();
    options.outbox.onAdded(() => {
      this.#hasNews = true;
      this.#wake?.();
    });
  }

  /** When results were last delivered, by the clock of this machine. */
  get lastDeliveredAt(): number | null {
    return this.#lastDeliveredAt;
  }

  /** The last call was refused, and will be until a person changes something. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  start(): void {
    this.#finished = this.#loop();
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#hasNews = false;
      let pauseMs = await this.#turn();
      if (pauseMs === null) {
        await this.#untilAdded();
        pauseMs = gatherMs;
      }
      await sleep(this.#options.clock, pauseMs, signal);
    }
  }

  /** One batch. Gives the pause before the next turn, or null when there is nothing to do. */
  async #turn(): Promise<number | null> {
    const { outbox, clock } = this.#options;
    if (this.#passedOver > 0 && clock.monotonic() - this.#passedOverAt > passOverMs) {
      this.#passedOver = this.#backlogAfter = 0;
      this.#batchLimit = 1;
    }
    const limit = this.#batchLimit;
    const { backlog, live } = this.#choose();
    const records = this.#withAttempts([...backlog, ...live]);
    if (records.length === 0) return this.#passedOver > 0 ? submitEveryMs : null;
    const isSent = await this.#send(records);
    if (!isSent) {
      // Results after the reconnection are live again; the others are backlog.
      this.#liveAfter = outbox.newestSeq();
      this.#backlogAfter = this.#passedOver;
      if (this.#failures === 0) return 0;
      const { random } = this.#options;
      const pauseMs = backoffMs(this.#failures, random);
      if (this.#askedMs === null) return pauseMs;
      return this.#askedMs * (1 + spread * random()) + Math.min(pauseMs, maxBackoffWhenAskedMs);
    }
    this.#backlogAfter = backlog.at(-1)?.seq ?? this.#backlogAfter;
    if (live.length === 0) return replayPauseMs;
    if (backlog.length + live.length >= limit) return 0;
    return backlog.length > 0 ? gatherMs : submitEveryMs;
  }

  /** Selects the next batch. */
  #choose(): { backlog: StoredRecord[]; live: StoredRecord[] } {
    const { outbox } = this.#options;
    const newest = outbox.newestSeq();
    const isLive = newest > this.#liveAfter;
    // The search for a refused record goes through the backlog only.
    const share = isLive && this.#batchLimit >= smallestBatch ? backlogShare : 1;
    const backlog = outbox.take(
      this.#backlogAfter,
      this.#liveAfter,
      Math.ceil(this.#batchLimit * share),
      maxBatchBytes * share,
    );
    const bytes = backlog.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const left = this.#batchLimit - backlog.length;
    const live = left > 0 ? outbox.take(this.#liveAfter, newest, left, maxBatchBytes - bytes) : [];
    return { backlog, live };
  }

  /** Puts the ATTEMPTs that the outbox still holds before the FINAL of their run. */
  #withAttempts(records: readonly StoredRecord[]): StoredRecord[] {
    const { outbox } = this.#options;
    if (!outbox.hasAttempts()) return [...records];
    const chosen = new Set<number>();
    return records
      .flatMap((record) => {
        const { kind, runId, resultType } = JSON.parse(record.payload) as Partial<ResultSubmission>;
        const isFinal = kind === 'result' && resultType === 'FINAL' && runId !== undefined;
        return isFinal ? [...outbox.attemptsBefore(runId, record.seq), record] : [record];
      })
      .filter(({ seq }) => {
        const isFirst = !chosen.has(seq);
        chosen.add(seq);
        return isFirst;
      })
      .slice(0, maxBatchItems);
  }

  /** Sends a batch and settles its records. False when the batch must be sent again. */
  async #send(records: readonly StoredRecord[], signal = this.#stopping.signal): Promise<boolean> {
    const { client, outbox, logger, metrics, clock } = this.#options;
    try {
      const outcomes = await client.submit(
        records.map(({ payload }) => payload),
        signal,
      );
      this.#settle(records, outcomes);
    } catch (error) {
      if (signal.aborted) return false;
      const failure = error instanceof CallFailure ? error : null;
      metrics.submitFailures.inc({ code: failure?.code ?? 'RUNNER_BROKEN' });
      if (failure !== null && this.#isAboutTheBatch(failure)) return this.#narrow(records, failure);
      const isPage = failure?.isPage === true;
      if (isPage && records.length > 1 && this.#batchLimit > 1) {
        this.#batchLimit = Math.max(1, Math.floor(records.length / 2));
        return false;
      }
      this.#failures += 1;
      // What something in between does not let pass is never set aside; others go past it.
      this.#passedOver = isPage ? Math.max(...records.map(({ seq }) => seq)) : 0;
      this.#passedOverAt = clock.monotonic();
      this.#isRefused = failure !== null && !failure.retryable;
      const reason = failure?.message ?? String(error);
      const line = this.#failureLog.failed(reason);
      if (line !== null)
        logger.warn(
          { code: failure?.code, reason, ...line },
          'results could not be submitted, kept',
        );
      // On a link that breaks often, smaller batches succeed.
      this.#batchLimit = isPage ? 1 : Math.max(smallestBatch, Math.floor(records.length / 2));
      this.#askedMs = failure?.retryAfterMs ?? null;
      return false;
    }
    this.#isRefused = false;
    if (this.#failureLog.ended() > 0)
      logger.info({ depth: outbox.state().depth }, 'results are submitted again');
    this.#failures = 0;
    this.#triesOfFirst = 0;
    this.#batchLimit = Math.min(maxBatchItems, Math.max(smallestBatch, this.#batchLimit * 2));
    return true;
  }

  /** 400, 413, 422: a record of the batch is wrong, not the control plane. */
  #isAboutTheBatch(failure: CallFailure): boolean {
    const { code, statusCode } = failure;
    const isRefused =
      code === 'CONTROL_PLANE_REFUSED' && (statusCode === 400 || statusCode === 422);
    return isRefused || (statusCode === 413 && !failure.isPage);
  }

  /** Halves the batch until the refused record is alone; it is set aside after a few tries. */
  #narrow(records: readonly StoredRecord[], failure: CallFailure): boolean {
    const { outbox, logger } = this.#options;
    const [first] = records;
    this.#failures = 0;
    if (records.length > 1) {
      this.#batchLimit = Math.max(1, Math.floor(records.length / 2));
      return false;
    }
    this.#triesOfFirst += 1;
    if (first !== undefined && this.#triesOfFirst >= triesOfOne) {
      outbox.refuse(first.seq, failure.message);
      logger.error({ err: failure }, 'result set aside, the control plane does not take it');
      this.#triesOfFirst = 0;
    }
    return false;
  }

  #settle(records: readonly StoredRecord[], outcomes: readonly ItemOutcome[]): void {
    const { outbox, metrics, logger, clock } = this.#options;
    metrics.lastSubmission.set(clock.now() / 1000);
    logger.debug({ count: records.length }, 'results submitted');
    const done: number[] = [];
    this.#lastDeliveredAt = this.#options.clock.now();
    records.forEach((record, index) => {
      const outcome = outcomes[index];
      if (outcome === undefined) return;
      metrics.submissions.inc({ outcome: outcome.outcome });
      if (outcome.outcome === 'refused') {
        outbox.refuse(record.seq, outcome.reason ?? 'refused');
        logger.warn({ reason: outcome.reason }, 'result refused, set aside');
      } else {
        done.push(record.seq);
      }
    });
    outbox.acknowledge(done);
  }

  /** Resolves when something was added since the last turn began, or when stopping. */
  #untilAdded(): Promise<void> {
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      if (this.#hasNews || signal.aborted) {
        resolve();
        return;
      }
      const done = (): void => {
        this.#wake = null;
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Tries to submit everything within a time; gives how many records are left. */
  async flush(withinMs: number): Promise<number> {
    const { clock, outbox } = this.#options;
    this.#stopping.abort();
    await this.#finished;
    const until = clock.monotonic() + withinMs;
    const hurry = new AbortController();
    const cancel = clock.after(withinMs, () => hurry.abort());
    outbox.commit();
    this.#failures = 0;
    // A failure ends this pass: the caller tries again after a pause.
    while (this.#failures === 0 && !hurry.signal.aborted && clock.monotonic() < until) {
      const limit = this.#batchLimit;
      const records = outbox.take(this.#passedOver, outbox.newestSeq(), limit, maxBatchBytes);
      if (records.length === 0) {
        // What something in between refused may pass by now.
        this.#passedOver = 0;
        break;
      }
      await this.#send(this.#withAttempts(records), hurry.signal);
    }
    cancel();
    return outbox.state().depth;
  }
}
