/** The body from which each type of resource is made. */
import type { z } from 'zod';
import { alertChannelRoutes } from './alert-channel.ts';
import { checkGroupRoutes } from './check-group.ts';
import { findCheckType } from './checks/index.ts';
import type { ResourceType } from './compatibility/projects.ts';
import { dashboardRoutes } from './dashboard.ts';
import { escalationPolicyRoutes } from './escalation-policy.ts';
import { maintenanceWindowRoutes } from './maintenance-window.ts';
import { privateLocationRoutes } from './private-location.ts';
import { snippetRoutes } from './snippet.ts';
import { serviceRoutes, statusPageRoutes } from './status-page.ts';
import { variableRoutes } from './variable.ts';

export const resourceBodies: Readonly<Partial<Record<ResourceType, z.ZodType>>> = {
  'alert-channel': alertChannelRoutes.createAlertChannel.body,
  'check-group': checkGroupRoutes.createCheckGroup.body,
  dashboard: dashboardRoutes.createDashboard.body,
  'escalation-policy': escalationPolicyRoutes.createEscalationPolicy.body,
  'maintenance-window': maintenanceWindowRoutes.createMaintenanceWindow.body,
  'private-location': privateLocationRoutes.createPrivateLocation.body,
  snippet: snippetRoutes.createSnippet.body,
  'status-page': statusPageRoutes.createStatusPage.body,
  'status-page-service': serviceRoutes.createService.body,
  variable: variableRoutes.createVariable.body,
};

/** The body from which a resource is made; undefined for a check of no known type. */
export function bodyOfResource(
  type: ResourceType,
  fields: Readonly<Record<string, unknown>>,
): z.ZodType | undefined {
  return type === 'check'
    ? findCheckType(String(fields['checkType']))?.create
    : resourceBodies[type];
}
