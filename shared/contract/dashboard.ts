/** Dashboards, the older public pages, and their incidents. Shapes from the field's practice. spec: open */
import { z } from 'zod';
import { tags } from './check.ts';
import { updateOf } from './checks/check-type.ts';
import {
  customDomain,
  pageQuery,
  pageSlug,
  pathId,
  queryBoolean,
  timestamp,
  webLink,
} from './primitives.ts';
import { defineRoute } from './route.ts';

const text = (max: number) => z.string().max(max).nullable().default(null);

/** compatibility: existing clients send "" for an absent address. */
function optionalAddress<T extends z.ZodType>(address: T) {
  return z.preprocess((given): unknown => (given === '' ? null : given), address.nullable());
}

const fields = {
  customUrl: optionalAddress(pageSlug).default(null),
  customDomain: optionalAddress(customDomain).default(null),
  logo: webLink.nullable().default(null),
  favicon: webLink.nullable().default(null),
  link: webLink.nullable().default(null),
  header: text(255),
  description: text(2000),
  width: z.enum(['FULL', '960PX']).default('FULL'),
  refreshRate: z.int().min(1).max(86_400).default(60),
  paginate: z.boolean().default(true),
  paginationRate: z.int().min(1).max(86_400).default(60),
  checksPerPage: z.int().min(1).max(20).default(15),
  useTagsAndOperator: z.boolean().default(false),
  hideTags: z.boolean().default(false),
  enableIncidents: z.boolean().default(false),
  expandChecks: z.boolean().default(false),
  tags: tags.default([]),
  showHeader: z.boolean().default(true),
  showCheckRunLinks: z.boolean().default(false),
  showGroupNames: z.boolean().default(true),
  customCSS: text(65_536),
  isPrivate: z.boolean().default(false),
  showP95: z.boolean().default(true),
  showP99: z.boolean().default(true),
  keys: z.array(z.looseObject({})).max(100).default([]),
};
const createBody = z.object(fields);
export type DashboardFields = z.output<typeof createBody>;

