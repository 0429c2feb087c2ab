/** What the images are tried in: a control plane from its own image, targets, locations with keys. */
import { createServer } from 'node:http';
import { callApi } from '../../../proof/api.ts';
import { listen } from '../../../proof/listen.ts';
import { openTargets, targetPortsFrom } from '../../demo/targets.ts';
import { Container } from '../container.ts';

const baseUrl = 'http://127.0.0.1:3000';
export const targetPorts = targetPortsFrom(3100);
/** Long enough to stop an agent meanwhile. */
const slowAnswerMs = 2_500;

export interface World extends AsyncDisposable {
  baseUrl: string;
  /** A website that takes its time, and how often each path of it was asked for. */
  slowUrl: string;
  visits: ReadonlyMap<string, number>;
  api<T>(method: string, path: string, body?: unknown): Promise<T>;
  apiKey: string;
  /** Makes a private location and gives a key for its agents. */
  makeLocation(slugName: string): Promise<string>;
}

/** Asks until something is there. Throws with `describe` after `withinMs`. */
export async function until<T>(
  ask: () => Promise<T | null | undefined | false>,
  withinMs: number,
  describe: () => string,
): Promise<T> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await ask();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** True when an address answers with a success. */
export function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Opens everything; the control plane runs from `image`, as a user that the image does not know. */
export async function openWorld(image: string): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const visits = new Map<string, number>();
  const site = createServer(({ url = '/' }, response) => {
    visits.set(url, (visits.get(url) ?? 0) + 1);
    setTimeout(() => response.end('late'), slowAnswerMs);
  });
  const { url: slowUrl } = stack.use(await listen(site));
  stack.use(await openTargets(targetPorts, () => undefined));
  const controlPlane = stack.use(
    await Container.start({
      ...{ image, user: '34567:34567', dataFolder: '/var/lib/control-plane' },
      environment: { PUBLIC_URL: baseUrl, REQUESTS_PER_MINUTE: '0' },
    }),
  );
  await until(
    () => answers(`${baseUrl}/openapi.json`),
    60_000,
    () => `the control plane is not up:\n${controlPlane.lines.slice(-20).join('\n')}`,
  );
  const words = ['control-plane', 'keys', 'create', '--name', 'smoke', '--json'];
  const made = await controlPlane.exec(words);
  if (made.code !== 0) throw new Error(`no key could be made: ${made.output}`);
  const { rawKey: apiKey } = JSON.parse(made.output) as { rawKey: string };
  const api = <T>(method: string, path: string, body?: unknown) =>
    callApi<T>({ baseUrl, apiKey }, method, path, body);
  const opened = stack.move();
  return {
    ...{ baseUrl, slowUrl, visits, api, apiKey },
    async makeLocation(slugName) {
      const location = { name: slugName, slugName };
      const path = '/v1/private-locations';
      const { keys } = await api<{ keys: [{ rawKey: string }] }>('POST', path, location);
      return keys[0].rawKey;
    },
    async [Symbol.asyncDispose]() {
      const code = await controlPlane.stop();
      await opened.disposeAsync();
      if (code !== 0) throw new Error(`the control plane ended with ${String(code)}`);
    },
  };
}
