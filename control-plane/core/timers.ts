/**
 * Periodic operations. One that decides by rows runs on every replica, under the locks of these rows.
 * All others are done by one replica at a time: the holder of their lease.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { Logger } from 'pino';
import type { WriteWatch } from './write-watch.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';

/** Returned by an operation that has more to do, and leaves the event loop to others until then. */
export class Again {
  readonly inMs: number;

  constructor(inMs: number) {
    this.inMs = inMs;
  }
}

export interface RepeatedOperation {
  name: string;
  everyMs: number;
  /** `all`: on every replica; `one`: on the holder of the lease of this name. */
  on: 'all' | 'one';
  /** True when it must run again at once, `Again` when after some milliseconds. What takes long ends when it is aborted. */
  run: (stopping: AbortSignal) => Promise<unknown>;
}

/** The lease of an operation was taken over while it ran: what it was about to write is rolled back. */
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`another replica has taken over ${name}`);
    this.name = 'LeaseLost';
  }
}

/** The leases of this replica, by name of the operation. */
export interface Leases {
  holds: (name: string) => boolean;
  /** The same after an attempt to take it. */
  tryHold: (name: string) => Promise<boolean>;
}

/** Operations that run when the process ends may take this long. */
const endWithinMs = 10_000;
/** How often a replica without the lease of an operation looks whether it is free. */
const lookAgainMs = 2_000;

/**
 * Runs each operation periodically and never concurrently; a failure is logged and retried with the
 * next turn.
 */
export function startTimers(
  operations: readonly RepeatedOperation[],
  clock: Clock,
  logger: Logger,
  metrics: Pick<ControlPlaneMetrics, 'timerDuration' | 'timerFailures'>,
  writes: WriteWatch,
  leases: Leases,
): AsyncDisposable {
  const stopping = new AbortController();
  const cancels = new Map<string, () => void>();
  const running = new Set<Promise<void>>();

  const turn = async (operation: RepeatedOperation): Promise<void> => {
    const { name, everyMs } = operation;
    const begunAt = clock.monotonic();
    let delayMs = everyMs;
    try {
      const isMine = operation.on === 'all' || leases.holds(name);
      if (!isMine && !(await leases.tryHold(name))) {
        schedule(operation, Math.min(everyMs, lookAgainMs));
        return;
      }
      const again = await operation.run(stopping.signal);
      if (again === true) delayMs = 0;
      else if (again instanceof Again) delayMs = again.inMs;
    } catch (error) {
      if (error instanceof LeaseLost) logger.info({ operation: name }, error.message);
      else {
        metrics.timerFailures.inc({ operation: name });
        if (!writes.noteFailure(error)) {
          logger.error({ err: error, operation: name }, 'operation failed');
        }
      }
    }
    metrics.timerDuration.observe({ operation: name }, (clock.monotonic() - begunAt) / 1000);
    schedule(operation, delayMs);
  };

  const schedule = (operation: RepeatedOperation, delayMs: number): void => {
    if (stopping.signal.aborted) return;
    const cancel = clock.after(delayMs, () => {
      const work = turn(operation);
      running.add(work);
      void work.finally(() => running.delete(work));
    });
    cancels.set(operation.name, cancel);
  };

  for (const operation of operations) schedule(operation, operation.everyMs);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      for (const cancel of cancels.values()) cancel();
      const ended = new AbortController();
      const all = Promise.all(running).finally(() => {
        ended.abort();
      });
      // What waits for a database that does not answer is left to another replica.
      await Promise.race([all, sleep(clock, endWithinMs, ended.signal)]);
    },
  };
}
