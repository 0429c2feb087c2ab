/** An account of another installation as its public API answers, made from a seed, and a server that gives it. */
import fc from 'fast-check';
import type { z } from 'zod';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { contradictionOf } from '@monitor/shared/contract/checks/target.ts';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { resourceBodies } from '@monitor/shared/contract/resource-bodies.ts';
import { seededRandom } from '../../proof/random.ts';
import { sourceLists, type SourceListName } from '../../control-plane/movers/index.ts';
import { httpReceiver, type HttpReceiver, type Received } from './http-receiver.ts';
import { bodiesOf } from './random-bodies.ts';

type Fields = Record<string, unknown>;

export interface RecordedAccount {
  account: Fields;
  lists: Record<SourceListName, Fields[]>;
  subscribers: Map<string, Fields[]>;
}

const at = '2026-03-01T10:00:00.000Z';
const stamps = { created_at: at, updated_at: null };

/** How many objects of each kind; 308 with twelve checks of each type. */
const amounts: Readonly<Record<Exclude<SourceListName, 'check'>, number>> = {
  'private-location': 6,
  ...{ 'alert-channel': 24, variable: 34, snippet: 16, 'escalation-policy': 0 },
  ...{ 'status-page-service': 16, 'check-group': 20, 'status-page': 6 },
  ...{ 'maintenance-window': 14, dashboard: 8, 'client-certificate': 4 },
  ...{ incident: 10, 'deployment-trigger': 3 },
};

class Recorder {
  readonly #random: () => number;
  readonly #seed: number;
  #drawn = 0;
  readonly lists = Object.fromEntries(
    Object.keys(sourceLists).map((name) => [name, [] as Fields[]]),
  ) as RecordedAccount['lists'];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  uuid(): string {
    const hex = () => Math.floor(this.#random() * 16).toString(16);
    return 'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', hex);
  }

  one<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random() * of.length)] as T;
  }

  maybe<T>(of: readonly T[]): T | null {
    return of.length > 0 && this.#random() < 0.4 ? this.one(of) : null;
  }

  some<T>(of: readonly T[]): T[] {
    return of.filter(() => this.#random() < 0.2).slice(0, 5);
  }

  /** Bodies that a schema accepts, as it reads them. */
  bodies(body: z.ZodType, count: number, isUsable: (fields: Fields) => boolean = () => true) {
    const found: Fields[] = [];
    const drawing = bodiesOf({ body } as never);
    for (let tries = 0; found.length < count && tries < 200; tries += 1) {
      this.#drawn += 1;
      const drawn = fc.sample(drawing, {
        ...{ seed: this.#seed + this.#drawn, numRuns: Math.min(20, 2 * count) },
      });
      for (const value of drawn) {
        const parsed = body.safeParse(value);
        if (!parsed.success || found.length >= count) continue;
        const fields = JSON.parse(JSON.stringify(parsed.data)) as Fields;
        // Characters that no database stores.
        if (/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(fields)) || !isUsable(fields)) continue;
        found.push(fields);
      }
    }
    return found;
  }

  ids(name: SourceListName): unknown[] {
    return this.lists[name].map(({ id }) => id);
  }

  of(type: ResourceType & SourceListName, of: (fields: Fields, number: number) => Fields): void {
    const body = resourceBodies[type];
    if (body === undefined) return;
    const bodies = this.bodies(body, amounts[type as keyof typeof amounts]);
    this.lists[type].push(
      ...bodies.map((fields, number) => ({ ...fields, ...stamps, ...of(fields, number + 1) })),
    );
  }
}

function makeChecks(recorder: Recorder, slugs: readonly string[], checksOfType: number): void {
  const { lists } = recorder;
  for (const definition of Object.values(checkTypes) as CheckTypeDefinition[]) {
    const usable = (fields: Fields) => {
      const found = contradictionOf(definition.type, fields);
      return found === null && fields['frequency'] !== 0;
    };
    const bodies = recorder.bodies(definition.create, checksOfType, usable);
    for (const [number, fields] of bodies.entries()) {
      const id = recorder.uuid();
      const isPinged = definition.runsOn === 'control-plane';
      const pingToken = recorder.uuid();
      const scripts = {
        setupSnippetId: recorder.maybe(recorder.ids('snippet')),
        tearDownSnippetId: recorder.maybe(recorder.ids('snippet')),
      };
      const known = definition.create.shape;
      lists.check.push({
        ...fields,
        ...stamps,
        ...('frequencyOffset' in known && { frequencyOffset: undefined }),
        ...{ id, checkType: definition.type, name: `${definition.label} ${number}` },
        ...{ groupId: recorder.maybe(recorder.ids('check-group')), alertChannels: {} },
        alertChannelSubscriptions: [],
        ...('setupSnippetId' in known && scripts),
        ...('privateLocations' in known && { privateLocations: recorder.some(slugs) }),
        ...('environmentVariables' in known && {
          environmentVariables: [
            { key: 'REGION', value: 'north', locked: false, secret: false },
            { key: 'PASSWORD', value: null, locked: false, secret: true },
          ],
        }),
        triggerIncident: recorder.maybe([
          {
            ...{ serviceId: recorder.one(recorder.ids('status-page-service')) },
            ...{ severity: 'MAJOR', name: 'Down', description: 'It is down' },
            notifySubscribers: true,
          },
        ]),
        ...(isPinged && {
          heartbeat: {
            ...{ period: 1, periodUnit: 'hours', grace: 5, graceUnit: 'minutes', pingToken },
            pingUrl: `https://ping.other.example/${pingToken}`,
          },
        }),
        ...('signature' in known && { signature: null }),
        alertSettings: { ...(fields['alertSettings'] as Fields | null), escalationPolicyId: null },
        // What a newer API may have.
        ...(number === 0 && { retriesAreFree: true, request: withNovelty(fields['request']) }),
        // More than is allowed here.
        ...(number === 1 && 'maxResponseTime' in known && { maxResponseTime: 45_000_000 }),
      });
    }
  }
}

