import type { Clock } from '@monitor/shared/clock.ts';

/** Calls `work` periodically until the returned function is called. */
export function repeat(clock: Clock, everyMs: number, work: () => void): () => void {
  let cancel: () => void = () => undefined;
  const wait = (): void => {
    cancel = clock.after(everyMs, () => {
      work();
      wait();
    });
  };
  wait();
  return () => cancel();
}
