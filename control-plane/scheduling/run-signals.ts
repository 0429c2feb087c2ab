/** Signals the end of runs to waiting requests. */
import type { Clock } from '@monitor/shared/clock.ts';

export class RunSignals {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True while the control plane stops: nobody may start to wait. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends all waiting. */
  close(): void {
    this.#isClosed = true;
    this.ended([...this.#waiting.keys()]);
  }

  /** Call it after the commit that closed these runs. */
  ended(runIds: Iterable<string>): void {
    for (const runId of runIds) {
      for (const wake of this.#waiting.get(runId) ?? []) wake();
    }
  }

  /** Resolves when any of the runs has ended, at the time limit, or on abort. */
  nextEnd(runIds: readonly string[], withinMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        signal.removeEventListener('abort', wake);
        for (const runId of runIds) {
          const waiting = this.#waiting.get(runId);
          waiting?.delete(wake);
          if (waiting?.size === 0) this.#waiting.delete(runId);
        }
        resolve();
      };
      const cancel = this.#clock.after(withinMs, wake);
      signal.addEventListener('abort', wake, { once: true });
      for (const runId of runIds) {
        const waiting = this.#waiting.get(runId) ?? new Set();
        waiting.add(wake);
        this.#waiting.set(runId, waiting);
      }
      if (signal.aborted || this.#isClosed) wake();
    });
  }
}
