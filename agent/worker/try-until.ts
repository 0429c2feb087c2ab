import { sleep, type Clock } from '@monitor/shared/clock.ts';

const pauseMs = 500;

/**
 * Repeats until success or a deadline on the monotonic clock; gives the last outcome. For the
 * shutdown of an agent: a restarting control plane is back soon, and the agent may lose its disk.
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
