/** What a cluster monitors, and whom it notifies: the same for `npm run cluster` and its test. */
import { createServer } from 'node:http';
import { callApi, type ApiCall } from '../../proof/api.ts';
import { listen } from '../../proof/listen.ts';

export interface Target extends AsyncDisposable {
  url: string;
  /** How often each notification was received, by its id. */
  deliveries: ReadonlyMap<string, number>;
}

/** Pages that are up, `/flapping…` pages that are up and down in turns, and a webhook at `/alerts`. */
export async function openTarget(flapEveryMs: number): Promise<Target> {
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

/** Makes private locations, and gives a key of each. */
export async function makeLocations(api: ApiCall, slugNames: readonly string[]): Promise<string[]> {
  const keys: string[] = [];
  for (const slugName of slugNames) {
    const made = await callApi<{ keys: [{ rawKey: string }] }>(
      api,
      'POST',
      '/v1/private-locations',
      { name: slugName, slugName },
    );
    keys.push(made.keys[0].rawKey);
  }
  return keys;
}

export interface ChecksToMake {
  /** URL of the target, which hears of their alerts as well. */
  target: string;
  locations: readonly string[];
  ofLocation: number;
  everySeconds: 10 | 30;
  /** One of so many flaps. */
  flappingOneOf: number;
}

/** A check with a page of the target. */
export interface MadeCheck {
  id: string;
  isFlapping: boolean;
}

/** Makes checks, and a webhook that is notified of their failures and recoveries. */
export async function makeChecks(
  api: ApiCall,
  { target, locations, ofLocation, everySeconds, flappingOneOf }: ChecksToMake,
): Promise<MadeCheck[]> {
  await callApi(api, 'POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'counting', method: 'POST', url: `${target}/alerts`, headers: [] },
    autoSubscribe: true,
    sendFailure: true,
    sendRecovery: true,
    sendDegraded: false,
  });
  const checks: MadeCheck[] = [];
  for (const location of locations) {
    for (let index = 0; index < ofLocation; index += 1) {
      const isFlapping = index % flappingOneOf === 0;
      const { id } = await callApi<{ id: string }>(api, 'POST', '/v1/checks/url', {
        name: `${location} ${index}`,
        ...{ frequency: 0, frequencyOffset: everySeconds, doubleCheck: false },
        // The page is as slow as this machine is busy.
        ...{ degradedResponseTime: null, maxResponseTime: null },
        privateLocations: [location],
        request: { url: `${target}/${isFlapping ? 'flapping' : 'up'}/${index}` },
      });
      checks.push({ id, isFlapping });
    }
  }
  return checks;
}