export const dashboard = z
  .object({
    ...fields,
    id: z.int(),
    dashboardId: z.string(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'Dashboard' });

const tag = 'Dashboards';
const byId = z.object({ dashboardId: pathId });

const listDashboards = defineRoute({
  operationId: 'listDashboards',
  method: 'GET',
  path: '/v1/dashboards',
  tag,
  summary: 'List dashboards',
  authentication: 'apiKey',
  query: z.object(pageQuery),
  status: 200,
  response: z.array(dashboard),
  errors: [400],
  paged: true,
});

const createDashboard = defineRoute({
  operationId: 'createDashboard',
  method: 'POST',
  path: '/v1/dashboards',
  tag,
  summary: 'Create a dashboard',
  authentication: 'apiKey',
  body: createBody,
  status: 201,
  response: dashboard,
  errors: [400, 409],
});

const getDashboard = defineRoute({
  operationId: 'getDashboard',
  method: 'GET',
  path: '/v1/dashboards/{dashboardId}',
  tag,
  summary: 'Read a dashboard, by id, custom address or custom domain',
  authentication: 'apiKey',
  rateLimit: { requests: 20, seconds: 20 },
  params: byId,
  query: z.object({ type: z.enum(['customUrl', 'customDomain']).exactOptional() }),
  status: 200,
  response: dashboard,
  errors: [400, 404],
});

const updateDashboard = defineRoute({
  operationId: 'updateDashboard',
  method: 'PUT',
  path: '/v1/dashboards/{dashboardId}',
  tag,
  summary: 'Change a dashboard',
  description: 'Fields that are absent stay as they are.',
  authentication: 'apiKey',
  params: byId,
  body: updateOf(fields),
  status: 200,
  response: dashboard,
  errors: [400, 404, 409],
});

const deleteDashboard = defineRoute({
  operationId: 'deleteDashboard',
  method: 'DELETE',
  path: '/v1/dashboards/{dashboardId}',
  tag,
  summary: 'Delete a dashboard and its incidents',
  authentication: 'apiKey',
  params: byId,
  status: 204,
  errors: [404],
});

const updateStatus = z.enum([
  'INVESTIGATING',
  'IDENTIFIED',
  'MONITORING',
  'RESOLVED',
  'MAINTENANCE',
]);
const updateBody = z.object({
  status: updateStatus.default('INVESTIGATING'),
  description: z.string().max(65_536),
});

const dashboardIncidentUpdate = z
  .object({
    id: z.uuid(),
    status: updateStatus,
    description: z.string(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'DashboardIncidentUpdate' });

export const dashboardIncident = z
  .object({
    id: z.uuid(),
    name: z.string(),
    impact: z.enum(['MAINTENANCE', 'MAJOR', 'MINOR']),
    startedAt: timestamp,
    stoppedAt: timestamp.nullable(),
    dashboardId: z.int(),
    incidentUpdates: z.array(dashboardIncidentUpdate),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'DashboardIncident' });

const instant = z.iso.datetime({ offset: true });
const incidentFields = {
  name: z.string().trim().min(1).max(255),
  impact: z.enum(['MAINTENANCE', 'MAJOR', 'MINOR']).default('MINOR'),
  startedAt: instant.exactOptional(),
  stoppedAt: instant.nullable().default(null),
};

const incidentTag = 'Dashboard incidents';
const byIncident = z.object({ id: pathId });

const createDashboardIncident = defineRoute({
  operationId: 'createDashboardIncident',
  method: 'POST',
  path: '/v1/incidents',
  tag: incidentTag,
  summary: 'Open an incident of a dashboard',
  authentication: 'apiKey',
  body: z.object({
    ...incidentFields,
    dashboardId: z.int().meta({ description: 'The `id` of a dashboard' }),
    incidentUpdates: z.array(updateBody).min(1).max(100),
  }),
  status: 201,
  response: dashboardIncident,
  errors: [400, 404],
});

const getDashboardIncident = defineRoute({
  operationId: 'getDashboardIncident',
  method: 'GET',
  path: '/v1/incidents/{id}',
  tag: incidentTag,
  summary: 'Read an incident of a dashboard, with its newest update or with all',
  authentication: 'apiKey',
  params: byIncident,
  query: z.object({ includeAllIncidentUpdates: queryBoolean.default(false) }),
  status: 200,
  response: dashboardIncident,
  errors: [400, 404],
});

const updateDashboardIncident = defineRoute({
  operationId: 'updateDashboardIncident',
  method: 'PUT',
  path: '/v1/incidents/{id}',
  tag: incidentTag,
  summary: 'Change an incident of a dashboard',
  authentication: 'apiKey',
  params: byIncident,
  query: z.object({ probe: z.string().max(255).exactOptional() }),
  body: updateOf(incidentFields),
  status: 200,
  response: dashboardIncident,
  errors: [400, 404],
});

const deleteDashboardIncident = defineRoute({
  operationId: 'deleteDashboardIncident',
  method: 'DELETE',
  path: '/v1/incidents/{id}',
  tag: incidentTag,
  summary: 'Delete an incident of a dashboard',
  authentication: 'apiKey',
  params: byIncident,
  status: 204,
  errors: [404],
});

const createDashboardIncidentUpdate = defineRoute({
  operationId: 'createDashboardIncidentUpdate',
  method: 'POST',
  path: '/v1/incidents/{incidentId}/updates',
  tag: incidentTag,
  summary: 'Add an update to an incident of a dashboard',
  authentication: 'apiKey',
  params: z.object({ incidentId: pathId }),
  body: updateBody,
  status: 201,
  response: dashboardIncidentUpdate,
  errors: [400, 404],
});

const byUpdate = z.object({ incidentId: pathId, id: pathId });

const updateDashboardIncidentUpdate = defineRoute({
  operationId: 'updateDashboardIncidentUpdate',
  method: 'PUT',
  path: '/v1/incidents/{incidentId}/updates/{id}',
  tag: incidentTag,
  summary: 'Change the description of an update',
  authentication: 'apiKey',
  params: byUpdate,
  body: z.object({ description: z.string().max(65_536) }),
  status: 200,
  response: dashboardIncidentUpdate,
  errors: [400, 404],
});

const deleteDashboardIncidentUpdate = defineRoute({
  operationId: 'deleteDashboardIncidentUpdate',
  method: 'DELETE',
  path: '/v1/incidents/{incidentId}/updates/{id}',
  tag: incidentTag,
  summary: 'Delete an update of an incident of a dashboard or of a status page',
  authentication: 'apiKey',
  params: byUpdate,
  status: 204,
  errors: [404, 409],
});

export const dashboardRoutes = {
  listDashboards,
  createDashboard,
  getDashboard,
  updateDashboard,
  deleteDashboard,
};
export const dashboardIncidentRoutes = {
  createDashboardIncident,
  getDashboardIncident,
  updateDashboardIncident,
  deleteDashboardIncident,
  createDashboardIncidentUpdate,
  updateDashboardIncidentUpdate,
  deleteDashboardIncidentUpdate,
};
