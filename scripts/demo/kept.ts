/** What the demo has made once, found again at the next start: keys, people, a webhook, a status page, checks. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Owner, System } from '../../proof/system.ts';
import { demoChecks, demoTag, privateSlug } from './checks.ts';
import { alertTemplate, type TargetPorts } from './targets.ts';

export const demoEmail = 'demo@example.com';
export const pagePath = '/status/demo';

/** Keys and passwords, in a file that others may not read. */
export interface Kept {
  accountId: string;
  apiKey: string;
  dataCenterKey: string;
  privateKey: string;
  /** Of the person who signs in to the console. */
  password: string;
}

export class KeptFile {
  readonly #path: string;
  readonly values: Partial<Kept>;

  constructor(path: string) {
    this.#path = path;
    this.values = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Kept) : {};
  }

  get owner(): Owner | undefined {
    const { accountId, apiKey: rawKey } = this.values;
    return accountId === undefined || rawKey === undefined ? undefined : { accountId, rawKey };
  }

  add(values: Partial<Kept>): void {
    Object.assign(this.values, values);
    writeFileSync(this.#path, JSON.stringify(this.values, null, 2), { mode: 0o600 });
  }

  /** What was kept, or is made now. */
  async ensure(name: keyof Kept, make: () => Promise<string>): Promise<string> {
    if (this.values[name] === undefined) this.add({ [name]: await make() });
    return this.values[name] ?? '';
  }
}

export const makePrivateLocation = (system: System): Promise<string> =>
  system.makeLocation(privateSlug, { name: 'Demo network' });

/** The person who signs in to the console: invited as a colleague would be. Gives a password. */
export async function invitePerson(system: System): Promise<string> {
  const password = randomBytes(12).toString('hex');
  const invitation = { email: demoEmail, role: 'OWNER' };
  const { link } = await system.api<{ link: string }>('POST', '/v1/invitations', invitation);
  const response = await fetch(`${system.baseUrl}/console/session/link/accept`, {
    method: 'POST',
    headers: { 'x-console': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ token: link.split('token=')[1], name: 'Demo', password }),
  });
  if (!response.ok) throw new Error(`the invitation was refused: ${await response.text()}`);
  return password;
}

type Listed<T> = T[] | { entries: T[] };

/** The first of a list that is the same, or a new one. */
async function ensure<T>(
  system: System,
  path: string,
  isSame: (one: T) => boolean,
  body: unknown,
): Promise<T> {
  const found = await system.api<Listed<T>>('GET', `${path}?limit=100`);
  const known = (Array.isArray(found) ? found : found.entries).find(isSame);
  return known ?? system.api<T>('POST', path, body);
}

/** The webhook, the page and its service, and the checks. */
export async function ensureResources(system: System, ports: TargetPorts) {
  const channel = 'demo webhook';
  await ensure<{ config: { name?: string } }>(
    system,
    '/v1/alert-channels',
    ({ config }) => config.name === channel,
    {
      type: 'WEBHOOK',
      config: {
        ...{ name: channel, url: `http://127.0.0.1:${ports.http}/alerts`, method: 'POST' },
        template: alertTemplate,
      },
      ...{ sendDegraded: true, autoSubscribe: true },
    },
  );
  const service = await ensure<{ id: string; name: string }>(
    system,
    '/v1/status-pages/services',
    ({ name }) => name === 'Website',
    { name: 'Website' },
  );
  await ensure<{ url: string }>(system, '/v1/status-pages', ({ url }) => url === 'demo', {
    ...{ name: 'Demo shop', url: 'demo' },
    description: 'How the shop of the demo is doing. Its website goes down every other 40 seconds.',
    cards: [{ name: 'Shop', services: [{ id: service.id }] }],
  });
  const known = await system.api<Check[]>('GET', `/v1/checks?limit=100&tag=${demoTag}`);
  const checks: Check[] = [];
  for (const { pathPart, body } of demoChecks(ports, service.id)) {
    const found = known.find((check) => check.name === body.name);
    checks.push(found ?? (await system.api<Check>('POST', `/v1/checks/${pathPart}`, body)));
  }
  return checks;
}

export interface Check {
  id: string;
  name: string;
  checkType: string;
  heartbeat?: { pingUrl: string };
}
