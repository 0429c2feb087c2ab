/** Projects as existing clients deploy them. */
import assert from 'node:assert/strict';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import type {
  DeploymentWire,
  DiffEntry,
  ProjectBody,
  ProjectResource,
  ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { Answer } from './control-plane.ts';

interface Api {
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
}

export function resource(
  type: ResourceType,
  logicalId: string,
  payload: Record<string, unknown>,
): ProjectResource {
  return { type, logicalId, member: true, payload };
}

export function projectOf(
  resources: readonly ProjectResource[],
  more: Partial<ProjectBody> = {},
): ProjectBody {
  const project = { logicalId: 'shop', name: 'Shop' };
  return { project, sharedFiles: [], resources: [...resources], ...more };
}

export const ref = (logicalId: string) => ({ ref: logicalId });

export const url = (logicalId: string, fields: Record<string, unknown> = {}): ProjectResource =>
  resource('check', logicalId, {
    ...{ checkType: 'URL', name: logicalId, request: { url: 'https://a.example/' } },
    ...fields,
  });

/** A check of every type, in a group and a private location, and all that a project may hold beside them. */
export function everything(): ProjectBody {
  const checks = Object.values(checkTypes).map(({ type, sample }) =>
    resource('check', type, { checkType: type, name: type, groupId: ref('backend'), ...sample }),
  );
  return projectOf(
    [
      resource('private-location', 'office', {
        ...{ name: 'Office', slugName: 'office', icon: 'location' },
        proxyUrl: 'http://ada:secret@proxy.example:3128',
      }),
      resource('alert-channel', 'mail', { type: 'EMAIL', config: { address: 'ada@example.com' } }),
      resource('alert-channel', 'hook', {
        type: 'WEBHOOK',
        config: { name: 'hook', url: 'https://hooks.example/', webhookSecret: 'secret' },
      }),
      resource('status-page-service', 'checkout', { name: 'Checkout' }),
      resource('check-group', 'backend', {
        ...{ v: 2, name: 'Backend', tags: ['b'] },
        environmentVariables: [{ key: 'TOKEN', value: 'hidden', secret: true }],
      }),
      ...checks,
      url('incident', {
        triggerIncident: {
          ...{ serviceId: ref('checkout'), severity: 'MAJOR', name: 'n', description: 'd' },
          notifySubscribers: false,
        },
      }),
      resource('check', 'shared', {
        ...{ checkType: 'BROWSER', name: 'shared', script: 'await 0;', dependencies: [1] },
        environmentVariables: [{ key: 'PASSWORD', value: 'hidden', secret: true }],
      }),
      resource('status-page', 'page', {
        ...{ name: 'Page', url: 'page-of-shop', description: 'Shop' },
        cards: [{ name: 'Card', services: [ref('checkout')] }],
      }),
      resource('maintenance-window', 'window', {
        ...{ name: 'window', tags: ['b'] },
        ...{ startsAt: '2030-01-01T10:00:00Z', endsAt: '2030-01-01T12:00:00+00:00' },
      }),
      resource('dashboard', 'board', { header: 'Board', customUrl: 'board-of-shop' }),
      resource('alert-channel-subscription', 'subscription#URL#mail', {
        ...{ alertChannelId: ref('mail'), checkId: ref('URL'), activated: true },
      }),
      resource('alert-channel-subscription', 'subscription#backend#hook', {
        ...{ alertChannelId: ref('hook'), groupId: ref('backend'), activated: false },
      }),
      ...checks.map(({ logicalId }) =>
        resource('private-location-check-assignment', `assignment#${logicalId}#office`, {
          ...{ privateLocationId: ref('office'), checkId: ref(logicalId) },
        }),
      ),
      resource('private-location-group-assignment', 'assignment#backend#office', {
        ...{ privateLocationId: ref('office'), groupId: ref('backend') },
      }),
    ],
    {
      sharedFiles: [
        { path: 'unused.ts', content: 'export {};' },
        { path: 'helper.ts', content: 'export const hello = 1;' },
      ],
    },
  );
}

export function pathOf({ logicalId, id }: DeploymentWire): string {
  return `/v1/projects/${encodeURIComponent(logicalId)}/deployments/${id}`;
}

/** Waits for the end of a deployment. */
export async function ended(cp: Api, deployment: DeploymentWire): Promise<DeploymentWire> {
  for (;;) {
    const { status, body } = await cp.api('GET', `${pathOf(deployment)}/completion`);
    if (status === 200) return body;
    assert.equal(status, 408, JSON.stringify(body));
  }
}

/** Deploys and waits for the end. */
export async function deploy(
  cp: Api,
  body: ProjectBody,
  query = '',
  headers: Record<string, string> = {},
): Promise<DeploymentWire> {
  const { status, body: deployment } = await cp.api(
    ...(['POST', `/v1/projects/deploy${query}`, body, headers] as const),
  );
  assert.equal(status, 202, JSON.stringify(deployment));
  return ended(cp, deployment);
}

/** Deploys, and gives what it changed. Throws when it fails. */
export async function deployed(cp: Api, body: ProjectBody, query = ''): Promise<DiffEntry[]> {
  const { status, error, result } = await deploy(cp, body, query);
  assert.equal(status, 'SUCCEEDED', error?.message);
  return result?.diff ?? [];
}

export async function destroyed(cp: Api, query = ''): Promise<DiffEntry[]> {
  const { status, body } = await cp.api('DELETE', `/v1/projects/shop${query}`);
  assert.equal(status, 202, JSON.stringify(body));
  const { result, error } = await ended(cp, body);
  assert.equal(error, null);
  return result?.diff ?? [];
}

/** `CREATE check api` */
export const inWords = (diff: readonly DiffEntry[]): string[] =>
  diff.map(({ action, type, logicalId }) => `${action} ${type} ${logicalId}`);

/** Whether checks of a type run in locations. */
export const hasLocations = (type: string): boolean => !isPinged(type);
