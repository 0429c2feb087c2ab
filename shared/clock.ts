/** Time as an argument. Whoever needs an instant or a delay takes a Clock, so tests can move it. */

export interface Clock {
  /** Milliseconds since the epoch. May jump; never measure durations with it. */
  now(): number;
  /** Milliseconds on a clock that only goes forward. */
  monotonic(): number;
  /** Calls back once after a delay; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

const maxTimerMs = 2_147_483_647;

/** The real one. */
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

/** Resolves after a delay, or at once when the signal aborts; says which. */
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
