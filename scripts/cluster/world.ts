/** What a cluster monitors, and whom it notifies: the same for `npm run cluster` and its test. */
import { createServer } from 'node:http';
import { listen } from '../../proof/listen.ts';
import type { System } from '../../proof/system.ts';

/** Pages that are up, `/flapping…` pages that are up and down in turns, and a webhook at `/alerts`. */
export async function openTarget(flapEveryMs: number) {
  /** How often each notification was received, by its id. */
  const deliveries = new Map<string, number>();
  const server = createServer((request, response) => {
    request.resume();
    const path = request.url ?? '/';
    if (path === '/alerts') {
      const id = String(request.headers['webhook-id']);
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
    }
    const isUp = !path.startsWith('/flapping') || Math.floor(Date.now() / flapEveryMs) % 2 === 0;
    response.writeHead(isUp ? 200 : 503).end();
  });
  return { ...(await listen(server)), deliveries };
}

interface ChecksToMake {
  /** URL of the target, which hears of their alerts as well. */
  target: string;
  locations: readonly string[];
  ofLocation: number;
  everySeconds: 10 | 30;
}

/** A check with a page of the target. */
interface MadeCheck {
  id: string;
  isFlapping: boolean;
}

/** Makes checks, of which one in six flaps, and a webhook that is notified of their failures and recoveries. */
export async function makeChecks(
  system: System,
  { target, locations, ofLocation, everySeconds }: ChecksToMake,
): Promise<MadeCheck[]> {
  await system.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'counting', method: 'POST', url: `${target}/alerts`, headers: [] },
    ...{ autoSubscribe: true, sendFailure: true, sendRecovery: true, sendDegraded: false },
  });
  const checks: MadeCheck[] = [];
  for (const location of locations) {
    for (let index = 0; index < ofLocation; index += 1) {
      const isFlapping = index % 6 === 0;
      const url = `${target}/${isFlapping ? 'flapping' : 'up'}/${index}`;
      const { id } = await system.createUrlCheck(url, {
        ...{ name: `${location} ${index}`, frequencyOffset: everySeconds },
        // The page is as slow as this machine is busy.
        ...{ degradedResponseTime: null, maxResponseTime: null, privateLocations: [location] },
      });
      checks.push({ id, isFlapping });
    }
  }
  return checks;
}
