/** All operations: OpenAPI, the router and the conformance tests iterate over them. */
import { agentArtifactRoutes, agentCodeBundleRoutes, agentRoutes } from './agent-protocol.ts';
import { analyticsRoutes, analyticsTypeRoutes } from './analytics.ts';
import { checkEventRoutes } from './check-event.ts';
import { checkOverviewRoutes } from './check-overview.ts';
import { artifactRoutes, checkResultRoutes } from './check-result-routes.ts';
import { openRunRoutes } from './open-run.ts';
import { checkRoutes, checkTypeRoutes, heartbeatRoutes } from './check-routes.ts';
import { checkStatusRoutes } from './check-status.ts';
import { locationRoutes, privateLocationRoutes } from './private-location.ts';
import { accountRoutes, apiKeyRoutes } from './account.ts';
import { alertAcknowledgementRoutes } from './alert-acknowledgement.ts';
import { alertChannelRoutes } from './alert-channel.ts';
import { alertDecisionRoutes } from './alert-decision.ts';
import { alertGroupRoutes } from './alert-group.ts';
import { alertDeliveryRoutes } from './alert-delivery.ts';
import { alertRoutes } from './alert-notification.ts';
import { alertOverviewRoutes } from './alert-overview.ts';
import { auditRoutes } from './audit-log.ts';
import { badgeRoutes } from './badge.ts';
import { baselineRoutes } from './baseline.ts';
import { checkGroupRoutes } from './check-group.ts';
import { checkTrialRoutes } from './check-trial.ts';
import { checkSessionRoutes, checkTriggerRoutes } from './check-trigger.ts';
import { deploymentTriggerRoutes } from './deployment-trigger.ts';
import { compatibilityRoutes } from './compatibility.ts';
import { projectImportRoutes } from './compatibility/imports.ts';
import { projectRoutes } from './compatibility/projects.ts';
import { clientStorageRoutes } from './compatibility/storage.ts';
import { clientCertificateRoutes } from './client-certificate.ts';
import { codeBundleRoutes } from './code-bundle.ts';
import { dashboardIncidentRoutes, dashboardRoutes } from './dashboard.ts';
import { deletionRoutes } from './deletion.ts';
import { deviceRoutes } from './device.ts';
import { errorGroupRoutes } from './error-group.ts';
import { escalationPolicyRoutes } from './escalation-policy.ts';
import { fileImportRoutes } from './file-import.ts';
import { fleetRoutes } from './fleet.ts';
import { incidentDraftRoutes } from './incident-draft.ts';
import { incidentRoutes } from './incident.ts';
import { maintenanceWindowRoutes } from './maintenance-window.ts';
import { passkeyRoutes } from './passkey.ts';
import { invitationRoutes, personRoutes, profileRoutes } from './person.ts';
import { prometheusRoutes } from './prometheus.ts';
import { reportingRoutes } from './reporting.ts';
import { rootCauseRoutes } from './root-cause.ts';
import { runtimeRoutes } from './runtime.ts';
import { schedulePreviewRoutes } from './schedule-preview.ts';
import { secretScanRoutes } from './secret-scan.ts';
import { shadowRoutes } from './shadow.ts';
import { snippetRoutes } from './snippet.ts';
import { staticIpRoutes } from './static-ip.ts';
import { serviceRoutes, statusPageRoutes } from './status-page.ts';
import { testReportRoutes } from './test-report.ts';
import { testSessionRoutes } from './test-session.ts';
import { variableRoutes } from './variable.ts';
import type { Route } from './route.ts';

/**
 * The routes of all resources, except those of check types. The control plane has a set of handlers
 * for each group.
 */
export const routeGroups = {
  check: checkRoutes,
  heartbeat: heartbeatRoutes,
  codeBundle: codeBundleRoutes,
  checkResult: checkResultRoutes,
  openRun: openRunRoutes,
  artifact: artifactRoutes,
  baseline: baselineRoutes,
  checkStatus: checkStatusRoutes,
  checkOverview: checkOverviewRoutes,
  checkEvent: checkEventRoutes,
  analytics: analyticsRoutes,
  reporting: reportingRoutes,
  prometheus: prometheusRoutes,
  privateLocation: privateLocationRoutes,
  location: locationRoutes,
  fleet: fleetRoutes,
  checkGroup: checkGroupRoutes,
  snippet: snippetRoutes,
  variable: variableRoutes,
  alertChannel: alertChannelRoutes,
  alert: alertRoutes,
  alertDecision: alertDecisionRoutes,
  alertGroup: alertGroupRoutes,
  alertOverview: alertOverviewRoutes,
  escalationPolicy: escalationPolicyRoutes,
  alertAcknowledgement: alertAcknowledgementRoutes,
  alertDelivery: alertDeliveryRoutes,
  checkTrigger: checkTriggerRoutes,
  deploymentTrigger: deploymentTriggerRoutes,
  checkSession: checkSessionRoutes,
  checkTrial: checkTrialRoutes,
  schedulePreview: schedulePreviewRoutes,
  errorGroup: errorGroupRoutes,
  rootCause: rootCauseRoutes,
  maintenanceWindow: maintenanceWindowRoutes,
  statusPage: statusPageRoutes,
  // Before what it is deleted with.
  incidentDraft: incidentDraftRoutes,
  service: serviceRoutes,
  incident: incidentRoutes,
  deletion: deletionRoutes,
  dashboard: dashboardRoutes,
  dashboardIncident: dashboardIncidentRoutes,
  clientCertificate: clientCertificateRoutes,
  badge: badgeRoutes,
  runtime: runtimeRoutes,
  staticIp: staticIpRoutes,
  account: accountRoutes,
  apiKey: apiKeyRoutes,
  passkey: passkeyRoutes,
  device: deviceRoutes,
  person: personRoutes,
  invitation: invitationRoutes,
  profile: profileRoutes,
  audit: auditRoutes,
  secretScan: secretScanRoutes,
  compatibility: compatibilityRoutes,
  project: projectRoutes,
  projectImport: projectImportRoutes,
  fileImport: fileImportRoutes,
  shadow: shadowRoutes,
  clientStorage: clientStorageRoutes,
  testSession: testSessionRoutes,
  testReport: testReportRoutes,
  agent: agentRoutes,
  agentArtifact: agentArtifactRoutes,
  agentCodeBundle: agentCodeBundleRoutes,
} satisfies Record<string, Record<string, Route>>;

export const allRoutes: readonly Route[] = [
  ...checkTypeRoutes.flatMap(({ create, update }) => [create, update] as Route[]),
  ...analyticsTypeRoutes.map(({ route }) => route as Route),
  ...Object.values(routeGroups).flatMap((routes) => Object.values(routes) as Route[]),
];
