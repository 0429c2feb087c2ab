/** The kernel's account of a thread, from a file `schedstat` in /proc. */

/** Milliseconds; monotonic counters. */
export interface ThreadTimes {
  runMs: number;
  waitMs: number;
}

const nsPerMs = 1e6;

/** `<ns on a CPU> <ns waited for one> …`; null for an empty text. */
export function parseSchedstat(text: string | null): ThreadTimes | null {
  const [run, wait] = (text ?? '').trim().split(' ');
  if (run === undefined || wait === undefined || run === '') return null;
  return { runMs: Number(run) / nsPerMs, waitMs: Number(wait) / nsPerMs };
}