function withNovelty(request: unknown): unknown {
  return request === undefined
    ? undefined
    : { ...(request as Fields), carrierPigeon: { speed: 3 } };
}

export function recordAccount(seed: number, checksOfType = 12): RecordedAccount {
  const recorder = new Recorder(seed);
  const { lists } = recorder;
  recorder.of('private-location', (_fields, number) => ({
    ...{ id: recorder.uuid(), name: `Office ${number}`, slugName: `office-${number}` },
    ...{ proxyUrl: null, resultEncryptionKeys: [] },
    keys: [{ id: recorder.uuid(), maskedKey: 'pl_…1234', ...stamps }],
    ...{ lastSeen: at, agentCount: 2 },
  }));
  const slugs = lists['private-location'].map(({ slugName }) => String(slugName));
  const channelBodies = alertChannelRoutes.createAlertChannel.body.options as readonly z.ZodType[];
  const ofType = amounts['alert-channel'] / channelBodies.length;
  for (const body of channelBodies) {
    for (const fields of recorder.bodies(body, ofType)) {
      const id = lists['alert-channel'].length + 100;
      lists['alert-channel'].push({ ...fields, ...stamps, id, grouping: null, subscriptions: [] });
    }
  }
  recorder.of('variable', (fields, number) => {
    const secret = number % 5 === 0;
    const value = secret ? null : fields['value'];
    return { key: `VARIABLE_${number}`, value, secret, locked: number % 3 === 0 };
  });
  recorder.of('snippet', (_fields, number) => ({ id: number, name: `Snippet ${number}` }));
  recorder.of('status-page-service', (_fields, number) => ({
    ...{ id: recorder.uuid(), name: `Service ${number}`, accountId: recorder.uuid() },
    ...{ follows: undefined, stateOverride: null },
  }));
  recorder.of('check-group', (_fields, number) => ({
    ...{ id: number, name: `Group ${number}`, alertChannelSubscriptions: [], badgeToken: 'b' },
    ...{ setupSnippetId: recorder.maybe(recorder.ids('snippet')), tearDownSnippetId: null },
    ...{ privateLocations: recorder.some(slugs), alertSettings: null },
    environmentVariables: [{ key: 'STAGE', value: 'live', locked: true, secret: false }],
  }));
  makeChecks(recorder, slugs, checksOfType);
  recorder.of('status-page', (_fields, number) => ({
    ...{ id: recorder.uuid(), name: `Page ${number}`, url: `page-${number}-${seed}` },
    ...{ customDomain: null, customDomainStatus: null, isPrivate: number === 1, version: 2 },
    cards: [1, 2].map((card) => ({
      ...{ id: recorder.uuid(), name: `Card ${card}`, ...stamps },
      services: recorder
        .some(lists['status-page-service'])
        .map((service) => ({ ...service, follows: undefined, stateOverride: undefined })),
    })),
  }));
  recorder.of('maintenance-window', (_fields, number) => {
    const scope = {
      ...{ checkIds: recorder.some(recorder.ids('check')), serviceIds: [], statusPageIds: [] },
      groupIds: recorder.some(recorder.ids('check-group')),
    };
    return {
      ...{ id: number, name: `Window ${number}`, tags: ['planned'], pauseScope: scope },
      ...{ startsAt: '2099-01-01T22:00:00.000Z', endsAt: '2099-01-01T23:00:00.000Z' },
      ...{ repeatInterval: 1, repeatUnit: 'WEEK', repeatEndsAt: '2099-06-01T00:00:00.000Z' },
      ...{ silenceScope: { checkIds: [], groupIds: [], serviceIds: [], statusPageIds: [] } },
      ...{ statusPageVisibility: null, nextOccurrences: [], timezone: 'Europe/Berlin' },
      ownerAlertChannelIds: recorder.some(recorder.ids('alert-channel')),
    };
  });
  recorder.of('dashboard', (_fields, number) => ({
    ...{ id: number, dashboardId: `d${number}`, customUrl: `board-${number}-${seed}` },
    ...{ customDomain: null, keys: [], header: `Board ${number}` },
  }));
  for (let number = 1; number <= amounts['client-certificate']; number += 1) {
    lists['client-certificate'].push({
      ...{ id: recorder.uuid(), host: `*.inner-${number}.example`, cert: 'PEM', ca: null },
      created_at: at,
    });
  }
  for (let number = 1; number <= amounts.incident; number += 1) {
    const update = { ...stamps, updated_at: undefined, notifySubscribers: true };
    lists.incident.push({
      ...{ id: recorder.uuid(), name: `Incident ${number}`, severity: 'MINOR', ...stamps },
      services: [recorder.one(lists['status-page-service'])],
      incidentUpdates: ['RESOLVED', 'INVESTIGATING'].map((status, age) => ({
        ...{ ...update, id: recorder.uuid(), description: `It is ${status} (${number})`, status },
        publicIncidentUpdateDate: `2026-03-0${3 - age}T10:00:00.000Z`,
      })),
      ...{ lastUpdateStatus: 'RESOLVED', duration: 86_400_000 },
    });
  }
  for (let id = 1; id <= amounts['deployment-trigger']; id += 1) {
    lists['deployment-trigger'].push({ id, repoName: `acme/shop-${id}`, ...stamps });
  }
  for (const channel of lists['alert-channel']) {
    channel['subscriptions'] = [
      ...recorder.some(recorder.ids('check')).map((checkId) => ({ checkId, groupId: null })),
      ...recorder.some(recorder.ids('check-group')).map((groupId) => ({ checkId: null, groupId })),
    ].map((each, id) => ({ ...each, id, activated: id % 2 === 0 }));
  }
  const subscribers = new Map(
    lists['status-page'].map(({ id }, number): [string, Fields[]] => [
      String(id),
      [
        { type: 'EMAIL', address: `ada-${number}@example.com`, status: 'VERIFIED' },
        { type: 'EMAIL', address: `bob-${number}@example.com`, status: 'PENDING' },
        { type: 'WEBHOOK', address: 'hooks.example', status: 'VERIFIED' },
      ].map((each) => ({ ...each, ...stamps, id: recorder.uuid(), services: null })),
    ]),
  );
  const account = { id: recorder.uuid(), name: 'Acme', runtimeId: '2026.04', features: ['x'] };
  return { account, lists, subscribers };
}

