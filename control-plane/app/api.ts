/** Binds every API operation to its handler. */
import { routeGroups } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import type { Config } from '../core/config.ts';
import { bind, type BoundRoute, type Handlers } from '../http/handlers.ts';
import { auditHandlers } from '../audit/index.ts';
import {
  accountHandlers,
  apiKeyHandlers,
  type ApiKeys,
  type LocationKeys,
} from '../accounts/index.ts';
import {
  agentArtifactHandlers,
  artifactHandlers,
  baselineHandlers,
  checkOverviewHandlers,
  checkResultHandlers,
  checkStatusHandlers,
  errorGroupHandlers,
  type ResultIntake,
} from '../results/index.ts';
import { agentHandlers } from '../agents/index.ts';
import {
  alertAcknowledgementHandlers,
  alertChannelHandlers,
  alertDecisionHandlers,
  alertDeliveryHandlers,
  alertGroupHandlers,
  alertOverviewHandlers,
  alertHandlers,
  escalationPolicyHandlers,
} from '../alerting/index.ts';
import {
  analyticsHandlers,
  analyticsTypeBindings,
  checkEventHandlers,
  dayFigures,
  prometheusHandlers,
  reportingHandlers,
} from '../analytics/index.ts';
import { rootCauseHandlers } from '../root-causes/index.ts';
import {
  badgeHandlers,
  dashboardHandlers,
  dashboardIncidentHandlers,
  incidentDraftHandlers,
  serviceHandlers,
  statusPageHandlers,
} from '../status-pages/index.ts';
import {
  agentCodeBundleHandlers,
  checkGroupHandlers,
  checkHandlers,
  checkTypeBindings,
  clientCertificateHandlers,
  codeBundleHandlers,
  type CodeBundleStore,
  runtimeHandlers,
  snippetHandlers,
  variableHandlers,
} from '../checks/index.ts';
import {
  locationHandlers,
  openRunHandlers,
  privateLocationHandlers,
  schedulePreviewHandlers,
  staticIpHandlers,
} from '../scheduling/index.ts';
import {
  checkSessionHandlers,
  checkTrialHandlers,
  checkTriggerHandlers,
  deploymentTriggerHandlers,
} from '../sessions/index.ts';
import {
  clientStorageHandlers,
  compatibilityHandlers,
  secretScanHandlers,
  testReportHandlers,
  testSessionHandlers,
  withExistingNames,
} from '../compat/index.ts';
import {
  type Deployments,
  fileImportHandlers,
  projectHandlers,
  projectImportHandlers,
  withBindings,
} from '../projects/index.ts';
import { deletionHandlers } from '../deletions/index.ts';
import { fleetHandlers } from '../fleet/index.ts';
import { heartbeatHandlers } from '../heartbeats/index.ts';
import { incidentHandlers } from '../incidents/index.ts';
import { maintenanceWindowHandlers } from '../maintenance/index.ts';
import {
  deviceHandlers,
  invitationHandlers,
  type PeopleDeps,
  passkeyHandlers,
  personHandlers,
  profileHandlers,
} from '../people/index.ts';
import { shadowHandlers } from '../shadow/index.ts';
import type { Services } from '../core/services.ts';

type Groups = typeof routeGroups;
type HandlersOfGroups = { [G in keyof Groups]: Handlers<Groups[G]> };

export interface ApiParts {
  services: Services;
  config: Pick<
    Config,
    | 'STRICT_DNS_BODY'
    | 'STATIC_IPS'
    | 'PROMETHEUS_EXISTING_NAMES'
    | 'SLACK_APP_TOKEN'
    | 'ANALYTICS_RETENTION_DAYS'
  >;
  intake: ResultIntake;
  codeBundles: CodeBundleStore;
  locationKeys: LocationKeys;
  apiKeys: ApiKeys;
  people: PeopleDeps;
  deployments: Deployments;
}

