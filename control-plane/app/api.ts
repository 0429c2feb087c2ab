/** Every operation of the API with the handler that carries it out. */
import { accountRoutes, apiKeyRoutes } from '@monitor/shared/contract/account.ts';
import {
  agentArtifactRoutes,
  agentCodeBundleRoutes,
  agentRoutes,
} from '@monitor/shared/contract/agent-protocol.ts';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { alertDecisionRoutes } from '@monitor/shared/contract/alert-decision.ts';
import { alertDeliveryRoutes } from '@monitor/shared/contract/alert-delivery.ts';
import { alertRoutes } from '@monitor/shared/contract/alert-notification.ts';
import { analyticsRoutes } from '@monitor/shared/contract/analytics.ts';
import { badgeRoutes } from '@monitor/shared/contract/badge.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { checkOverviewRoutes } from '@monitor/shared/contract/check-overview.ts';
import { artifactRoutes, checkResultRoutes } from '@monitor/shared/contract/check-result.ts';
import { openRunRoutes } from '@monitor/shared/contract/open-run.ts';
import { checkRoutes, heartbeatRoutes } from '@monitor/shared/contract/check-routes.ts';
import { checkStatusRoutes } from '@monitor/shared/contract/check-status.ts';
import { checkSessionRoutes, checkTriggerRoutes } from '@monitor/shared/contract/check-trigger.ts';
import { clientCertificateRoutes } from '@monitor/shared/contract/client-certificate.ts';
import { codeBundleRoutes } from '@monitor/shared/contract/code-bundle.ts';
import { dashboardIncidentRoutes, dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { errorGroupRoutes } from '@monitor/shared/contract/error-group.ts';
import { fleetRoutes } from '@monitor/shared/contract/fleet.ts';
import { incidentRoutes } from '@monitor/shared/contract/incident.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import {
  locationRoutes,
  privateLocationRoutes,
} from '@monitor/shared/contract/private-location.ts';
import { prometheusRoutes } from '@monitor/shared/contract/prometheus.ts';
import { reportingRoutes } from '@monitor/shared/contract/reporting.ts';
import { runtimeRoutes } from '@monitor/shared/contract/runtime.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { staticIpRoutes } from '@monitor/shared/contract/static-ip.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import type { Config } from '../core/config.ts';
import { bind, type BoundRoute } from '../http/implement.ts';
import {
  accountHandlers,
  apiKeyHandlers,
  type ApiKeys,
  type LocationKeys,
} from '../accounts/index.ts';
import {
  agentArtifactHandlers,
  artifactHandlers,
  checkOverviewHandlers,
  checkResultHandlers,
  checkStatusHandlers,
  errorGroupHandlers,
  type ResultIntake,
} from '../results/index.ts';
import { agentHandlers } from '../agents/index.ts';
import {
  alertChannelHandlers,
  alertDecisionHandlers,
  alertDeliveryHandlers,
  alertHandlers,
} from '../alerting/index.ts';
import { analyticsHandlers, prometheusHandlers, reportingHandlers } from '../analytics/index.ts';
import {
  badgeHandlers,
  dashboardHandlers,
  dashboardIncidentHandlers,
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
  staticIpHandlers,
} from '../scheduling/index.ts';
import { checkSessionHandlers, checkTriggerHandlers } from '../sessions/index.ts';
import { fleetHandlers } from '../fleet/index.ts';
import { heartbeatHandlers } from '../heartbeats/index.ts';
import { incidentHandlers } from '../incidents/index.ts';
import { maintenanceWindowHandlers } from '../maintenance/index.ts';
import type { Services } from '../core/services.ts';

export interface ApiParts {
  services: Services;
  config: Pick<Config, 'LENIENT_DNS_BODY' | 'STATIC_IPS'>;
  intake: ResultIntake;
  codeBundles: CodeBundleStore;
  locationKeys: LocationKeys;
  apiKeys: ApiKeys;
}

export function bindApi({
  services,
  config,
  intake,
  codeBundles,
  locationKeys,
  apiKeys,
}: ApiParts): BoundRoute[] {
  return [
    ...checkTypeBindings(services, config.LENIENT_DNS_BODY),
    ...bind(checkRoutes, checkHandlers(services)),
    ...bind(checkGroupRoutes, checkGroupHandlers(services)),
    ...bind(heartbeatRoutes, heartbeatHandlers(services)),
    ...bind(checkResultRoutes, checkResultHandlers(services)),
    ...bind(openRunRoutes, openRunHandlers(services)),
    ...bind(artifactRoutes, artifactHandlers(services)),
    ...bind(codeBundleRoutes, codeBundleHandlers(codeBundles)),
    ...bind(checkStatusRoutes, checkStatusHandlers(services)),
    ...bind(checkOverviewRoutes, checkOverviewHandlers(services)),
    ...bind(analyticsRoutes, analyticsHandlers(services)),
    ...bind(reportingRoutes, reportingHandlers(services)),
    ...bind(prometheusRoutes, prometheusHandlers(services)),
    ...bind(checkTriggerRoutes, checkTriggerHandlers(services)),
    ...bind(checkSessionRoutes, checkSessionHandlers(services)),
    ...bind(errorGroupRoutes, errorGroupHandlers(services)),
    ...bind(snippetRoutes, snippetHandlers(services)),
    ...bind(variableRoutes, variableHandlers(services)),
    ...bind(alertChannelRoutes, alertChannelHandlers(services)),
    ...bind(alertRoutes, alertHandlers(services)),
    ...bind(alertDecisionRoutes, alertDecisionHandlers(services)),
    ...bind(alertDeliveryRoutes, alertDeliveryHandlers(services)),
    ...bind(maintenanceWindowRoutes, maintenanceWindowHandlers(services)),
    ...bind(statusPageRoutes, statusPageHandlers(services)),
    ...bind(serviceRoutes, serviceHandlers(services)),
    ...bind(incidentRoutes, incidentHandlers(services)),
    ...bind(dashboardRoutes, dashboardHandlers(services)),
    ...bind(dashboardIncidentRoutes, dashboardIncidentHandlers(services)),
    ...bind(clientCertificateRoutes, clientCertificateHandlers(services)),
    ...bind(privateLocationRoutes, privateLocationHandlers(services, locationKeys)),
    ...bind(fleetRoutes, fleetHandlers(services)),
    ...bind(locationRoutes, locationHandlers),
    ...bind(runtimeRoutes, runtimeHandlers),
    ...bind(staticIpRoutes, staticIpHandlers(config.STATIC_IPS)),
    ...bind(badgeRoutes, badgeHandlers(services)),
    ...bind(accountRoutes, accountHandlers(services)),
    ...bind(apiKeyRoutes, apiKeyHandlers(services, apiKeys)),
    ...bind(agentRoutes, agentHandlers(services, intake)),
    ...bind(agentArtifactRoutes, agentArtifactHandlers(services)),
    ...bind(agentCodeBundleRoutes, agentCodeBundleHandlers(codeBundles)),
  ];
}
