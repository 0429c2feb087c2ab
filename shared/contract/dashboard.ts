/** Dashboards, the older public pages, and their incidents. Shapes from the field's practice. spec: open */
import { z } from 'zod';
import { tags } from './check.ts';
import {
  customDomain,
  pageOf,
  pageSlug,
  pathId,
  queryBoolean,
  timestamp,
  updateOf,
  webLink,
} from './primitives.ts';
import { projectBindings } from './project-bindings.ts';
import { defineRoutes, get, post, put, remove, resourceOperations } from './route.ts';

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
  sortByStatus: z.boolean().default(false),
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
    projectBindings,
  })
  .meta({ id: 'Dashboard' });

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
    incidentId: z.uuid(),
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

const byIncident = z.object({ id: pathId });

const byUpdate = z.object({ incidentId: pathId, id: pathId });

export const dashboardRoutes = defineRoutes('Dashboards', {
  ...resourceOperations('Dashboard', '/v1/dashboards', {
    by: { dashboardId: pathId },
    response: dashboard,
    list: pageOf(dashboard),
    create: { body: createBody, errors: [409] },
    read: {
      summary: 'Read a dashboard, by id, custom address or custom domain',
      rateLimit: { requests: 20, seconds: 20 },
      query: z.object({ type: z.enum(['customUrl', 'customDomain']).exactOptional() }),
    },
    update: {
      description: 'Fields that are absent stay as they are.',
      body: updateOf(fields),
      errors: [409],
    },
    remove: { summary: 'Delete a dashboard and its incidents' },
  }),
});
export const dashboardIncidentRoutes = defineRoutes('Dashboard incidents', {
  createDashboardIncident: post('/v1/incidents', 'Open an incident of a dashboard', {
    body: z.object({
      ...incidentFields,
      dashboardId: z.int().meta({ description: 'The `id` of a dashboard' }),
      incidentUpdates: z.array(updateBody).min(1).max(100),
    }),
    response: dashboardIncident,
    errors: [404],
  }),
  getDashboardIncident: get(
    '/v1/incidents/{id}',
    'Read an incident of a dashboard, with its newest update or with all',
    {
      params: byIncident,
      query: z.object({ includeAllIncidentUpdates: queryBoolean.default(false) }),
      response: dashboardIncident,
    },
  ),
  updateDashboardIncident: put('/v1/incidents/{id}', 'Change an incident of a dashboard', {
    params: byIncident,
    query: z.object({ probe: z.string().max(255).exactOptional() }),
    body: updateOf(incidentFields),
    response: dashboardIncident,
  }),
  deleteDashboardIncident: remove('/v1/incidents/{id}', 'Delete an incident of a dashboard', {
    params: byIncident,
  }),
  createDashboardIncidentUpdate: post(
    '/v1/incidents/{incidentId}/updates',
    'Add an update to an incident of a dashboard',
    {
      params: z.object({ incidentId: pathId }),
      body: updateBody,
      response: dashboardIncidentUpdate,
    },
  ),
  updateDashboardIncidentUpdate: put(
    '/v1/incidents/{incidentId}/updates/{id}',
    'Change the description of an update',
    {
      params: byUpdate,
      body: z.object({ description: z.string().max(65_536) }),
      response: dashboardIncidentUpdate,
    },
  ),
  deleteDashboardIncidentUpdate: remove(
    '/v1/incidents/{incidentId}/updates/{id}',
    'Delete an update of an incident of a dashboard or of a status page',
    { params: byUpdate, errors: [409] },
  ),
});
