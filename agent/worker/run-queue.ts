/**
 * Runs from their creation to the end of their attempt. A run goes through
 *
 *   waiting      for its time: a job that is due later, or the delay before a retry
 *   queued       for a permit of its pool
 *   in progress  its attempt is being made
 *   measured     the attempt is over and gave its permit back; only evidence is gathered
 *
 * The queue does not know what an attempt is, nor what follows from it.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type { OpenRun } from '@monitor/shared/contract/agent-protocol.ts';
import { Permits } from '../permits.ts';
import { keyOfRun, openRunOf, type Run } from './run.ts';

export type PoolName = 'light' | 'heavy';

export interface PoolState {
  running: number;
  queued: number;
  permits: number;
}

/** The turn of one run, from its request for a permit. */
export interface Turn {
  /** Aborted when the run is cancelled or dropped, or when the agent stops. */
  readonly signal: AbortSignal;
  /** True when a user cancelled the run. */
  isCancelled(): boolean;
  /** Its permit goes to the next run, also when called again; `abort` still affects it. */
  releasePermit(): void;
  /** The attempt has ended: its permit goes to the next run, and `abort` no longer affects it. */
  measured(): void;
  /** The run is no longer in progress; it may wait for a retry. */
  end(): void;
}

export interface RunQueueOptions {
  clock: Clock;
  /** Number of permits by pool. */
  permits: Readonly<Record<PoolName, number>>;
  poolOf: (run: Run) => PoolName;
  /** Makes one attempt; called with a permit. */
  attempt: (run: Run, turn: Turn) => Promise<void>;
  onPermit: (run: Run, pool: PoolName, queuedMs: number) => void;
  /** A bug: an attempt or other tracked work was rejected. */
  onBroken: (error: unknown) => void;
}

interface InProgress {
  readonly run: Run;
  readonly openRun: OpenRun;
  readonly controller: AbortController;
  isMeasured: boolean;
}

const cancelledByPerson = new Error('cancelled');

export class RunQueue {
  readonly #options: RunQueueOptions;
  readonly #permits: Record<PoolName, Permits>;
  readonly #waiting = new Map<string, { run: Run; stop: () => void }>();
  readonly #inProgress = new Map<string, InProgress>();
  readonly #busy = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: RunQueueOptions) {
    this.#options = options;
    const { light, heavy } = options.permits;
    this.#permits = { light: new Permits(light), heavy: new Permits(heavy) };
  }

  /** Work that `drain` waits for: queued and running runs, and tracked work. */
  get size(): number {
    return this.#busy.size;
  }

  /** True once nothing new starts. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  pool(name: PoolName): PoolState {
    const { running, queued } = this.#permits[name];
    return { running, queued, permits: this.#options.permits[name] };
  }

  /** Runs that have begun and not ended, including those that wait for a retry. */
  *openRuns(): Generator<OpenRun, void> {
    for (const { openRun, run } of this.#inProgress.values()) {
      // The agent whose run it is reports it.
      if (run.shard === undefined) yield openRun;
    }
    for (const { run } of this.#waiting.values()) {
      if (run.sequenceStartedAt !== null) yield openRunOf(run, run.sequenceStartedAt);
    }
  }

  /** Queues a run when its time has come; at once without a delay. */
  add(run: Run, delayMs = 0): void {
    if (delayMs <= 0) {
      this.#begin(run);
      return;
    }
    const stop = this.#options.clock.after(delayMs, () => {
      this.#waiting.delete(keyOfRun(run));
      this.#begin(run);
    });
    this.#waiting.set(keyOfRun(run), { run, stop });
  }

  /** Makes `drain` wait for this. */
  track(work: Promise<void>): void {
    this.#busy.add(work);
    void work.catch(this.#options.onBroken).finally(() => this.#busy.delete(work));
  }

  #begin(run: Run): void {
    if (this.#isClosed) return;
    const { clock, poolOf, onPermit, attempt } = this.#options;
    const pool = poolOf(run);
    const startedAt = run.sequenceStartedAt ?? clock.now();
    const openRun = openRunOf(run, startedAt);
    const controller = new AbortController();
    const entry: InProgress = { run, openRun, controller, isMeasured: false };
    this.#inProgress.set(keyOfRun(run), entry);
    const since = clock.monotonic();
    this.track(
      this.#permits[pool].run((releasePermit) => {
        onPermit(run, pool, clock.monotonic() - since);
        return attempt(run, this.#turn(keyOfRun(run), entry, releasePermit));
      }),
    );
  }

  #turn(key: string, entry: InProgress, releasePermit: () => void): Turn {
    const { signal } = entry.controller;
    return {
      signal,
      isCancelled: () => signal.reason === cancelledByPerson,
      releasePermit,
      measured: () => {
        entry.isMeasured = true;
        releasePermit();
      },
      end: () => {
        if (this.#inProgress.get(key) === entry) this.#inProgress.delete(key);
      },
    };
  }

  #takeWaiting(key: string): Run | null {
    const waiting = this.#waiting.get(key);
    waiting?.stop();
    this.#waiting.delete(key);
    return waiting?.run ?? null;
  }

  /** A user cancels a run, and its shards. Gives the run if it was waiting for its time: then no attempt records it. */
  cancel(runId: string): Run | null {
    for (const { run, controller } of this.#inProgress.values()) {
      if (run.runId === runId) controller.abort(cancelledByPerson);
    }
    return this.#takeWaiting(runId);
  }

  /** Drops what another agent has, by its `keyOfRun`. */
  drop(key: string): void {
    this.#inProgress.get(key)?.controller.abort();
    this.#takeWaiting(key);
  }

  #close(): void {
    this.#isClosed = true;
    for (const { stop } of this.#waiting.values()) stop();
    this.#waiting.clear();
  }

  /** Starts nothing more. Resolves when nothing is queued or in progress. */
  async drain(): Promise<void> {
    this.#close();
    while (this.#busy.size > 0) await Promise.allSettled(this.#busy);
  }

  /** Starts nothing more, and aborts all running attempts. */
  abort(): void {
    this.#isClosed = true;
    for (const { controller, isMeasured } of this.#inProgress.values()) {
      if (!isMeasured) controller.abort();
    }
  }
}
