/**
 * Reports runs in progress to the control plane, so that users can see and cancel them. Runs that
 * end within a moment are not reported, so most runs cost no call.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { maxOpenRuns, type OpenRun } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { CallFailure, type ControlPlaneClient } from '../link/control-plane-client.ts';

const tellEveryMs = 1_000;
/** Shorter runs are not reported: they end before anybody could read about them. */
const momentMs = 1_000;
/** The control plane may have lost earlier reports. */
const repeatAfterMs = 30_000;
/** A control plane without this call will not learn it soon. */
const notKnownPauseMs = 600_000;

/** The runs to report at an instant: those that have lasted for a moment, oldest first. */
export function openRunsToReport(runs: Iterable<OpenRun>, now: number): OpenRun[] {
  return [...runs]
    .filter(({ startedAt }) => now - startedAt >= momentMs)
    .sort((left, right) => left.startedAt - right.startedAt)
    .slice(0, maxOpenRuns);
}

export interface OpenRunReportsOptions {
  runs: () => Iterable<OpenRun>;
  client: Pick<ControlPlaneClient, 'reportOpenRuns'>;
  /** The clock that stamps runs. */
  clock: Clock;
  isLinkUp: () => boolean;
  logger: Logger;
}

export class OpenRunReports implements Disposable {
  readonly #options: OpenRunReportsOptions;
  #reported = '[]';
  #toldAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(options: OpenRunReportsOptions) {
    this.#options = options;
    this.#wait();
  }

  /** The control plane has lost the reports. */
  forget(): void {
    this.#toldAt = Number.NEGATIVE_INFINITY;
  }

  #wait(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(tellEveryMs, () => {
      void this.#tell().finally(() => this.#wait());
    });
  }

  async #tell(): Promise<void> {
    const { runs, client, clock, isLinkUp, logger } = this.#options;
    const now = clock.monotonic();
    if (!isLinkUp() || now < this.#pausedUntil) return;
    const list = openRunsToReport(runs(), clock.now());
    const text = JSON.stringify(list);
    const isRepeat = text === this.#reported;
    if (isRepeat && (list.length === 0 || now - this.#toldAt < repeatAfterMs)) return;
    try {
      await client.reportOpenRuns(list);
      this.#reported = text;
      this.#toldAt = now;
    } catch (error) {
      const isUnknown = error instanceof CallFailure && error.statusCode === 404;
      if (isUnknown) this.#pausedUntil = now + notKnownPauseMs;
      logger.debug({ err: error }, 'runs in progress could not be reported');
    }
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#cancel();
  }
}
