/**
 * The long polls to the control plane. They bring assignments, jobs and cancellations, and measure
 * the clock offset. While they fail, the schedule continues.
 *
 * unknown   no answer yet; the cached schedule, if there is one, is running
 *   up        the last check-in was answered
 *   down      the last check-in failed; tried again with growing pauses
 *   refused   the key is not accepted, or the protocol not spoken: tried once a minute, since keys come
 *             back and control planes are upgraded
 */
import { hostname } from 'node:os';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import {
  maxHostNameLength,
  protocolVersion,
  type Capabilities,
  type CheckInAnswer,
  type CheckInRequest,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { CallFailure, pollMs, type ControlPlaneClient } from '../link/control-plane-client.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import { backoffMs } from '../link/backoff.ts';
import { clockOffsetOf } from './clock-offset.ts';
import type { CorrectedClock } from './corrected-clock.ts';
import { FailureLog } from './failure-log.ts';
import type { OutboxState } from './outbox.ts';

const refusedPauseMs = 60_000;
/** A less exact sample is used only when it adds information. */
const vagueFromMs = 1_000;
/** A poll that fails earlier was refused rather than cut. */
const cutFromMs = 2_000;
/** While it hands over its checks, an agent asks so often whether others know of them. */
const handOverPauseMs = 250;
const handOverRetryMs = 1_000;
/** Random extra delay, so that agents that were refused together come back one after the other. */
const spread = 0.25;

export interface CheckInLoopOptions {
  client: ControlPlaneClient;
  clock: CorrectedClock;
  /** The uncorrected clock, which stamps check-ins, so that its offset can be measured. */
  rawClock: Clock;
  random: () => number;
  logger: Logger;
  metrics: AgentMetrics;
  agentId: string;
  version: string;
  capabilities: Capabilities;
  capacity: CheckInRequest['capacity'];
  running: () => number;
  /** How many shards of other agents' runs would begin at once. */
  roomForShards: () => number;
  outboxState: () => OutboxState;
  load: () => NonNullable<CheckInRequest['load']>;
  onAnswer: (answer: CheckInAnswer) => void;
  /** Digest of what it holds to watch the control plane. */
  watchDigest: () => string | null;
}

export type LinkState = 'unknown' | 'up' | 'down' | 'refused';

/** The history of the link for operators. Instants are by the agent's clock. */
export interface LinkHistory {
  state: LinkState;
  since: number;
  lastAnswerAt: number | null;
  lastFailure: { at: number; code: string; message: string } | null;
  /** Polls in a row that ended with a failure while they waited, and after how long the last did. */
  cutPolls: { count: number; afterMs: number };
}

export class CheckInLoop {
  readonly #options: CheckInLoopOptions;
  readonly #stopping = new AbortController();
  readonly #standingDown = new AbortController();
  readonly #handedOver = Promise.withResolvers<void>();
  #isHandedOver = false;
  readonly #startedAt: number;
  #state: LinkState = 'unknown';
  #stateSince: number;
  #lastAnswerAt: number | null = null;
  #lastFailure: LinkHistory['lastFailure'] = null;
  #cutPolls: LinkHistory['cutPolls'] = { count: 0, afterMs: 0 };
  readonly #failureLog: FailureLog;
  #snapshot: string | null = null;
  #offsetMs: number | null = null;
  #uncertaintyMs: number | null = null;
  #failures = 0;
  #finished: Promise<void> = Promise.resolve();

  constructor(options: CheckInLoopOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#stateSince = this.#startedAt;
    this.#failureLog = new FailureLog(options.rawClock);
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Clock of the control plane minus clock of this machine, in ms; null before the first answer. */
  get offsetMs(): number | null {
    return this.#offsetMs;
  }

  /** Upper bound of the error of the offset: a slow way is not a wrong clock. */
  get uncertaintyMs(): number | null {
    return this.#uncertaintyMs;
  }

  get history(): LinkHistory {
    return {
      state: this.#state,
      since: this.#stateSince,
      lastAnswerAt: this.#lastAnswerAt,
      lastFailure: this.#lastFailure,
      cutPolls: this.#cutPolls,
    };
  }

  #become(state: LinkState): void {
    if (state !== this.#state) this.#stateSince = this.#options.clock.now();
    this.#state = state;
  }

  start(): void {
    this.#finished = this.#loop();
  }

  /**
   * Keeps polling for leases and cancellations, without taking work: an agent that offers no check
   * type is assigned nothing. Resolves when the agents that its checks move to know of them.
   */
  handOver(): Promise<void> {
    this.#standingDown.abort();
    return this.#handedOver.promise;
  }

  async stop(): Promise<void> {
    this.#handedOver.resolve();
    this.#stopping.abort();
    await this.#finished;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const wasUp = !this.#standingDown.signal.aborted;
      const pauseMs = await this.#turn();
      const signals = [signal, ...(wasUp ? [this.#standingDown.signal] : [])];
      if (pauseMs > 0) await sleep(this.#options.rawClock, pauseMs, AbortSignal.any(signals));
    }
  }

  get #isHandingOver(): boolean {
    return this.#standingDown.signal.aborted && !this.#isHandedOver;
  }

  #endHandOver(): void {
    this.#isHandedOver = true;
    this.#handedOver.resolve();
  }

  #request(): CheckInRequest {
    const { agentId, version, capabilities, capacity, running, roomForShards, rawClock } =
      this.#options;
    const { depth, oldestAt, droppedTotal, setAsideTotal } = this.#options.outboxState();
    return {
      agentId,
      protocol: protocolVersion,
      version,
      hostName: hostname().slice(0, maxHostNameLength),
      startedAt: this.#startedAt,
      capabilities: this.#standingDown.signal.aborted
        ? { ...capabilities, checkTypes: [] }
        : capabilities,
      capacity,
      running: running(),
      roomForShards: roomForShards(),
      outbox: { depth, oldestAt, droppedTotal: droppedTotal + setAsideTotal },
      snapshot: this.#snapshot,
      waitMs: this.#snapshot === null || this.#isHandingOver ? 0 : pollMs,
      clock: {
        sentAt: Math.round(rawClock.now()),
        offsetMs: this.#offsetMs,
        ...(this.#uncertaintyMs !== null && { uncertaintyMs: this.#uncertaintyMs }),
      },
      load: this.#options.load(),
      watch: this.#options.watchDigest(),
    };
  }

  async #turn(): Promise<number> {
    const { client, clock, logger, metrics, rawClock } = this.#options;
    const wasUp = !this.#standingDown.signal.aborted;
    const request = this.#request();
    // With the sleep of the machine: an answer that was on its way meanwhile says what the time was before it.
    const begunAt = clock.elapsed();
    const signals = [this.#stopping.signal, ...(wasUp ? [this.#standingDown.signal] : [])];
    try {
      const answer = await client.checkIn(request, AbortSignal.any(signals));
      // First: what passes between the two is uncertainty then, and no offset.
      const receivedAt = rawClock.now();
      const tookMs = clock.elapsed() - begunAt;
      this.#measureClock(answer, receivedAt, tookMs);
      if (tookMs > this.#cutPolls.afterMs) this.#cutPolls = { count: 0, afterMs: 0 };
      metrics.checkIns.inc({ outcome: 'answered' });
      metrics.linkUp.set(1);
      metrics.lastCheckIn.set(rawClock.now() / 1000);
      const { upserts, removals, jobs, cancellations, full, epoch } = answer;
      logger.debug(
        {
          ...{ upserts: upserts.length, removals: removals.length, jobs: jobs.length },
          ...{ cancellations: cancellations.length, full, epoch, offsetMs: this.#offsetMs },
        },
        'check-in answered',
      );
      const failures = this.#failureLog.ended();
      if (this.#state !== 'up') {
        const { location, upserts: checks } = answer;
        logger.info({ location, checks: checks.length, failures }, 'checked in');
      }
      this.#become('up');
      this.#lastAnswerAt = this.#options.clock.now();
      this.#failures = 0;
      this.#snapshot = answer.snapshot;
      this.#options.onAnswer(answer);
      if (wasUp || this.#isHandedOver) return 0;
      // compatibility: control planes before 0.9 do not say so, and have moved the checks.
      if (answer.handedOver === false) return handOverPauseMs;
      this.#endHandOver();
      return 0;
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      // The poll was aborted for this message.
      if (wasUp && this.#standingDown.signal.aborted) return 0;
      this.#noteCut(request.waitMs, clock.elapsed() - begunAt);
      return this.#fail(error);
    }
  }

  #noteCut(waitMs: number, tookMs: number): void {
    if (waitMs === 0 || tookMs < cutFromMs) return;
    this.#cutPolls = { count: this.#cutPolls.count + 1, afterMs: Math.round(tookMs) };
  }

  #fail(error: unknown): number {
    const { logger, metrics, random } = this.#options;
    const failure = error instanceof CallFailure ? error : null;
    const isRefused = failure !== null && !failure.retryable;
    metrics.checkIns.inc({ outcome: failure?.code ?? 'RUNNER_BROKEN' });
    metrics.linkUp.set(0);
    this.#failures += 1;
    const state: LinkState = isRefused ? 'refused' : 'down';
    const askedMs = Math.max(failure?.retryAfterMs ?? 0, isRefused ? refusedPauseMs : 0);
    const pauseMs = Math.max(
      isRefused ? 0 : backoffMs(this.#failures, random),
      askedMs * (1 + spread * random()),
    );
    const code = failure?.code ?? 'RUNNER_BROKEN';
    const message = failure?.message ?? String(error);
    const line = this.#failureLog.failed(message);
    if (line === null) logger.debug({ code, pauseMs }, 'check-in failed again');
    else {
      logger[isRefused ? 'error' : 'warn'](
        { code, reason: message, ...line, pauseMs },
        'check-in failed, the schedule goes on',
      );
    }
    this.#become(state);
    this.#lastFailure = { at: this.#options.clock.now(), code, message };
    // A lost answer may have contained changes: ask for everything.
    this.#snapshot = null;
    if (!this.#isHandingOver) return pauseMs;
    // Without a valid key there is nobody to hand over to.
    if (isRefused) this.#endHandOver();
    return Math.min(pauseMs, handOverRetryMs);
  }

  #measureClock(answer: CheckInAnswer, receivedAt: number, tookMs: number): void {
    const { logger, metrics, clock, rawClock } = this.#options;
    const theirs = answer.serverTime;
    const { offsetMs, uncertaintyMs } = clockOffsetOf({ receivedAt, tookMs, theirs });
    const known = this.#offsetMs;
    // An inexact sample that agrees with the last good one adds nothing.
    const isNews = known === null || Math.abs(offsetMs - known) > uncertaintyMs;
    if (!isNews && uncertaintyMs > vagueFromMs) return;
    this.#offsetMs = offsetMs;
    this.#uncertaintyMs = uncertaintyMs;
    metrics.clockUncertainty.set(uncertaintyMs / 1000);
    metrics.clockOffset.set(offsetMs / 1000);
    const correctedMs = offsetMs - (clock.now() - rawClock.now());
    if (clock.observeOffset(correctedMs, uncertaintyMs)) {
      logger.warn(
        { offsetMs: Math.round(offsetMs), uncertaintyMs: Math.round(uncertaintyMs) },
        'clock differs from the control plane, slots and results follow the control plane',
      );
    }
  }
}
