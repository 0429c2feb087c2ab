/** What is killed again and again: a system with checks, at random moments. */
import type { System, CheckWire } from './system.ts';

/** A moment between two kills: long enough for a start, short enough to hit everything else. */
export function moment(random: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50 + random() * 1_200));
}

/**
 * Checks of one location, run every 10 or 30 seconds, 72 slots a minute in all; a quarter of them fail
 * and are retried. A slot is run so many seconds late at most: whoever kills agents, which start
 * slowly on a busy machine, needs the 30.
 */
export async function makeChecks(
  system: System,
  targetUrl: string,
  everySeconds: 10 | 30,
): Promise<CheckWire[]> {
  const checks: CheckWire[] = [];
  for (let index = 0; index < (6 * everySeconds) / 5; index += 1) {
    const isFailing = index % 4 === 0;
    checks.push(
      await system.createUrlCheck(`${targetUrl}/${isFailing ? 'fail' : 'ok'}/${index}`, {
        name: `check ${index}`,
        frequencyOffset: everySeconds,
        privateLocations: ['here'],
        ...(isFailing
          ? { retryStrategy: { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 2 } }
          : {}),
      }),
    );
  }
  return checks;
}
