/** What is killed again and again: a system with checks, at random moments. */
import type { System, CheckWire } from './system.ts';

/** A moment between two kills: long enough for a start, short enough to hit everything else. */
export function moment(random: () => number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50 + random() * 1_200));
}

/** A dozen checks of one location, run every ten seconds; a quarter of them fail and are retried. */
export async function makeChecks(system: System, targetUrl: string): Promise<CheckWire[]> {
  const checks: CheckWire[] = [];
  for (let index = 0; index < 12; index += 1) {
    const isFailing = index % 4 === 0;
    checks.push(
      await system.createUrlCheck(`${targetUrl}/${isFailing ? 'fail' : 'ok'}/${index}`, {
        name: `check ${index}`,
        privateLocations: ['here'],
        ...(isFailing
          ? { retryStrategy: { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 2 } }
          : {}),
      }),
    );
  }
  return checks;
}
