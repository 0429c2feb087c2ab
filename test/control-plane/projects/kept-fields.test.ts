import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { checkTypes, findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { bodyOfResource } from '@monitor/shared/contract/resource-bodies.ts';
import { kinds } from '../../../control-plane/projects/kinds/index.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { deployed, everything, inWords } from '../../support/projects.ts';

type Fields = Record<string, unknown>;

const alerting = ['alertSettings', 'retryStrategy', 'doubleCheck', 'useGlobalAlertSettings'];
const running = ['activated', 'muted', 'tags', 'locations', 'privateLocations', 'runParallel'];
const scripts = ['localSetupScript', 'localTearDownScript', 'environmentVariables', 'runtimeId'];

/** The fields that the constructs of existing clients send (release 8.23.2): what code leaves out, it resets. */
const sent: Readonly<Record<string, readonly string[]>> = {
  'private-location': ['name', 'slugName', 'icon', 'proxyUrl'],
  'alert-channel': [
    ...['type', 'config', 'sendRecovery', 'sendFailure', 'sendDegraded', 'sslExpiry'],
    ...['sslExpiryThreshold', 'subscriptions'],
  ],
  'status-page-service': ['name'],
  'check-group': [
    ...[...alerting, ...running, ...scripts, 'name', 'v', 'concurrency', 'apiCheckDefaults'],
    ...['browserCheckDefaults', 'alertChannelSubscriptions'],
  ],
  check: [
    ...[...alerting, ...running, ...scripts, 'name', 'checkType', 'description', 'shouldFail'],
    ...['frequency', 'frequencyOffset', 'groupId', 'triggerIncident', 'request', 'heartbeat'],
    ...['degradedResponseTime', 'maxResponseTime', 'script', 'scriptPath', 'dependencies'],
    ...['sslCheckDomain', 'playwrightConfig', 'snapshots', 'alertChannelSubscriptions'],
    ...['degradedPacketLossThreshold', 'maxPacketLossThreshold', 'agentRuntime', 'cacheHash'],
    ...['playwrightVersion', 'workingDir', 'testCommand', 'installCommand', 'browsers'],
    ...['engine', 'engineVersion'],
  ],
  'status-page': [
    ...['name', 'url', 'customDomain', 'logo', 'redirectTo', 'favicon', 'defaultTheme', 'cards'],
  ],
  'maintenance-window': [
    ...['name', 'tags', 'startsAt', 'endsAt', 'repeatInterval', 'repeatUnit', 'repeatEndsAt'],
  ],
  dashboard: [
    ...['tags', 'customUrl', 'customDomain', 'logo', 'favicon', 'link', 'header', 'description'],
    ...['width', 'refreshRate', 'paginate', 'paginationRate', 'checksPerPage', 'hideTags'],
    ...['useTagsAndOperator', 'enableIncidents', 'expandChecks', 'showHeader', 'isPrivate'],
    // They are never taken from a project.
    ...['showP95', 'showP99', 'customCSS', 'keys'],
  ],
};

/** Fields that a payload without them resets: those with a default. */
function withDefault(type: string, payload: Fields): string[] {
  const body = bodyOfResource(type as never, payload);
  assert.ok(body !== undefined, type);
  const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' });
  const options = (schema.anyOf ?? schema.oneOf ?? [schema]) as { properties?: Fields }[];
  const fields = options.flatMap(({ properties = {} }) => Object.entries(properties));
  return fields.flatMap(([name, field]) => ('default' in (field as object) ? [name] : []));
}

test('a field that existing clients never send is kept, and one that they send is not', () => {
  const clients = kinds.filter(({ isUnknownToClients }) => isUnknownToClients !== true);
  for (const { type, keptUnlessGiven = [] } of clients) {
    const known = sent[type] ?? [];
    const payloads = type === 'check' ? Object.keys(checkTypes) : [''];
    const reset = payloads.flatMap((checkType) => withDefault(type, { checkType, v: 2 }));
    assert.deepEqual(
      reset.filter((name) => !known.includes(name) && !keptUnlessGiven.includes(name)),
      [],
      `${type}: a deployment resets them`,
    );
    assert.deepEqual(
      keptUnlessGiven.filter((name) => known.includes(name)),
      [],
      `${type}: code could not take them back`,
    );
  }
});

/** What people set, by the logical id of `everything()`, with the path of the resource. */
const setByPeople: readonly [string, (id: string) => string, Fields][] = [
  ['mail', (id) => `/v1/alert-channels/${id}`, { autoSubscribe: true, sentByAgents: true }],
  ['PLAYWRIGHT', (id) => `/v1/checks/playwright/${id}`, { shards: 3, screenshotMasks: ['.ad'] }],
  ['BROWSER', (id) => `/v1/checks/browser/${id}`, { screenshotMasks: ['.clock'] }],
  [
    ...(['URL', (id: string) => `/v1/checks/url/${id}`] as const),
    { intent: { goal: 'It sells', requiredOutcomes: [], mustPreserve: [] }, groupOrder: 4 },
  ],
  ['page', (id) => `/v1/status-pages/${id}`, { description: 'All of it', timezone: 'Asia/Tokyo' }],
  ['window', (id) => `/v1/maintenance-windows/${id}`, { pauseAllChecks: true }],
  ['board', (id) => `/v1/dashboards/${id}`, { sortByStatus: true }],
];

test('what people set stays when an existing client deploys again, and a complete project resets it', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const all = everything();
  // Clients have no description of pages.
  const resources = all.resources.map((each) => {
    const { description: _none, ...payload } = each.payload ?? {};
    return each.type === 'status-page' ? { ...each, payload } : each;
  });
  const project = { ...all, resources };
  const diff = await deployed(cp, project);
  const [board] = (await cp.api('GET', '/v1/dashboards')).body as Fields[];
  const pathOf = ([name, path]: (typeof setByPeople)[number]) => {
    const id = diff.find(({ logicalId }) => logicalId === name)?.physicalId;
    return path(String(name === 'board' ? board?.['dashboardId'] : id));
  };
  const read = async (row: (typeof setByPeople)[number]) => {
    const path = pathOf(row).replace(/checks\/\w+\//, 'checks/');
    return (await cp.api('GET', path)).body as Fields;
  };
  const [mail] = (await cp.api('GET', '/v1/alert-channels')).body as Fields[];
  const policy = await cp.api('POST', '/v1/escalation-policies', {
    ...{ name: 'Night', steps: [{ alertChannelIds: [mail?.['id']], delayMinutes: 0 }] },
  });
  assert.equal(policy.status, 201, JSON.stringify(policy.body));
  for (const row of setByPeople) {
    const alertSettings = { escalationPolicyId: policy.body.id as unknown };
    const { name, url, cards } = await read(row);
    const fields = {
      ...row[2],
      ...(findCheckType(row[0]) !== undefined && { alertSettings }),
      ...(cards !== undefined && { name, url, cards }),
    };
    const { status, body } = await cp.api('PUT', pathOf(row), fields);
    assert.equal(status, 200, JSON.stringify(body));
  }
  const ours = await Promise.all(setByPeople.map(read));
  assert.deepEqual(await deployed(cp, project), []);
  const changed = project.resources.map((each) =>
    each.logicalId === 'URL'
      ? {
          ...each,
          payload: {
            ...each.payload,
            alertSettings: { runBasedEscalation: { failedRunThreshold: 3 } },
          },
        }
      : each,
  );
  const given = { ...project, resources: changed };
  assert.deepEqual(inWords(await deployed(cp, given)), ['UPDATE check URL']);
  for (const [at, row] of setByPeople.entries()) {
    const now = await read(row);
    const names = Object.keys(row[2]);
    for (const name of names) assert.deepEqual(now[name], ours[at]?.[name], `${row[0]}.${name}`);
    if (findCheckType(row[0]) === undefined) continue;
    const settings = now['alertSettings'] as Fields;
    assert.equal(settings['escalationPolicyId'], policy.body.id);
    assert.partialDeepStrictEqual(settings, {
      runBasedEscalation: { failedRunThreshold: row[0] === 'URL' ? 3 : 1 },
    });
  }
  const reset = inWords(await deployed(cp, given, '?complete=true'));
  assert.deepEqual(reset.toSorted(), [
    ...['UPDATE alert-channel mail', 'UPDATE check BROWSER', 'UPDATE check PLAYWRIGHT'],
    ...['UPDATE check URL', 'UPDATE dashboard board', 'UPDATE maintenance-window window'],
  ]);
  const suite = await read(setByPeople[1] ?? assert.fail());
  assert.deepEqual([suite['shards'], suite['screenshotMasks']], [1, []]);
  assert.equal((suite['alertSettings'] as Fields)['escalationPolicyId'], null);
  assert.deepEqual(await deployed(cp, given, '?complete=true'), []);
});

test('settings without a policy leave it as it was, and null takes it away: of checks and groups', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const created = async (path: string, body: object) => {
    const { status, body: entry } = await cp.api('POST', path, body);
    assert.equal(status, 201, JSON.stringify(entry));
    return entry as Fields;
  };
  const channel = await created('/v1/alert-channels', {
    ...{ type: 'EMAIL', config: { address: 'ada@example.com' } },
  });
  const { id: escalationPolicyId } = await created('/v1/escalation-policies', {
    ...{ name: 'Night', steps: [{ alertChannelIds: [channel['id']], delayMinutes: 0 }] },
  });
  const { id } = await created('/v1/checks/url', { name: 'Shop', ...checkTypes.URL.sample });
  const group = await created('/v2/check-groups', { name: 'Shop' });
  const id2 = String(group['id']);
  for (const [write, read] of [
    [`/v1/checks/url/${String(id)}`, `/v1/checks/${String(id)}`],
    [`/v2/check-groups/${id2}`, `/v1/check-groups/${id2}`],
  ] as const) {
    const policyAfter = async (alertSettings: object) => {
      const answer = await cp.api('PUT', write, { name: 'Shop', alertSettings });
      assert.equal(answer.status, 200, `${write} ${JSON.stringify(answer.body)}`);
      const { alertSettings: now } = (await cp.api('GET', read)).body as { alertSettings: Fields };
      return now['escalationPolicyId'];
    };
    assert.equal(await policyAfter({ escalationPolicyId }), escalationPolicyId, write);
    assert.equal(await policyAfter({ escalationType: 'TIME_BASED' }), escalationPolicyId, write);
    assert.equal(await policyAfter({ escalationPolicyId: null }), null, write);
  }
});
