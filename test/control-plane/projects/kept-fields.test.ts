// PostgreSQL in the long tier: projects.test.ts, result-fields.test.ts and escalation.test.ts run its statements on
// both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { checkTypes, findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { bodyOfResource } from '@monitor/shared/contract/resource-bodies.ts';
import { kinds } from '../../../control-plane/projects/kinds/index.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { deployed, everything, inWords, projectOf, resource, url } from '../../support/projects.ts';

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
  const escalationPolicyId = await policyIn(cp);
  for (const row of setByPeople) {
    const alertSettings = { escalationPolicyId };
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
    assert.equal(settings['escalationPolicyId'], escalationPolicyId);
    assert.partialDeepStrictEqual(settings, {
      runBasedEscalation: { failedRunThreshold: row[0] === 'URL' ? 3 : 1 },
    });
  }
  const reset = inWords(await deployed(cp, given, '?complete=true'));
  assert.deepEqual(reset.toSorted(), [
    ...['UPDATE alert-channel mail', 'UPDATE check BROWSER', 'UPDATE check PLAYWRIGHT'],
    ...['UPDATE check URL', 'UPDATE dashboard board', 'UPDATE maintenance-window window'],
    'UPDATE status-page page',
  ]);
  const suite = await read(setByPeople[1] ?? assert.fail());
  assert.deepEqual([suite['shards'], suite['screenshotMasks']], [1, []]);
  assert.equal((suite['alertSettings'] as Fields)['escalationPolicyId'], null);
  assert.deepEqual(await deployed(cp, given, '?complete=true'), []);
});

const created = async (cp: TestControlPlane, path: string, body: object) => {
  const { status, body: entry } = await cp.api('POST', path, body);
  assert.equal(status, 201, JSON.stringify(entry));
  return entry as Fields;
};

async function policyIn(cp: TestControlPlane): Promise<unknown> {
  const channel = await created(cp, '/v1/alert-channels', {
    ...{ type: 'EMAIL', config: { address: 'ada@example.com' } },
  });
  const steps = [{ alertChannelIds: [channel['id']], delayMinutes: 0 }];
  return (await created(cp, '/v1/escalation-policies', { name: 'Night', steps }))['id'];
}

test('settings without a policy leave it as it was, and null takes it away: of checks and groups', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const escalationPolicyId = await policyIn(cp);
  const { id } = await created(cp, '/v1/checks/url', { name: 'Shop', ...checkTypes.URL.sample });
  const { id: group } = await created(cp, '/v2/check-groups', { name: 'Shop' });
  for (const [write, read] of [
    [`/v1/checks/url/${String(id)}`, `/v1/checks/${String(id)}`],
    [`/v2/check-groups/${String(group)}`, `/v1/check-groups/${String(group)}`],
  ] as const) {
    const after = async (alertSettings: object | null) => {
      const answer = await cp.api('PUT', write, { name: 'Shop', alertSettings });
      assert.equal(answer.status, 200, `${write} ${JSON.stringify(answer.body)}`);
      const { alertSettings: now } = (await cp.api('GET', read)).body as { alertSettings: Fields };
      return now;
    };
    const policyAfter = async (given: object) => (await after(given))['escalationPolicyId'];
    assert.equal(await policyAfter({ escalationPolicyId }), escalationPolicyId, write);
    assert.equal(await policyAfter({ escalationType: 'TIME_BASED' }), escalationPolicyId, write);
    assert.equal(await policyAfter({ escalationPolicyId: null }), null, write);
    await after({ escalationPolicyId });
    assert.equal(await after(null), null, write);
  }
});

const three = { runBasedEscalation: { failedRunThreshold: 3 } };

/** What code says of alert settings, and what a deployment makes of those of people with a policy. */
const codes: [code: Fields, global: boolean, threshold: number][] = [
  [{}, false, 2],
  // So do clients whose code says nothing of alerts.
  [{ useGlobalAlertSettings: true }, false, 2],
  [{ alertSettings: null }, false, 2],
  [{ useGlobalAlertSettings: false, alertSettings: three }, false, 3],
];

for (const [code, global, threshold] of codes) {
  test(`a policy of people stays in force beside code that says ${JSON.stringify(code)}`, async () => {
    await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
    const escalationPolicyId = await policyIn(cp);
    const project = projectOf([
      url('shop', code),
      resource('check-group', 'all', { v: 2, name: 'All', ...code }),
    ]);
    const [group, check] = await deployed(cp, project);
    const alertSettings = {
      ...{ escalationPolicyId, runBasedEscalation: { failedRunThreshold: 2 } },
    };
    const set = { name: 'shop', useGlobalAlertSettings: false, alertSettings };
    await cp.api('PUT', `/v1/checks/url/${check?.physicalId}`, set);
    await cp.api('PUT', `/v2/check-groups/${group?.physicalId}`, { ...set, name: 'All' });
    await deployed(cp, project);
    assert.deepEqual(await deployed(cp, project), [], 'a deployment more changes nothing');
    for (const path of [
      `/v1/checks/${check?.physicalId}`,
      `/v1/check-groups/${group?.physicalId}`,
    ]) {
      assert.partialDeepStrictEqual((await cp.api('GET', path)).body, {
        useGlobalAlertSettings: global,
        alertSettings: {
          escalationPolicyId,
          runBasedEscalation: { failedRunThreshold: threshold },
        },
      });
    }
    await deployed(cp, project, '?complete=true');
    assert.deepEqual(await deployed(cp, project, '?complete=true'), []);
    const { body: reset } = await cp.api('GET', `/v1/checks/${check?.physicalId}`);
    assert.equal(reset.alertSettings?.escalationPolicyId ?? null, null);
  });
}

test('a location that is made anew still encrypts its results', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const office = (slugName: string) =>
    projectOf([resource('private-location', 'office', { name: 'Office', slugName })]);
  const [location] = await deployed(cp, office('office'));
  const { publicKey } = await createKeyFile(null);
  const resultEncryptionKeys = [{ name: 'ada', publicKey }];
  const path = `/v1/private-locations/${location?.physicalId}`;
  const { status, body } = await cp.api('PUT', path, { name: 'Office', resultEncryptionKeys });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(inWords(await deployed(cp, office('office-2'))), [
    'CREATE private-location office',
  ]);
  const [anew] = (await cp.api('GET', '/v1/private-locations')).body as Fields[];
  assert.equal(anew?.['slugName'], 'office-2');
  assert.partialDeepStrictEqual(anew['resultEncryptionKeys'], resultEncryptionKeys);
});
