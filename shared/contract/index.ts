/** Every operation there is: what OpenAPI, the router and the conformance tests walk. */
import { agentArtifactRoutes, agentCodeBundleRoutes, agentRoutes } from './agent-protocol.ts';
import { analyticsRoutes } from './analytics.ts';
import { checkOverviewRoutes } from './check-overview.ts';
import { artifactRoutes, checkResultRoutes } from './check-result.ts';
import { openRunRoutes } from './open-run.ts';
import { checkRoutes, checkTypeRoutes, heartbeatRoutes } from './check-routes.ts';
import { checkStatusRoutes } from './check-status.ts';
import { locationRoutes, privateLocationRoutes } from './private-location.ts';
import { accountRoutes, apiKeyRoutes } from './account.ts';
import { alertChannelRoutes } from './alert-channel.ts';
import { alertDecisionRoutes } from './alert-decision.ts';
import { alertDeliveryRoutes } from './alert-delivery.ts';
import { alertRoutes } from './alert-notification.ts';
import { badgeRoutes } from './badge.ts';
import { checkGroupRoutes } from './check-group.ts';
import { checkSessionRoutes, checkTriggerRoutes } from './check-trigger.ts';
import { clientCertificateRoutes } from './client-certificate.ts';
import { codeBundleRoutes } from './code-bundle.ts';
import { dashboardIncidentRoutes, dashboardRoutes } from './dashboard.ts';
import { errorGroupRoutes } from './error-group.ts';
import { fleetRoutes } from './fleet.ts';
import { incidentRoutes } from './incident.ts';
import { maintenanceWindowRoutes } from './maintenance-window.ts';
import { prometheusRoutes } from './prometheus.ts';
import { reportingRoutes } from './reporting.ts';
import { runtimeRoutes } from './runtime.ts';
import { snippetRoutes } from './snippet.ts';
import { staticIpRoutes } from './static-ip.ts';
import { serviceRoutes, statusPageRoutes } from './status-page.ts';
import { variableRoutes } from './variable.ts';
import type { Route } from './route.ts';

export const allRoutes: readonly Route[] = [
  ...checkTypeRoutes.flatMap(({ create, update }) => [create, update] as Route[]),
  ...Object.values(checkRoutes),
  ...Object.values(heartbeatRoutes),
  ...Object.values(codeBundleRoutes),
  ...Object.values(checkResultRoutes),
  ...Object.values(openRunRoutes),
  ...Object.values(artifactRoutes),
  ...Object.values(checkStatusRoutes),
  ...Object.values(checkOverviewRoutes),
  ...Object.values(analyticsRoutes),
  ...Object.values(reportingRoutes),
  ...Object.values(prometheusRoutes),
  ...Object.values(privateLocationRoutes),
  ...Object.values(locationRoutes),
  ...Object.values(fleetRoutes),
  ...Object.values(checkGroupRoutes),
  ...Object.values(snippetRoutes),
  ...Object.values(variableRoutes),
  ...Object.values(alertChannelRoutes),
  ...Object.values(alertRoutes),
  ...Object.values(alertDecisionRoutes),
  ...Object.values(alertDeliveryRoutes),
  ...Object.values(checkTriggerRoutes),
  ...Object.values(checkSessionRoutes),
  ...Object.values(errorGroupRoutes),
  ...Object.values(maintenanceWindowRoutes),
  ...Object.values(statusPageRoutes),
  ...Object.values(serviceRoutes),
  ...Object.values(incidentRoutes),
  ...Object.values(dashboardRoutes),
  ...Object.values(dashboardIncidentRoutes),
  ...Object.values(clientCertificateRoutes),
  ...Object.values(badgeRoutes),
  ...Object.values(runtimeRoutes),
  ...Object.values(staticIpRoutes),
  ...Object.values(accountRoutes),
  ...Object.values(apiKeyRoutes),
  ...Object.values(agentRoutes),
  ...Object.values(agentArtifactRoutes),
  ...Object.values(agentCodeBundleRoutes),
] as Route[];
