/** Limits a request by the time in which this process ran. */

const slices = 10;

export interface OwnTimeLimit extends Disposable {
  /** Aborts at the limit, and with the signal that was given. */
  signal: AbortSignal;
  isOver: boolean;
}

/**
 * What this process was held up for counts as one slice: the answer that came meanwhile is still to be read,
 * and a notification that is sent again would be there twice.
 */
export function ownTimeLimit(ms: number, signal: AbortSignal): OwnTimeLimit {
  const ends = new AbortController();
  const limit: OwnTimeLimit = {
    signal: AbortSignal.any([signal, ends.signal]),
    isOver: false,
    [Symbol.dispose]() {
      clearTimeout(timer);
    },
  };
  let timer: NodeJS.Timeout;
  const wait = (left: number): void => {
    timer = setTimeout(() => {
      if (left > 1) return wait(left - 1);
      limit.isOver = true;
      ends.abort();
    }, ms / slices);
  };
  wait(slices);
  return limit;
}
