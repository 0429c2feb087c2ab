/** Periodic operations. No logic. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Logger } from 'pino';
import type { DiskWatch } from './disk-watch.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';

export interface RepeatedOperation {
  name: string;
  everyMs: number;
  /** True when it must run again at once. */
  run: () => Promise<unknown>;
}

/**
 * Runs each operation periodically and never concurrently; a failure is logged and retried with the
 * next turn.
 */
export function startTimers(
  operations: readonly RepeatedOperation[],
  clock: Clock,
  logger: Logger,
  metrics: Pick<ControlPlaneMetrics, 'timerDuration' | 'timerFailures'>,
  disk: DiskWatch,
): AsyncDisposable {
  let isStopped = false;
  const cancels = new Map<string, () => void>();
  const running = new Set<Promise<void>>();

  const turn = async (operation: RepeatedOperation): Promise<void> => {
    const { name } = operation;
    const begunAt = clock.monotonic();
    let isBehind = false;
    try {
      isBehind = (await operation.run()) === true;
    } catch (error) {
      metrics.timerFailures.inc({ operation: name });
      if (!disk.noteFailure(error)) {
        logger.error({ err: error, operation: name }, 'operation failed');
      }
    }
    metrics.timerDuration.observe({ operation: name }, (clock.monotonic() - begunAt) / 1000);
    schedule(operation, isBehind ? 0 : operation.everyMs);
  };

  const schedule = (operation: RepeatedOperation, delayMs: number): void => {
    if (isStopped) return;
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
      isStopped = true;
      for (const cancel of cancels.values()) cancel();
      await Promise.all(running);
    },
  };
}
