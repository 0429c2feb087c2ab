/**
 * One account with one of everything in it, made through the API: what an authorization test points
 * at and a fuzzer plays with. Each operation has one body with which it succeeds, and the world is made with these.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ShardOutcome } from '@monitor/shared/contract/agent-protocol.ts';
import { analyticsTypeRoutes } from '@monitor/shared/contract/analytics.ts';
import { checkTypeRoutes } from '@monitor/shared/contract/check-routes.ts';
import { checkTypes, isPinged, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { createLocationKey } from '../../control-plane/accounts/keys/store.ts';
import { OAuthClients } from '../../control-plane/accounts/oauth/clients.ts';
import type { Services } from '../../control-plane/core/services.ts';
import { selfSigned, type KeyAndCertificate } from './certificates.ts';
import { checkInOf } from './fake-agent.ts';
import { alertFacts } from './notifications.ts';
import { insertMember, startPersonSession } from './people.ts';
import { resultRow, runRow } from './result-rows.ts';

export interface Target {
  url: string;
  key: string;
}

const trial = {
  ...{ checkType: 'TCP', name: 'tried', locations: ['eu-west-1'] },
  request: { hostname: 'tried.example', port: 5432 },
};

/** The path of a route with its parameters filled in. */
export function pathOf(route: Route, params: Readonly<Record<string, unknown>> = {}): string {
  return route.path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(String(params[name])),
  );
}

