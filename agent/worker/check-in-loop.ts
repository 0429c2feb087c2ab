/**
 * The conversation with the control plane: one long poll after another. It brings assignments, jobs
 * and cancellations, and measures the clock. While it fails, the schedule goes on as it is.
 *
 *   unknown   nothing heard yet; the cached schedule, if there is one, is already running
 *   up        the last check-in was answered
 *   down      the last check-in failed; tried again with growing pauses
 *   refused   the key is not accepted: tried once a minute, since keys come back
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import {
  longPollMs,
  protocolVersion,
  type Capabilities,
  type CheckInAnswer,
  type CheckInRequest,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { CallFailure, type ControlPlaneClient } from '../control-plane-client.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import { backoffMs } from './backoff.ts';
import type { CorrectedClock } from './corrected-clock.ts';
import type { OutboxState } from './outbox.ts';

const refusedPauseMs = 60_000;

export interface CheckInLoopOptions {
  client: ControlPlaneClient;
  clock: CorrectedClock;
  /** The uncorrected clock: what check-ins are stamped with, so that its offset can be measured. */
  rawClock: Clock;
  random: () => number;
  logger: Logger;
  metrics: AgentMetrics;
  agentId: string;
  version: string;
  capabilities: Capabilities;
  capacity: CheckInRequest['capacity'];
  running: () => number;
  outboxState: () => OutboxState;
  onAnswer: (answer: CheckInAnswer) => void;
}

export type LinkState = 'unknown' | 'up' | 'down' | 'refused';

export class CheckInLoop {
  readonly #options: CheckInLoopOptions;
  readonly #stopping = new AbortController();
  readonly #standingDown = new AbortController();
  readonly #startedAt: number;
  #state: LinkState = 'unknown';
  #snapshot: string | null = null;
  #offsetMs: number | null = null;
  #failures = 0;
  #finished: Promise<void> = Promise.resolve();

  constructor(options: CheckInLoopOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  get state(): LinkState {
    return this.#state;
  }

  /** Control plane minus this machine, in ms; null before the first answer. */
  get offsetMs(): number | null {
    return this.#offsetMs;
  }

  start(): void {
    this.#finished = this.#loop();
  }

  /**
   * Stays in touch, for leases and cancellations, and takes no more work: an agent that offers no
   * check type is assigned nothing, so what it had moves to others while its last runs end.
   */
  standDown(): void {
    this.#standingDown.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#finished;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const pauseMs = await this.#turn();
      if (pauseMs > 0) await sleep(this.#options.rawClock, pauseMs, signal);
    }
  }

  #request(): CheckInRequest {
    const { agentId, version, capabilities, capacity, running, rawClock } = this.#options;
    const { depth, oldestAt, droppedTotal } = this.#options.outboxState();
    return {
      agentId,
      protocol: protocolVersion,
      version,
      startedAt: this.#startedAt,
      capabilities: this.#standingDown.signal.aborted
        ? { ...capabilities, checkTypes: [] }
        : capabilities,
      capacity,
      running: running(),
      outbox: { depth, oldestAt, droppedTotal },
      snapshot: this.#snapshot,
      waitMs: this.#snapshot === null ? 0 : longPollMs,
      clock: { sentAt: Math.round(rawClock.now()), offsetMs: this.#offsetMs },
    };
  }

  async #turn(): Promise<number> {
    const { client, logger, metrics, rawClock } = this.#options;
    const wasUp = !this.#standingDown.signal.aborted;
    const request = this.#request();
    const signals = [this.#stopping.signal, ...(wasUp ? [this.#standingDown.signal] : [])];
    try {
      const answer = await client.checkIn(request, AbortSignal.any(signals));
      this.#measureClock(request.clock.sentAt, answer, rawClock.now());
      metrics.checkIns.inc({ outcome: 'answered' });
      if (this.#state !== 'up') {
        logger.info({ location: answer.location, checks: answer.upserts.length }, 'checked in');
      }
      this.#state = 'up';
      this.#failures = 0;
      this.#snapshot = answer.snapshot;
      this.#options.onAnswer(answer);
      return 0;
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0;
      // The poll was given up to say it.
      if (wasUp && this.#standingDown.signal.aborted) return 0;
      return this.#fail(error);
    }
  }

  #fail(error: unknown): number {
    const { logger, metrics, random } = this.#options;
    const failure = error instanceof CallFailure ? error : null;
    const isRefused = failure !== null && !failure.retryable;
    metrics.checkIns.inc({ outcome: failure?.code ?? 'RUNNER_BROKEN' });
    this.#failures += 1;
    const state: LinkState = isRefused ? 'refused' : 'down';
    const pauseMs = isRefused ? refusedPauseMs : backoffMs(this.#failures, random);
    if (state !== this.#state) {
      logger[isRefused ? 'error' : 'warn'](
        { code: failure?.code, reason: failure?.message ?? String(error), pauseMs },
        'check-in failed, the schedule goes on',
      );
    }
    this.#state = state;
    // An answer that was lost may have carried news: ask for everything.
    this.#snapshot = null;
    return Math.max(pauseMs, failure?.retryAfterMs ?? 0);
  }

  /** The offset as in NTP: the time the control plane held the call is not travel time. */
  #measureClock(sentAt: number, answer: CheckInAnswer, receivedAt: number): void {
    const { logger, metrics, clock } = this.#options;
    const { receivedAt: theirsIn, sentAt: theirsOut } = answer.serverTime;
    const offsetMs = (theirsIn - sentAt + (theirsOut - receivedAt)) / 2;
    this.#offsetMs = offsetMs;
    metrics.clockOffset.set(offsetMs / 1000);
    const correctedMs = offsetMs - (clock.now() - this.#options.rawClock.now());
    if (clock.observeOffset(correctedMs)) {
      logger.warn(
        { offsetMs: Math.round(offsetMs) },
        'clock differs from the control plane, slots and results follow the control plane',
      );
    }
  }
}