export const recordedKey = 'cu_0123456789abcdef-not-to-be-shown';

interface SourceServer extends HttpReceiver {
  /** Answers that go before, once each, by path. */
  first: {
    path: RegExp;
    answer: { status?: number; headers?: Record<string, string>; body?: string };
  }[];
}

/** Serves a recorded account as the public API does, with its pages and refusals. */
export async function serveAccount(
  recorded: RecordedAccount,
  more: (request: Received) => unknown = () => undefined,
): Promise<SourceServer> {
  const first: SourceServer['first'] = [];
  const byPath = new Map(
    Object.entries(sourceLists).map(([name, list]) => [list.path as string, { name, ...list }]),
  );
  const json = (body: unknown, status = 200, headers = {}) => ({
    ...{ status, headers: { 'content-type': 'application/json', ...headers } },
    body: JSON.stringify(body),
  });
  const server = await httpReceiver((request) => {
    const early = first.findIndex(({ path }) => path.test(request.path));
    const [given] = early === -1 ? [] : first.splice(early, 1);
    if (given !== undefined) return given.answer;
    if (request.method !== 'GET') return json({ message: 'only reads' }, 405);
    if (request.headers.authorization !== `Bearer ${recordedKey}`) {
      return json({ statusCode: 401, error: 'Unauthorized', message: 'Bad token' }, 401);
    }
    const own = more(request);
    if (own !== undefined) return json(own);
    const { path, query } = request;
    if (path === '/v1/accounts/me') return json(recorded.account);
    const [, page] = /^\/v1\/status-pages\/([^/]+)\/subscriptions$/.exec(path) ?? [];
    if (page !== undefined) return json(recorded.subscribers.get(page) ?? []);
    const list = byPath.get(path);
    if (list === undefined) return json({ statusCode: 404, message: 'Not Found' }, 404);
    const all = recorded.lists[list.name as SourceListName];
    const limit = Number(query.get('limit') ?? 10);
    if (limit > 100) return json({ statusCode: 400, message: 'limit' }, 400);
    if (list.paging === 'whole') return json(all);
    if (list.paging === 'cursor') {
      const from = Number(query.get('nextId') ?? 0);
      const entries = all.slice(from, from + limit);
      const nextId = from + limit < all.length ? String(from + limit) : null;
      return json({ length: entries.length, entries, nextId });
    }
    const from = (Number(query.get('page') ?? 1) - 1) * limit;
    const entries = all.slice(from, from + limit);
    const range = `items ${from}-${from + entries.length - 1}/${all.length}`;
    return json(entries, 200, { 'content-range': range });
  });
  return Object.assign(server, { first });
}