/** Names of the parameters in the path of a route. */
export function paramNames(route: Route): string[] {
  return [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

const routeById = new Map<string, Route>(allRoutes.map((route) => [route.operationId, route]));

type Params = Readonly<Record<string, unknown>>;

/** Calls an operation and gives its parsed answer; anything but success is an error. */
export async function callOperation(
  { url, key }: Target,
  operationId: string,
  body?: unknown,
  params?: Params,
  // Answers of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
): Promise<any> {
  const route = routeById.get(operationId);
  assert.ok(route !== undefined, operationId);
  const response = await fetch(url + pathOf(route, params), {
    method: route.method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.status, route.status, `${operationId}: ${text}`);
  return route.response?.parse(JSON.parse(text));
}

/** Random where something must be unique, so that worlds can share an installation. */
const unique = (): string => randomBytes(6).toString('hex');

let pair: Promise<KeyAndCertificate> | undefined;

/** One pair for the whole process: making one takes longer than all else here. */
export function certificatePair(): Promise<KeyAndCertificate> {
  pair ??= selfSigned({ host: 'a.example', validForDays: 30 });
  return pair;
}

const update = { description: 'We are looking into it.', status: 'INVESTIGATING' } as const;

/** A failed result with its error group. */
async function insertFailure(
  { db, clock, newId }: Services,
  accountId: string,
  checkId: string,
  marker: string,
) {
  const now = clock.now();
  const owner = { accountId, checkId };
  const run = await db
    .insertInto('check_runs')
    .values(runRow(owner, now))
    .returning('id')
    .executeTakeFirstOrThrow();
  const result = resultRow(owner, run.id, now, {
    ...{ name: marker, has_failures: 1, response_time_ms: 100, epoch: 1 },
    ...{ started_at: now - 1000, stopped_at: now - 900 },
  });
  await db.insertInto('check_results').values(result).execute();
  const errorGroupId = newId();
  await db
    .insertInto('error_groups')
    .values({
      id: errorGroupId,
      account_id: accountId,
      check_id: checkId,
      error_hash: unique(),
      raw_message: marker,
      cleaned_message: marker,
      first_seen_at: now,
      last_seen_at: now,
      archived_until_next_event: 0,
      archived_for_ever: 0,
    })
    .execute();
  return { resultId: result.id, runId: run.id, errorGroupId };
}

/** What the API cannot make: results of agents, alerts, error groups. */
async function insertRecords(
  services: Services,
  accountId: string,
  checkId: string,
  marker: string,
) {
  const { db, clock, newId } = services;
  const now = clock.now();
  const { resultId, runId, errorGroupId } = await insertFailure(
    services,
    accountId,
    checkId,
    marker,
  );
  await db
    .updateTable('check_statuses')
    .set({
      has_failures: 1,
      longest_run_ms: 100,
      shortest_run_ms: 100,
      last_run_location: 'eu-west-1',
      last_check_run_id: runId,
      last_started_at: now - 1000,
      created_at: now,
      updated_at: now,
    })
    .where('check_id', '=', checkId)
    .execute();
  const alertId = newId();
  await db
    .insertInto('check_alerts')
    .values({
      id: alertId,
      account_id: accountId,
      check_id: checkId,
      name: marker,
      check_type: 'URL',
      alert_type: 'ALERT_FAILURE',
      run_location: 'eu-west-1',
      response_time_ms: 100,
      error: null,
      status_code: null,
      created_at: now - 1000,
      started_at: now - 1000,
      incident_key: alertId,
    })
    .execute();
  const alert = { key: alertId, kind: 'failing', told: [], reminders: 0, isOver: false };
  await db
    .insertInto('alert_states')
    .values({
      ...{ check_id: checkId, account_id: accountId, wake_at: null, updated_at: now },
      state_json: JSON.stringify({ condition: 'failing', alert: { ...alert, lastSentAt: now } }),
    })
    .execute();
  return { resultId, errorGroupId, alertId };
}

async function insertNotification(
  { db, clock, newId }: Services,
  accountId: string,
  checkId: string,
  channelId: number,
  marker: string,
): Promise<string> {
  const id = newId();
  await db
    .insertInto('alert_notifications')
    .values({
      id,
      account_id: accountId,
      type: 'EMAIL',
      status: 'SUCCESS',
      config_json: JSON.stringify({ address: marker }),
      result: null,
      sent_at: clock.now() - 1000,
      check_type: 'URL',
      check_id: checkId,
      check_alert_id: null,
      alert_channel_id: channelId,
      check_result_id: null,
      facts_json: JSON.stringify(alertFacts()),
    })
    .execute();
  return id;
}

function policyOf(name: string, channelId: number) {
  return { name, steps: [{ delayMinutes: 5, alertChannelIds: [channelId] }] };
}

/** Of a variable that is not there, so that nothing comes of it. */
async function insertDeletion(
  { db, clock, newId }: Services,
  accountId: string,
  marker: string,
): Promise<string> {
  const id = newId();
  const input = { params: { key: marker } };
  const principal = { kind: 'apiKey', accountId, keyId: id, role: 'OWNER' };
  await db
    .insertInto('held_deletions')
    .values({
      ...{ id, account_id: accountId, path: `v1/variables/${id}`, name: marker, was_active: 0 },
      ...{ operation: 'deleteVariable', input_json: JSON.stringify(input), problem: null },
      ...{ principal_json: JSON.stringify(principal), due_at: clock.now() + 86_400_000 },
    })
    .execute();
  return id;
}

async function insertAlertGroup(
  { db, clock, newId }: Services,
  accountId: string,
  { checkId, alertId }: { checkId: string; alertId: string },
  channelId: number,
  marker: string,
): Promise<string> {
  const id = newId();
  const at = clock.now() - 1000;
  const of = { account_id: accountId, alert_channel_id: channelId };
  await db
    .insertInto('alert_groups')
    .values({
      ...{ id, ...of, cause_kind: 'host', cause_name: marker, incident_key: `group/${id}` },
      ...{ opened_at: at, last_sent_at: at, messages: 1 },
    })
    .execute();
  await db
    .insertInto('grouped_alerts')
    .values({
      ...{ id: newId(), ...of, alert_id: alertId, check_id: checkId, check_name: marker },
      ...{ alert_type: 'ALERT_FAILURE', incident_key: alertId, effect: 'PROBLEM' },
      ...{ causes_json: '[]', error: null, began_at: at, joined_at: at, due_at: at },
      ...{ facts_json: null, group_id: id, message_id: newId(), sent_at: at },
    })
    .execute();
  return id;
}

/** Where the program of a world has its codes sent. */
const redirectUri = 'https://program.example/back';

/** What a browser gives; nothing is sent there. */
export const pushSubscription = {
  endpoint: 'https://127.0.0.1:9/send',
  keys: {
    // Of the example of RFC 8291.
    p256dh:
      'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  },
};

export interface World {
  accountId: string;
  /** Part of the name of everything in it, and of nothing else. */
  marker: string;
  /** Raw key of an agent of its private location. */
  agentKey: string;
  /** Id of a program that was registered. */
  program: string;
  /** Ids of the living; kinds whose handlers are missing have none. */
  ids: Record<Kind, (string | number)[]>;
}

/** Makes a world in the account of the key. `marker` must be letters, digits and hyphens. */
export async function buildWorld(
  services: Services,
  target: Target,
  accountId: string,
  marker: string,
): Promise<World> {
  const ids = Object.fromEntries(kinds.map((kind) => [kind, []])) as unknown as World['ids'];
  const redirectUris = [redirectUri];
  const program = new OAuthClients(services).register({ name: marker, redirectUris });
  const world: World = { accountId, marker, agentKey: '', program, ids };
  ids.account.push(accountId);
  ids.tag.push(marker);
  ids.runtime.push('2025.04');
  ids.pingSignal.push('log', 'start', 'fail');
  const build: Build = {
    ...{ services, target, world },
    async make(operationId, fields = {}, params) {
      const body = (await bodiesOf(marker, world))[operationId] as object | undefined;
      const given = body === undefined ? undefined : { ...body, ...fields };
      return callOperation(target, operationId, given, params);
    },
  };
  await makeSettings(build);
  await makePeople(build);
  await makeChecks(build);
  await makeTriggers(build);
  await makeResults(build);
  await makeReports(build);
  await makePages(build);
  await makeProject(build);
  return world;
}

interface Build {
  services: Services;
  target: Target;
  world: World;
  /** Calls an operation with its body, in which these fields are others. */
  make: (operationId: string, fields?: object, params?: Params) => ReturnType<typeof callOperation>;
}

async function makeSettings({ world, make }: Build): Promise<void> {
  const { ids, marker } = world;
  const location = await make('createPrivateLocation');
  world.agentKey = location.keys[0].rawKey;
  ids.slug.push(location.slugName);
  ids.privateLocation.push(location.id);
  ids.privateLocationKey.push(location.keys[0].id);
  const group = await make('createCheckGroup');
  ids.group.push(group.id);
  ids.groupBadge.push(String(group.badgeToken));
  ids.alertChannel.push((await make('createAlertChannel')).id);
  ids.snippet.push((await make('createSnippet')).id);
  ids.variable.push((await make('createVariable', { key: marker })).key);
  const window = await make('createMaintenanceWindow', { tags: [marker] });
  ids.maintenanceWindow.push(window.id);
  for (const { id } of window.nextOccurrences) ids.maintenance.push(id);
  const of = { id: window.id, maintenanceId: ids.maintenance[0] };
  ids.maintenanceUpdate.push((await make('createMaintenanceUpdate', {}, of)).id);
  ids.clientCertificate.push((await make('createClientCertificate')).id);
  ids.apiKey.push((await make('createApiKey')).id);
  ids.invitation.push((await make('createInvitation')).id);
}

async function makePeople({ services, world }: Build): Promise<void> {
  const { ids, accountId, marker } = world;
  const person = await insertMember(services, { accountId, name: marker, role: 'READ_WRITE' });
  ids.person.push(person.id);
  const session = await startPersonSession(services, accountId, person.id);
  ids.personSession.push(session.id);
  const device = await services.db
    .insertInto('push_devices')
    .values({
      ...{ account_id: accountId, person_id: person.id, session_id: session.id, name: marker },
      ...{ endpoint_hash: marker, created_at: 1 },
      subscription_encrypted: services.secrets.encrypt(JSON.stringify(pushSubscription), accountId),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  ids.device.push(device.id);
  const passkey = { id: services.newId(), name: marker, credential_id: `credential-${marker}` };
  await services.db
    .insertInto('passkeys')
    .values({ ...passkey, person_id: person.id, public_key: 'AA', counter: 0, created_at: 1 })
    .execute();
  ids.passkey.push(passkey.id);
}

async function makeChecks({ world, make, target }: Build): Promise<void> {
  const { ids, marker } = world;
  for (const { definition, create } of checkTypeRoutes) {
    const type = definition.type as CheckType;
    const where = { locations: ['eu-west-1'], privateLocations: ids.slug };
    const check = await make(create.operationId, {
      ...{ name: `${marker}-${type}`, tags: [marker], ...(isPinged(type) ? {} : where) },
    });
    ids[`check:${type}`].push(check.id);
    if (type === 'URL') ids.check.push(check.id);
    const { pingToken } = check.heartbeat ?? {};
    if (pingToken === undefined) continue;
    ids.pingToken.push(pingToken);
    await callOperation(target, 'pingHeartbeat', undefined, { pingToken });
    const [page] = await make('listHeartbeatEvents', {}, { checkId: check.id });
    for (const { id } of page.events) ids.heartbeatEvent.push(id);
  }
  const grouped = { checkType: 'URL', name: `${marker}-grouped`, groupId: ids.group[0] };
  ids.groupedCheck.push((await make('createCheck', grouped)).id);
  // Runs nowhere, so that a call of its trigger is answered at once.
  const triggered = { ...checkTypes.TCP.sample, checkType: 'TCP', name: `${marker}-triggered` };
  ids.triggeredCheck.push((await make('createCheck', triggered)).id);
}

/** What starts runs, and what was started. */
async function makeTriggers({ services, world, make }: Build): Promise<void> {
  const { ids, accountId, marker } = world;
  const [triggered] = ids.triggeredCheck;
  const ofCheck = { checkId: triggered };
  ids.checkTriggerToken.push((await make('createCheckTrigger', {}, ofCheck)).token);
  ids.groupTriggerToken.push(
    (await make('createGroupTrigger', {}, { groupId: ids.group[0] })).token,
  );
  const repository = { checkId: triggered, repoId: marker, repoName: marker };
  const onDeployment = await make('createDeploymentTrigger', repository);
  ids.deploymentTrigger.push(onDeployment.id);
  ids.deploymentTriggerToken.push(onDeployment.webhookUrl?.split('/').at(-1) ?? '');
  for (const kind of ['session', 'endedSession'] as const)
    ids[kind].push((await make('triggerCheckSessions')).sessions[0].checkSessionId);
  await make('cancelCheckSession', {}, { checkSessionId: ids.endedSession[0] });
  ids.checkTrial.push((await make('createCheckTrial')).id);
  ids.fileName.push('trace.zip');
  ids.deletion.push(await insertDeletion(services, accountId, marker));
}

/** Results, and what follows from them. */
async function makeResults({ services, target, world, make }: Build): Promise<void> {
  const { ids, accountId, marker } = world;
  const checkId = String(ids.check[0]);
  const records = await insertRecords(services, accountId, checkId, marker);
  ids.checkResult.push(records.resultId);
  ids.checkAlert.push(records.alertId);
  ids.errorGroup.push(records.errorGroupId);
  const image = await fetch(`${target.url}/next/checkly-storage/upload`, {
    ...{ method: 'POST', body: `image of ${marker}` },
    headers: { authorization: `Bearer ${target.key}` },
  });
  const { key: imagePath } = (await image.json()) as { key: string };
  const baseline = services.newId();
  await services.db
    .insertInto('baselines')
    .values({
      ...{ id: baseline, account_id: accountId, check_id: checkId, location: String(ids.slug[0]) },
      ...{ platform: 'linux-x64', project: marker, path: `${marker}.png`, size_bytes: 1 },
      ...{ image_path: imagePath, deployed_digest: null, approved_at: 1 },
    })
    .execute();
  ids.baseline.push(baseline);
  ids.imageDigest.push(imagePath.slice('files/'.length));
  const { errorGroupId, alertId } = records;
  ids.rootCauseAnalysis.push((await make('analyseErrorGroup', {}, { errorGroupId })).id);
  const channelId = Number(ids.alertChannel[0]);
  ids.alertNotification.push(
    await insertNotification(services, accountId, checkId, channelId, marker),
  );
  const { id: policyId } = await make('createEscalationPolicy');
  ids.escalationPolicy.push(policyId);
  await make('createOnCallCalendarLink', {}, { id: policyId });
  ids.alertGroup.push(
    await insertAlertGroup(services, accountId, { checkId, alertId }, channelId, marker),
  );
}

/** A session that a test runner reported, and an error of what another one runs. */
async function makeReports({ services, world, make }: Build): Promise<void> {
  const { ids, accountId, marker } = world;
  const { testSessionId, testResults } = await make('createReportedSession');
  const [{ testResultId }] = testResults;
  await make('finishReportedResult', {}, { testSessionId, testResultId });
  ids.testSession.push(testSessionId);
  ids.testResult.push(testResultId);
  const running = await make('createTestSession');
  const { trial_id: trialId } = await services.db
    .selectFrom('test_results')
    .select('trial_id')
    .where('session_id', '=', String(running.testSessionId))
    .executeTakeFirstOrThrow();
  const failure = await insertFailure(services, accountId, trialId ?? '', marker);
  await make('cancelTestSession', {}, { testSessionId: running.testSessionId });
  ids.testErrorGroup.push(failure.errorGroupId);
}

/** As the sweep writes it: a service that opens a draft, and does. A person overrides its state, so it stays. */
async function insertDraft(
  { db, newId, clock }: Services,
  accountId: string,
  { serviceId, checkId }: { serviceId: string; checkId: string },
  marker: string,
): Promise<string> {
  const id = newId();
  const opens = { as: 'DRAFT', name: marker, severity: 'MINOR', description: marker };
  const shown = { failing: 'major_outage', degraded: 'degraded_performance', afterMinutes: 0 };
  const rule = { by: 'ANY', ...shown, opens: { ...opens, notifySubscribers: false } };
  await db
    .updateTable('services')
    .set({
      rule_json: JSON.stringify(rule),
      override_json: JSON.stringify({ state: 'major_outage', until: clock.now() + 3_600_000 }),
    })
    .where('id', '=', serviceId)
    .execute();
  await db
    .insertInto('service_sources')
    .values({ account_id: accountId, service_id: serviceId, check_id: checkId, group_id: null })
    .execute();
  await db
    .insertInto('service_incidents')
    .values({
      ...{ service_id: serviceId, account_id: accountId, group_id: id, state: 'DRAFT' },
      ...{ incident_id: null, cause_key: marker, cause: marker, checks_json: '[]' },
      created_at: clock.now(),
    })
    .execute();
  return id;
}

async function makePages({ services, world, make }: Build): Promise<void> {
  const { ids, accountId, marker } = world;
  const checkId = String(ids.check[0]);
  for (const kind of ['incidentDraft', 'publishedDraft'] as const) {
    const { id: serviceId } = await make('createService');
    ids.service.push(serviceId);
    ids[kind].push(await insertDraft(services, accountId, { serviceId, checkId }, marker));
  }
  ids.service.pop();
  const cards = [{ name: marker, services: [{ id: ids.service[0] }] }];
  const page = await make('createStatusPage', { cards });
  ids.statusPage.push(page.id);
  const ofPage = { statusPageId: page.id };
  await make('createStatusPageSubscriptions', {}, ofPage);
  ids.subscription.push((await make('listStatusPageSubscriptions', {}, ofPage))[0].id);
  const incident = await make('createIncident');
  ids.incident.push(incident.id);
  ids.incidentUpdate.push(incident.incidentUpdates[0].id);
  const dashboard = await make('createDashboard');
  ids.dashboard.push(dashboard.dashboardId);
  ids.dashboardNumber.push(dashboard.id);
  const ofDashboard = await make('createDashboardIncident');
  ids.dashboardIncident.push(ofDashboard.id);
  ids.dashboardIncidentUpdate.push(ofDashboard.incidentUpdates[0].id);
}

async function makeProject({ world, make }: Build): Promise<void> {
  const { ids, marker } = world;
  const { id: deploymentId } = await make('deployProject');
  const params = { logicalId: marker, deploymentId };
  await make('awaitDeployment', {}, params);
  ids.project.push(marker);
  ids.projectId.push((await make('getProject', {}, params)).id);
  ids.deployment.push(deploymentId);
  ids.importPlan.push((await make('createImportPlan', importOf('dashboard'), params)).id);
}

function projectOf(name: string) {
  return { project: { logicalId: name, name }, resources: [] };
}

function importOf(type: string) {
  return {
    filters: [{ type: 'exclude' as const }, { type: 'include' as const, resource: { type } }],
  };
}

const analyticsKinds: ReadonlyMap<string, Kind> = new Map(
  analyticsTypeRoutes.map(({ type, route }) => [route.path, `check:${type}` as Kind]),
);
const checkTypeKinds: ReadonlyMap<string, Kind> = new Map(
  checkTypeRoutes.map(({ definition, update: { path } }) => [
    path,
    `check:${definition.type}` as Kind,
  ]),
);

/** Kind of a parameter, by the part of the path up to and with it; the first that matches. */
const kindsByPath = [
  [/^\/v1\/checks\/heartbeats\/\{checkId\}$/, 'check:HEARTBEAT'],
  [/^\/v1\/checks\/heartbeats\/.*\{id\}$/, 'heartbeatEvent'],
  [/^\/ping\/\{pingToken\}$/, 'pingToken'],
  [/^\/ping\/.*\{signal\}$/, 'pingSignal'],
  [/^\/checks\/\{checkId\}$/, 'triggeredCheck'],
  [/^\/checks\/.*\{token\}$/, 'checkTriggerToken'],
  [/^\/check-groups\/.*\{token\}$/, 'groupTriggerToken'],
  [/^\/v1\/triggers\/checks\/\{checkId\}$/, 'triggeredCheck'],
  [/check-groups\/\{\w+\}\/checks\/\{checkId\}$/, 'groupedCheck'],
  [/badges\/groups\/\{\w+\}$/, 'groupBadge'],
  [/check-groups\/\{\w+\}$/, 'group'],
  [/\{(testSessionId|schedulingId)\}$/, 'testSession'],
  [/\{testResultId\}$/, 'testResult'],
  [/^\/v1\/test-session-error-groups\/\{id\}$/, 'testErrorGroup'],
  [/\{testSessionErrorGroupId\}$/, 'testErrorGroup'],
  [/\{projectId\}$/, 'projectId'],
  [/^\/v1\/deployment-triggers\/\{id\}$/, 'deploymentTrigger'],
  [/^\/deployment-triggers\/\{token\}$/, 'deploymentTriggerToken'],
  [/\/completion$/, 'endedSession'],
  [/^\/v1\/deletions\/\{id\}$/, 'deletion'],
  [/check-trials\/\{id\}$/, 'checkTrial'],
  [/\{checkSessionId\}$/, 'session'],
  [/\{(checkResultId|resultId)\}$/, 'checkResult'],
  [/artifacts\/\{resultId\}\/\{name\}$/, 'fileName'],
  [/\/baselines\/\{id\}/, 'baseline'],
  [/\/baselines\/\{checkId\}\/\{digest\}$/, 'imageDigest'],
  [/^\/v1\/root-cause-analyses\/error-groups\/\{errorGroupId\}$/, 'errorGroup'],
  [/^\/v1\/root-cause-analyses\/\{id\}$/, 'rootCauseAnalysis'],
  [/^\/v1\/error-groups\/\{id\}$/, 'errorGroup'],
  [/code-bundles\/\{checkId\}$/, 'check:PLAYWRIGHT'],
  [/playwright-checks\/\{id\}$/, 'check:PLAYWRIGHT'],
  [/\{checkId\}$/, 'check'],
  [/^\/v\d\/checks\/\{id\}$/, 'check'],
  [/^\/v1\/snippets\/\{id\}$/, 'snippet'],
  [/^\/v1\/variables\/\{key\}$/, 'variable'],
  [/^\/v1\/alert-channels\/\{id\}$/, 'alertChannel'],
  [/^\/v1\/alert-notifications\/\{id\}$/, 'alertNotification'],
  [/^\/v1\/alert-(groups|overview)\/\{id\}$/, 'alertGroup'],
  [/^\/v1\/(escalation-policies|on-call-calendars)\/\{id\}$/, 'escalationPolicy'],
  [/^\/v1\/check-alerts\/\{id\}$/, 'checkAlert'],
  [/^\/v1\/maintenance-windows\/\{id\}$/, 'maintenanceWindow'],
  [/\{maintenanceId\}$/, 'maintenance'],
  [/\{maintenanceId\}\/updates\/\{updateId\}$/, 'maintenanceUpdate'],
  [/^\/v1\/client-certificates\/\{id\}$/, 'clientCertificate'],
  [/^\/v1\/private-locations\/\{id\}$/, 'privateLocation'],
  [/\{keyId\}$/, 'privateLocationKey'],
  [/^\/v1\/api-keys\/\{id\}$/, 'apiKey'],
  [/^\/v1\/people\/\{id\}$/, 'person'],
  [/\{userId\}$/, 'person'],
  [/^\/v1\/invitations\/\{id\}$/, 'invitation'],
  [/^\/v1\/users\/me\/sessions\/\{id\}$/, 'personSession'],
  [/^\/v1\/users\/me\/passkeys\/\{id\}/, 'passkey'],
  [/^\/v1\/users\/me\/devices\/\{id\}/, 'device'],
  [/\{accountId\}$/, 'account'],
  [/^\/v1\/runtimes\/\{id\}$/, 'runtime'],
  [/\{statusPageId\}$/, 'statusPage'],
  [/\{subscriptionId\}$/, 'subscription'],
  [/\{serviceId\}$/, 'service'],
  [/\{draftId\}$/, 'incidentDraft'],
  [/^\/v1\/status-pages\/incidents\/\{incidentId\}$/, 'incident'],
  [/\{incidentUpdateId\}$/, 'incidentUpdate'],
  [/\{logicalId\}$/, 'project'],
  [/\{deploymentId\}$/, 'deployment'],
  [/\{planId\}$/, 'importPlan'],
  [/\{dashboardId\}$/, 'dashboard'],
  [/^\/v1\/incidents\/\{\w+\}$/, 'dashboardIncident'],
  [/^\/v1\/incidents\/\{incidentId\}\/updates\/\{id\}$/, 'dashboardIncidentUpdate'],
] as const;

/** Everything an account can have; each kind has at least one. */
export type Kind =
  (typeof kindsByPath)[number][1] | `check:${CheckType}` | (typeof furtherKinds)[number];
const furtherKinds = ['publishedDraft', 'tag', 'slug', 'dashboardNumber'] as const;
const kinds: readonly Kind[] = [
  ...kindsByPath.map(([, kind]) => kind),
  ...(Object.keys(checkTypes) as CheckType[]).map((type) => `check:${type}` as const),
  ...furtherKinds,
];

/** What each parameter in the path of a route names. */
export function kindsOfParams(route: Route): Map<string, Kind> {
  const found = new Map<string, Kind>();
  for (const name of paramNames(route)) {
    const end = route.path.indexOf(`{${name}}`) + name.length + 2;
    const upTo = route.path.slice(0, end);
    const isWait = /sessions\/.*\/completion$/.test(route.path);
    const kind =
      (route.path.endsWith('{draftId}/publish') ? 'publishedDraft' : undefined) ??
      analyticsKinds.get(route.path) ??
      checkTypeKinds.get(route.path) ??
      (isWait && name === 'checkSessionId'
        ? 'endedSession'
        : kindsByPath.find(([pattern]) => pattern.test(upTo))?.[1]);
    assert.ok(kind !== undefined, `world.ts does not know what ${name} of ${route.path} names`);
    found.set(name, kind);
  }
  return found;
}

/** The query of a call that would succeed. */
export function exampleQuery(route: Route, now: number): Record<string, string> {
  if (analyticsKinds.has(route.path)) return { metrics: 'availability' };
  switch (route.operationId) {
    case 'listMetrics':
      return { checkType: 'URL' };
    case 'getPrivateLocationMetrics':
      return { from: String(Math.floor(now / 1000) - 3600), to: String(Math.floor(now / 1000)) };
    case 'awaitTestSession':
    case 'awaitTestSessionScheduling':
    case 'awaitCheckSession':
    case 'awaitCheckSessionV1':
      return { maxWaitSeconds: '1' };
    case 'importFiles':
      return { dryRun: 'false' };
    default:
      return {};
  }
}

/** Of the right shape, and no answer to any question. */
const newCredential = {
  ...{ id: 'AA', rawId: 'AA', type: 'public-key', clientExtensionResults: {} },
  response: { clientDataJSON: 'AA', attestationObject: 'AA' },
};
const agentId = '11111111-1111-4111-8111-111111111111';

const checkIn = checkInOf({ agentId });
const sharedRun = {
  ...{ checkId: agentId, checkRevision: 1, runId: agentId, attempt: 1, slotLocation: 'here' },
  ...{ scheduledFor: null, jobId: agentId },
};
export const outcomeOfShard: ShardOutcome = {
  ...{ startedAt: 1, stoppedAt: 2, responseTime: 1, hasFailures: false, hasErrors: false },
  ...{ isDegraded: false, overMaxResponseTime: false, underLoad: false, reason: null },
  ...{ errorMessages: [], artifacts: [], playwrightCheckResult: null },
};
const testJob = { checkType: 'URL', logicalId: 'shop', sourceInfo: {} };

/** A body for every operation that takes one, with which it would succeed in this world. */
export async function exampleBodies(world: World): Promise<ReadonlyMap<string, unknown>> {
  return new Map(Object.entries(await bodiesOf('changed', world)));
}

/** By operation; `name` is what things in them are called. */
async function bodiesOf(
  name: string,
  { ids, marker, program }: World,
): Promise<Record<string, unknown>> {
  const services = [{ id: ids.service[0] ?? agentId }];
  const page = { name, url: `p-${unique()}`, cards: [] };
  const window = {
    name,
    startsAt: '2099-02-01T00:00:00Z',
    endsAt: '2099-02-01T01:00:00Z',
    repeatUnit: null,
  };
  const certificate = { ...(await certificatePair()), host: `${name}.example` };
  const target = { target: { checkId: ids.check } };
  const group = { name };
  const service = { name };
  const incident = { name, severity: 'MAJOR', services };
  return {
    ...Object.fromEntries(
      checkTypeRoutes.flatMap(({ definition, create, update: change }) => [
        [create.operationId, { ...definition.sample, name }],
        [change.operationId, { name }],
      ]),
    ),
    createCheck: { ...checkTypes.URL.sample, name, checkType: 'URL' },
    updateCheck: { name },
    getAnalyticsOfChecks: { checkIds: ids.check },
    createPrivateLocation: { name, slugName: `l-${unique()}` },
    updatePrivateLocation: { name },
    createCheckGroupV1: group,
    createCheckGroup: group,
    updateCheckGroupV1: group,
    updateCheckGroup: group,
    createSnippet: { name, script: 'await 1;' },
    updateSnippet: { name, script: 'await 1;' },
    createVariable: { key: `${name}-${unique()}`, value: name },
    updateVariable: { value: name },
    createAlertChannel: { type: 'EMAIL', config: { address: `${name}@a.example` } },
    updateAlertChannel: { sendDegraded: true },
    subscribeAlertChannel: { checkId: ids.check[0], activated: true },
    triggerCheckSessionsV1: target,
    triggerCheckSessions: target,
    createCheckTrial: trial,
    previewSchedule: { frequency: 10, frequencyOffset: 1, locations: ['eu-west-1'] },
    cancelCheckSession: {},
    acknowledgeAlert: {},
    createEscalationPolicy: policyOf(name, Number(ids.alertChannel[0])),
    updateEscalationPolicy: { name },
    acknowledgeAlertGroup: {},
    cancel: { checkSessionId: ids.session[0] },
    updateErrorGroup: { archiveForEver: true },
    analyseErrorGroup: {},
    analyseTestSessionErrorGroup: {},
    updateTestSessionErrorGroup: { archivedUntilNextEvent: true },
    createDeploymentTrigger: { checkId: ids.groupedCheck[0], repoId: 1, repoName: name },
    callDeploymentTrigger: {},
    createMaintenanceWindow: window,
    previewMaintenanceWindow: window,
    updateMaintenanceWindow: { name },
    updateMaintenance: { endsAt: '2099-06-01T00:00:00Z' },
    createMaintenanceUpdate: { description: name },
    updateMaintenanceUpdate: { description: name },
    createStatusPage: page,
    previewStatusPage: { name: page.name, cards: page.cards },
    updateStatusPage: { ...page, url: `q-${unique()}` },
    createStatusPageSubscriptions: { subscriptions: [{ config: `${name}@a.example` }] },
    createService: service,
    updateService: service,
    createIncident: { ...incident, incidentUpdates: [update] },
    updateIncident: incident,
    patchIncident: { name },
    createIncidentUpdate: update,
    updateIncidentUpdate: { description: 'changed' },
    createDashboard: { header: name },
    updateDashboard: { header: name },
    deployProject: projectOf(name),
    deployProjectAtOnce: projectOf(name),
    createProject: { logicalId: `p-${unique()}`, name },
    createImportPlan: importOf('status-page-service'),
    startShadow: { baseUrl: 'https://other.example', apiKey: 'cu_0123456789' },
    importFiles: {
      files: [{ path: 'checks.csv', text: 'name,target\nShop,https://shop.example\n' }],
      locations: ['eu-west-1'],
    },
    approveBaselines: {},
    peekCodeBundle: { key: 'bundles/none.tgz' },
    downloadFile: { key: 'files/none' },
    createDashboardIncident: {
      name,
      dashboardId: ids.dashboardNumber[0] ?? 1,
      incidentUpdates: [update],
    },
    updateDashboardIncident: { name },
    createDashboardIncidentUpdate: update,
    updateDashboardIncidentUpdate: { description: 'changed' },
    createClientCertificate: certificate,
    createApiKey: { name, role: 'READ_ONLY' },
    authorizeClient: {
      clientId: program,
      name: marker,
      redirectUri,
      codeChallenge: 'a'.repeat(43),
    },
    updateAccount: { name, alertSettings: {} },
    updateApiKey: { name },
    replayAlerts: {},
    updatePerson: { role: 'READ_ONLY' },
    updateAccountMember: { role: 'READ_ONLY' },
    updateMemberOfAccount: { role: 'READ_ONLY' },
    publishIncidentDraft: {},
    createInvitation: { email: `${name}-${unique()}@a.example` },
    updateMe: { name },
    beginMySecondFactor: { password: name },
    confirmMySecondFactor: { code: '123456' },
    removeMySecondFactor: { password: name, code: '123456' },
    addMyDevice: { name, subscription: pushSubscription },
    beginMyPasskey: { password: name },
    addMyPasskey: { name, state: 'v1.a', credential: newCredential },
    renameMyPasskey: { name },
    removeMyPasskey: { password: name },
    changeMyPassword: { currentPassword: name, newPassword: 'the second one is longer' },
    agentCheckIn: checkIn,
    agentSubmitResults: { agentId, items: [{}] },
    agentRenewLeases: { agentId, jobIds: [] },
    agentReleaseJobs: { agentId, jobIds: [] },
    agentShareRun: { agentId, run: sharedRun, has: [], claims: true, waitMs: 0 },
    agentFinishShard: { agentId, jobId: agentId, outcome: JSON.stringify(outcomeOfShard) },
    agentReportOpenRuns: { agentId, runs: [] },
    runTestSession: {
      ...{ name, runLocation: 'eu-west-1' },
      checkRunJobs: [{ ...checkTypes.URL.sample, ...testJob, name }],
    },
    createTestSession: { name, runLocation: 'eu-west-1', target: { checkId: ids.check } },
    triggerTestSession: { name, runLocation: 'eu-west-1', checkId: ids.check },
    cancelTestSession: {},
    createReportedSession: { name, testResults: [{ name }] },
    finishReportedResult: { status: 'PASSED' },
    agentSendLogs: {
      ...{ agentId, runId: agentId, position: 0 },
      lines: [{ timestamp: 1, message: name }],
    },
    agentGoodbye: { agentId },
    agentReportErrors: { agentId, version: '0.1.0', events: [{ code: 'TEST', count: 1 }] },
  };
}

/** A further account with a key that may do everything. */
export async function createAccount(services: Services, name: string): Promise<string> {
  const id = services.newId();
  await services.db
    .insertInto('accounts')
    .values({ id, name, created_at: services.clock.now(), settings_json: '{"badges":true}' })
    .execute();
  return id;
}

/** A key of an agent of a data-center location. */
export async function agentKeyOf(
  services: Services,
  accountId: string,
  location: string,
): Promise<string> {
  return (await createLocationKey(services, accountId, location, null)).rawKey;
}
