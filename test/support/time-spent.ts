/** Time as tests may compare it with a limit: what the machine does beside the test is not in it. */
import { scaledClock } from './scaled-clock.ts';

/** How long this thread was at work for something that waits for nothing, in milliseconds. */
export function workMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/**
 * A watch for what waits, in milliseconds. It stands still while the process is stuck or gets no
 * processor, so what it shows is never more than what has passed.
 */
export function stopwatch(): () => number {
  const clock = scaledClock(1);
  const begun = clock.monotonic();
  return () => clock.monotonic() - begun;
}
