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
import type { ApiKeys, LocationKeys } from '../accounts/location-keys.ts';
import type { ResultIntake } from '../results/ingest-results.ts';
import { accountHandlers } from '../accounts/handlers.ts';
import { agentHandlers } from '../agents/handlers.ts';
import { alertChannelHandlers } from '../alerting/alert-channels/handlers.ts';
import { alertDecisionHandlers } from '../alerting/alert-decisions/handlers.ts';
import { alertDeliveryHandlers } from '../alerting/alert-deliveries/handlers.ts';
import { alertHandlers } from '../alerting/alerts/handlers.ts';
import { analyticsHandlers } from '../analytics/handlers.ts';
import { apiKeyHandlers } from '../accounts/api-keys/handlers.ts';
import { agentArtifactHandlers, artifactHandlers } from '../results/artifacts/handlers.ts';
import { badgeHandlers } from '../status-pages/badges/handlers.ts';
import { checkGroupHandlers } from '../checks/check-groups/handlers.ts';
import { checkOverviewHandlers } from '../results/check-overview/handlers.ts';
import { checkResultHandlers } from '../results/check-results/handlers.ts';
import { openRunHandlers } from '../scheduling/open-runs/handlers.ts';
import { checkSessionHandlers } from '../sessions/check-sessions/handlers.ts';
import { checkStatusHandlers } from '../results/check-statuses/handlers.ts';
import { checkTriggerHandlers } from '../sessions/check-triggers/handlers.ts';
import { checkHandlers, checkTypeBindings } from '../checks/handlers.ts';
import { clientCertificateHandlers } from '../checks/client-certificates/handlers.ts';
import { agentCodeBundleHandlers, codeBundleHandlers } from '../checks/code-bundles/handlers.ts';
import type { CodeBundleStore } from '../checks/code-bundles/store.ts';
import { dashboardIncidentHandlers } from '../status-pages/dashboard-incidents/handlers.ts';
import { dashboardHandlers } from '../status-pages/dashboards/handlers.ts';
import { errorGroupHandlers } from '../results/error-groups/handlers.ts';
import { fleetHandlers } from '../fleet/handlers.ts';
import { heartbeatHandlers } from '../heartbeats/handlers.ts';
import { incidentHandlers } from '../incidents/handlers.ts';
import { locationHandlers } from '../scheduling/locations/handlers.ts';
import { maintenanceWindowHandlers } from '../maintenance/maintenance-windows/handlers.ts';
import { privateLocationHandlers } from '../scheduling/private-locations/handlers.ts';
import { prometheusHandlers } from '../analytics/prometheus/handlers.ts';
import { reportingHandlers } from '../analytics/reporting/handlers.ts';
import { runtimeHandlers } from '../checks/runtimes/handlers.ts';
import { snippetHandlers } from '../checks/snippets/handlers.ts';
import { serviceHandlers } from '../status-pages/services/handlers.ts';
import { staticIpHandlers } from '../scheduling/static-ips/handlers.ts';
import { statusPageHandlers } from '../status-pages/handlers.ts';
import { variableHandlers } from '../checks/variables/handlers.ts';
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
