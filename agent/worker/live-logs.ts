/**
 * Sends what runs print while they run, to somebody who watches them. A result holds all of it later, so
 * nothing here is kept on disk, and what does not fit is left out.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { maxLiveLogLength, type LiveLogLine } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { CallFailure, type ControlPlaneClient } from '../link/control-plane-client.ts';

/** Four calls a second. */
const sendEveryMs = 250;
const maxLines = 2_000;
/** What waits to be sent of one run. */
const maxWaitingLength = 4 * maxLiveLogLength;
/** Lines may be empty. */
const maxWaitingLines = 4 * maxLines;
/** Each attempt of a run counts its pieces from a place of its own: positions that are known are ignored. */
const piecesOfAttempt = 10_000;
/** How long the end of a run waits for what it printed at last. */
const finishWithinMs = 2_000;

interface WatchedRun {
  waiting: LiveLogLine[];
  waitingLength: number;
  leftOut: number;
  position: number;
  isSending: boolean;
  /** Nobody watches it, or the control plane is older than this. */
  isUnwatched: boolean;
}

export interface LiveLogsOptions {
  client: Pick<ControlPlaneClient, 'sendLogs'>;
  clock: Clock;
  logger: Logger;
}

export class LiveLogs implements Disposable {
  readonly #options: LiveLogsOptions;
  readonly #runs = new Map<string, WatchedRun>();
  #cancel: (() => void) | null = null;

  constructor(options: LiveLogsOptions) {
    this.#options = options;
  }

  add(runId: string, message: string, attempt = 1): void {
    const run = this.#runs.get(runId) ?? {
      ...{ waiting: [], waitingLength: 0, leftOut: 0 },
      position: (attempt - 1) * piecesOfAttempt,
      ...{ isSending: false, isUnwatched: false },
    };
    this.#runs.set(runId, run);
    if (run.isUnwatched) return;
    const cut = message.slice(0, maxLiveLogLength);
    const isFull = run.waiting.length >= maxWaitingLines;
    if (isFull || run.waitingLength + cut.length > maxWaitingLength) {
      run.leftOut += 1;
      return;
    }
    run.waitingLength += cut.length;
    run.waiting.push({ timestamp: Math.round(this.#options.clock.now()), message: cut });
    this.#sendSoon();
  }

  /** Sends what is left of a run that has ended, for as long as that may take. */
  async finish(runId: string): Promise<void> {
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    const { clock } = this.#options;
    const until = clock.monotonic() + finishWithinMs;
    while ((run.waiting.length > 0 || run.isSending) && clock.monotonic() < until) {
      await this.#send(runId, run);
      if (run.waiting.length > 0 || run.isSending) await this.#pause();
    }
    this.#runs.delete(runId);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.after(sendEveryMs, resolve);
    });
  }

  #sendSoon(): void {
    this.#cancel ??= this.#options.clock.after(sendEveryMs, () => {
      this.#cancel = null;
      for (const [runId, run] of this.#runs) void this.#send(runId, run);
      if ([...this.#runs.values()].some(({ waiting }) => waiting.length > 0)) this.#sendSoon();
    });
  }

  /** Sends a piece of what waits; it stays when that fails. */
  async #send(runId: string, run: WatchedRun): Promise<void> {
    if (run.isSending || run.waiting.length === 0) return;
    const { client, clock, logger } = this.#options;
    if (run.leftOut > 0) {
      const message = `${run.leftOut} lines are left out: they came too fast`;
      run.waiting.push({ timestamp: Math.round(clock.now()), message });
      run.leftOut = 0;
    }
    let length = 0;
    const fitting = run.waiting.findIndex(({ message }, index) => {
      length += message.length;
      return index === maxLines || (index > 0 && length > maxLiveLogLength);
    });
    const lines = run.waiting.slice(0, fitting < 0 ? run.waiting.length : fitting);
    run.isSending = true;
    try {
      await client.sendLogs(runId, run.position, lines);
      run.position += 1;
      run.waiting.splice(0, lines.length);
      run.waitingLength = run.waiting.reduce((sum, { message }) => sum + message.length, 0);
    } catch (error) {
      const { statusCode } = error instanceof CallFailure ? error : { statusCode: null };
      // Whatever is wrong with a call that is refused stays wrong.
      run.isUnwatched = statusCode !== null && statusCode < 500 && statusCode !== 429;
      if (run.isUnwatched) run.waiting = [];
      logger.debug({ err: error, runId }, 'what a run printed could not be sent');
    } finally {
      run.isSending = false;
    }
  }

  [Symbol.dispose](): void {
    this.#cancel?.();
    this.#runs.clear();
  }
}
