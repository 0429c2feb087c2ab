/** Deadlines at which an answer that lies in a socket still counts. */
import type { Clock } from '@monitor/shared/clock.ts';

/**
 * A clock whose delays end after sockets were read once more: timers of a process that was held up fire
 * before it has read what came meanwhile.
 */
export function socketsFirst(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      let isCancelled = false;
      const cancel = clock.after(delayMs, () => {
        setImmediate(() => {
          if (!isCancelled) callback();
        });
      });
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}

/**
 * Calls back when a target has had `limitMs`. `ownMs` is the time so far that the agent took from it,
 * such as by sending late; it is asked again at each end.
 */
export function afterTargetTime(
  clock: Clock,
  limitMs: number,
  ownMs: () => number,
  callback: () => void,
): () => void {
  const from = clock.monotonic();
  let cancel = (): void => undefined;
  const wait = (ms: number): void => {
    cancel = clock.after(ms, () => {
      const leftMs = limitMs + ownMs() - (clock.monotonic() - from);
      if (leftMs >= 1) wait(leftMs);
      else callback();
    });
  };
  wait(limitMs);
  return () => cancel();
}

/** As `afterTargetTime`, for connecting alone where that has less time than the whole. */
export function afterConnectTime(
  clock: Clock,
  { connectMs, timeoutMs }: { connectMs: number; timeoutMs: number },
  ownMs: () => number,
  callback: (connectMs: number) => void,
): () => void {
  if (connectMs >= timeoutMs) return () => undefined;
  return afterTargetTime(clock, connectMs, ownMs, () => callback(Math.round(connectMs)));
}