export function bindApi({
  services,
  config,
  intake,
  codeBundles,
  locationKeys,
  apiKeys,
  people,
  deployments,
}: ApiParts): BoundRoute[] {
  const handlers: HandlersOfGroups = {
    check: checkHandlers(services),
    heartbeat: heartbeatHandlers(services),
    codeBundle: codeBundleHandlers(codeBundles),
    checkResult: checkResultHandlers(services),
    openRun: openRunHandlers(services),
    artifact: artifactHandlers(services),
    baseline: baselineHandlers(services, codeBundles),
    checkStatus: checkStatusHandlers(services),
    checkOverview: checkOverviewHandlers(services, dayFigures(services)),
    checkEvent: checkEventHandlers(services),
    analytics: analyticsHandlers(services),
    reporting: reportingHandlers(services),
    prometheus: prometheusHandlers(
      services,
      config.PROMETHEUS_EXISTING_NAMES ? withExistingNames : null,
    ),
    privateLocation: privateLocationHandlers(services, locationKeys),
    location: locationHandlers,
    fleet: fleetHandlers(services),
    checkGroup: checkGroupHandlers(services),
    snippet: snippetHandlers(services),
    variable: variableHandlers(services),
    alertChannel: alertChannelHandlers(services, config),
    alert: alertHandlers(services),
    alertDecision: alertDecisionHandlers(services),
    alertDelivery: alertDeliveryHandlers(services),
    alertGroup: alertGroupHandlers(services),
    alertOverview: alertOverviewHandlers(services),
    escalationPolicy: escalationPolicyHandlers(services),
    alertAcknowledgement: alertAcknowledgementHandlers(services),
    checkTrigger: checkTriggerHandlers(services),
    deploymentTrigger: deploymentTriggerHandlers(services),
    checkSession: checkSessionHandlers(services),
    checkTrial: checkTrialHandlers(services),
    schedulePreview: schedulePreviewHandlers(services),
    errorGroup: errorGroupHandlers(services),
    rootCause: rootCauseHandlers(services),
    maintenanceWindow: maintenanceWindowHandlers(services),
    statusPage: statusPageHandlers(services),
    service: serviceHandlers(services),
    incident: incidentHandlers(services),
    incidentDraft: incidentDraftHandlers(services),
    deletion: deletionHandlers(services),
    dashboard: dashboardHandlers(services),
    dashboardIncident: dashboardIncidentHandlers(services),
    clientCertificate: clientCertificateHandlers(services),
    badge: badgeHandlers(services),
    runtime: runtimeHandlers,
    staticIp: staticIpHandlers(config.STATIC_IPS),
    account: accountHandlers(services),
    apiKey: apiKeyHandlers(services, apiKeys),
    passkey: passkeyHandlers(people),
    device: deviceHandlers(services),
    person: personHandlers(people),
    invitation: invitationHandlers(people),
    profile: profileHandlers(people),
    audit: auditHandlers(services),
    secretScan: secretScanHandlers(services),
    compatibility: compatibilityHandlers(services, people),
    project: projectHandlers(services, deployments),
    projectImport: projectImportHandlers(services),
    fileImport: fileImportHandlers(services),
    shadow: shadowHandlers(services, config),
    clientStorage: clientStorageHandlers(services, codeBundles),
    testSession: testSessionHandlers(services),
    testReport: testReportHandlers(services, codeBundles),
    agent: agentHandlers(services, intake),
    agentArtifact: agentArtifactHandlers(services),
    agentCodeBundle: agentCodeBundleHandlers(codeBundles),
  };
  const routes = [
    ...checkTypeBindings(services, config.STRICT_DNS_BODY),
    ...analyticsTypeBindings(services),
    ...Object.entries(routeGroups).flatMap(([group, ofGroup]) =>
      // The types guarantee that each group has its handlers.
      bind<Record<string, Route>>(ofGroup, handlers[group as keyof Groups] as never),
    ),
  ];
  return routes.map((route) => withBindings(services, route));
}
