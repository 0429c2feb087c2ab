/** Time as a dependency: code that needs instants or delays takes a Clock, so that tests can control it. */

export interface Clock {
  /** Milliseconds since the epoch. It may jump; never measure durations with it. */
  now(): number;
  /** Milliseconds on a monotonic clock. */
  monotonic(): number;
  /** Calls back once after a delay; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

const maxTimerMs = 2_147_483_647;

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), maxTimerMs));
    return () => {
      clearTimeout(timer);
    };
  },
};

/** Resolves after a delay, or at once when the signal aborts; the value says which. */
export function sleep(
  clock: Clock,
  delayMs: number,
  signal?: AbortSignal,
): Promise<'elapsed' | 'aborted'> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve('aborted');
      return;
    }
    const onAbort = (): void => {
      cancel();
      resolve('aborted');
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve('elapsed');
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
