/** The fields that a file may have: those of the body from which its resource is made. Pure. */
import { isFields, type Fields } from '@monitor/shared/fields.ts';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { anyCreate } from '@monitor/shared/contract/check-routes.ts';
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { projectBody, type ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import {
  type KnownFields,
  knownFields,
  type UnknownField,
  unknownFields,
} from '@monitor/shared/known-fields.ts';
import { z } from 'zod';

const bodies: Readonly<Partial<Record<ResourceType, z.ZodType>>> = {
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
export function bodyOfResource(type: ResourceType, fields: Fields): z.ZodType | undefined {
  return type === 'check' ? findCheckType(String(fields['checkType']))?.create : bodies[type];
}

/** What every file may have beside the body of its resource. */
const inFiles = z.object({
  alertChannels: z.array(z.object({ ref: z.string(), activated: z.boolean() })),
});
/** What says how the body is read. */
const beside: Readonly<Partial<Record<ResourceType, z.ZodType>>> = {
  check: inFiles.extend({ checkType: z.string() }),
  'check-group': z.union([
    inFiles.extend({ v: z.int() }),
    checkGroupRoutes.createCheckGroupV1.body,
  ]),
};

/** `{ ref: … }` and `{ secret: … }` stand for a value of any form. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isFields(value)) return value;
  const entries = Object.entries(value);
  const [[only, named] = []] = entries;
  if (entries.length === 1 && (only === 'ref' || only === 'secret') && typeof named === 'string') {
    return null;
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutMarks(inner)]));
}

const known = new Map<z.ZodType, KnownFields>();

function knownBy(body: z.ZodType, type: ResourceType | 'project'): KnownFields {
  const found = known.get(body);
  if (found !== undefined) return found;
  const more = type === 'project' ? undefined : beside[type];
  const fields = more === undefined ? knownFields(body) : knownFields(body, more);
  known.set(body, fields);
  return fields;
}

/** The fields of a resource; those of a check of any type, since a file may name none. */
export function fieldsOfResource(type: ResourceType): KnownFields {
  const body = type === 'check' ? anyCreate : bodies[type];
  return body === undefined ? knownFields() : knownBy(body, type);
}

/**
 * Fields of a file that its resource does not have. The API ignores those that resemble none, for clients of
 * other versions; in a file that a person wrote they are mistakes.
 */
export function unknownFieldsOf(type: ResourceType | 'project', fields: Fields): UnknownField[] {
  const body = type === 'project' ? projectBody.shape.project : bodyOfResource(type, fields);
  return body === undefined ? [] : unknownFields(knownBy(body, type), withoutMarks(fields));
}
