import { sleep, type Clock } from '@monitor/shared/clock.ts';

const pauseMs = 500;

/**
 * Tries until it is done or the time on the monotonic clock is over; gives what the last try gave. For
 * the last words of an agent: a control plane that is being replaced is back in a moment, and an agent
 * that is asked to stop may have no disk to come back to.
 */
export async function tryUntil<T>(
  clock: Clock,
  until: number,
  attempt: () => Promise<T>,
  isDone: (outcome: T) => boolean,
): Promise<T> {
  for (;;) {
    const outcome = await attempt();
    if (isDone(outcome) || clock.monotonic() + pauseMs >= until) return outcome;
    await sleep(clock, pauseMs);
  }
}
