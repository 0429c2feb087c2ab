/**
 * Signals the end of runs to waiting requests: those that ended here at once, those that ended at
 * another replica when a message says so, otherwise within a second.
 */
import type { Bus } from '../core/bus.ts';
import { engineOf } from '../db/engine.ts';
import { eachIdOf, eachOf, isOneOf, textOfId } from '../db/expressions.ts';
import { daysOf, isOfDays, runDayOf } from '../db/run-days.ts';
import type { Services } from '../core/services.ts';

const askEveryMs = 1_000;

interface SignalParts extends Pick<Services, 'db' | 'clock' | 'logger'> {
  bus: Bus;
}

export class RunSignals {
  readonly #parts: SignalParts;
  /** Whether runs may end at another replica. */
  readonly #mustAsk: boolean;
  readonly #waiting = new Map<string, Set<() => void>>();
  #cancelAsking: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: SignalParts) {
    this.#parts = parts;
    this.#mustAsk = engineOf(parts.db) === 'postgres';
    parts.bus.on('r', (runIds) => {
      this.#wake(runIds === '*' ? [...this.#waiting.keys()] : runIds.split(' '));
    });
  }

  /** True while the control plane stops: nobody may start to wait. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends all waiting. */
  close(): void {
    this.#isClosed = true;
    this.#cancelAsking?.();
    this.#wake([...this.#waiting.keys()]);
  }

  /** Call it after the commit that closed these runs, or that stored what somebody waits for. */
  ended(runIds: Iterable<string>): void {
    for (const runId of runIds) this.#parts.bus.send('r', runId);
  }

  #wake(runIds: Iterable<string>): void {
    for (const runId of runIds) {
      for (const wake of [...(this.#waiting.get(runId) ?? [])]) wake();
    }
  }

  #askSoon(): void {
    if (!this.#mustAsk || this.#isClosed || this.#waiting.size === 0) return;
    this.#cancelAsking ??= this.#parts.clock.after(askEveryMs, () => {
      this.#cancelAsking = null;
      void this.#ask()
        .catch((error: unknown) => {
          this.#parts.logger.debug({ err: error }, 'ended runs could not be read, trying again');
        })
        .finally(() => {
          this.#askSoon();
        });
    });
  }

  /** Asks for all runs that somebody waits for: those that ended, or were cancelled before they began. */
  async #ask(): Promise<void> {
    const { db } = this.#parts;
    const runIds = [...this.#waiting.keys()];
    // They are of no slot.
    const days = daysOf(runIds.map((run_id) => runDayOf({ run_id, scheduled_for: null })));
    const ended = await db
      .selectFrom('check_runs')
      .select(textOfId('run_id').as('run_id'))
      .where(isOneOf('run_id', eachIdOf(runIds)))
      .where(isOfDays('check_runs', days))
      .where('state', '!=', 'RUNNING')
      .union(
        db
          .selectFrom('check_session_runs')
          .select('run_id')
          .where('run_id', 'in', eachOf(runIds))
          .where('cancelled', '=', 1),
      )
      .execute();
    this.#wake(ended.map((row) => row.run_id));
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
      const cancel = this.#parts.clock.after(withinMs, wake);
      signal.addEventListener('abort', wake, { once: true });
      for (const runId of runIds) {
        const waiting = this.#waiting.get(runId) ?? new Set();
        waiting.add(wake);
        this.#waiting.set(runId, waiting);
      }
      this.#askSoon();
      if (signal.aborted || this.#isClosed) wake();
    });
  }
}
