/** Incidents of status pages, with their updates. Spec: Incident. */
import { z } from 'zod';
import {
  cursorPage,
  cursorQuery,
  incidentStatus,
  pathId,
  severity,
  timestamp,
} from './primitives.ts';
import { defineRoute } from './route.ts';
import { service } from './status-page.ts';

/** Spec: Limits, incident name length. */
const name = z.string().trim().min(1).max(255);
const instant = z.iso.datetime({ offset: true });

/** Existing clients send whole services; only their ids are used. */
const services = z
  .array(z.object({ id: z.string().min(1) }))
  .min(1)
  .max(200)
  .meta({
    description: 'Existing services, each by its `id`',
    example: [{ id: '8f8bb40f-b96b-40fe-9064-5031fbe483f9' }],
  });

const updateFields = {
  description: z.string().max(65_536),
  status: incidentStatus.default('INVESTIGATING'),
  publicIncidentUpdateDate: instant
    .nullable()
    .exactOptional()
    .meta({ description: 'When it becomes public; by default at once' }),
  notifySubscribers: z.boolean().default(false).meta({
    description:
      'Notify the subscribers of pages with one of the services, once, when the update becomes public',
  }),
};

export const incidentUpdate = z
  .object({
    description: z.string(),
    id: z.uuid(),
    created_at: timestamp,
    status: incidentStatus,
    publicIncidentUpdateDate: timestamp,
    notifySubscribers: z.boolean(),
  })
  .meta({ id: 'IncidentUpdate' });

export const incident = z
  .object({
    name,
    severity,
    services: z.array(service),
    id: z.uuid(),
    incidentUpdates: z.array(incidentUpdate),
    lastUpdateStatus: incidentStatus,
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    duration: z
      .int()
      .nullable()
      .meta({ description: 'Milliseconds; until now while the incident is open' }),
  })
  .meta({ id: 'Incident' });

const tag = 'Incidents';
const byIncident = z.object({ incidentId: pathId });
const byUpdate = z.object({ incidentId: pathId, incidentUpdateId: pathId });

const listIncidents = defineRoute({
  operationId: 'listIncidents',
  method: 'GET',
  path: '/v1/status-pages/incidents',
  tag,
  summary: 'List incidents, newest first',
  authentication: 'apiKey',
  query: z.object(cursorQuery),
  status: 200,
  response: cursorPage(incident),
  errors: [400],
});

const createIncident = defineRoute({
  operationId: 'createIncident',
  method: 'POST',
  path: '/v1/status-pages/incidents',
  tag,
  summary: 'Open an incident',
  authentication: 'apiKey',
  body: z.object({
    name,
    severity,
    services,
    incidentUpdates: z.array(z.object(updateFields)).min(1).max(100),
  }),
  status: 201,
  response: incident,
  errors: [400],
});

const getIncident = defineRoute({
  operationId: 'getIncident',
  method: 'GET',
  path: '/v1/status-pages/incidents/{incidentId}',
  tag,
  summary: 'Read an incident',
  authentication: 'apiKey',
  params: byIncident,
  status: 200,
  response: incident,
  errors: [404],
});

const updateIncident = defineRoute({
  operationId: 'updateIncident',
  method: 'PUT',
  path: '/v1/status-pages/incidents/{incidentId}',
  tag,
  summary: 'Change the name, severity and services of an incident',
  authentication: 'apiKey',
  params: byIncident,
  body: z.object({ name, severity, services }),
  status: 200,
  response: incident,
  errors: [400, 404],
});

const patchIncident = defineRoute({
  operationId: 'patchIncident',
  method: 'PATCH',
  path: '/v1/status-pages/incidents/{incidentId}',
  tag,
  summary: 'Change some of the name, severity and services of an incident',
  authentication: 'apiKey',
  params: byIncident,
  body: z.object({
    name: name.exactOptional(),
    severity: severity.exactOptional(),
    services: services.exactOptional(),
  }),
  status: 200,
  response: incident,
  errors: [400, 404],
});

const deleteIncident = defineRoute({
  operationId: 'deleteIncident',
  method: 'DELETE',
  path: '/v1/status-pages/incidents/{incidentId}',
  tag,
  summary: 'Delete an incident and its updates',
  authentication: 'apiKey',
  params: byIncident,
  status: 204,
  errors: [404],
});

const listIncidentUpdates = defineRoute({
  operationId: 'listIncidentUpdates',
  method: 'GET',
  path: '/v1/status-pages/incidents/{incidentId}/incident-updates',
  tag,
  summary: 'List the latest hundred updates of an incident, newest first',
  authentication: 'apiKey',
  params: byIncident,
  status: 200,
  response: z.array(incidentUpdate),
  errors: [404],
});

const createIncidentUpdate = defineRoute({
  operationId: 'createIncidentUpdate',
  method: 'POST',
  path: '/v1/status-pages/incidents/{incidentId}/incident-updates',
  tag,
  summary: 'Add an update to an incident',
  authentication: 'apiKey',
  params: byIncident,
  body: z.object(updateFields),
  status: 201,
  response: incidentUpdate,
  errors: [400, 404],
});

const getIncidentUpdate = defineRoute({
  operationId: 'getIncidentUpdate',
  method: 'GET',
  path: '/v1/status-pages/incidents/{incidentId}/incident-updates/{incidentUpdateId}',
  tag,
  summary: 'Read an update of an incident',
  authentication: 'apiKey',
  params: byUpdate,
  status: 200,
  response: incidentUpdate,
  errors: [404],
});

const updateIncidentUpdate = defineRoute({
  operationId: 'updateIncidentUpdate',
  method: 'PUT',
  path: '/v1/status-pages/incidents/{incidentId}/incident-updates/{incidentUpdateId}',
  tag,
  summary: 'Change an update of an incident',
  authentication: 'apiKey',
  params: byUpdate,
  body: z.object({
    description: updateFields.description.exactOptional(),
    status: incidentStatus.exactOptional(),
    publicIncidentUpdateDate: updateFields.publicIncidentUpdateDate,
    notifySubscribers: z.boolean().exactOptional(),
  }),
  status: 200,
  response: incidentUpdate,
  errors: [400, 404],
});

const deleteIncidentUpdate = defineRoute({
  operationId: 'deleteIncidentUpdate',
  method: 'DELETE',
  path: '/v1/status-pages/incidents/{incidentId}/incident-updates/{incidentUpdateId}',
  tag,
  summary: 'Delete an update of an incident; the last one stays',
  authentication: 'apiKey',
  params: byUpdate,
  status: 204,
  errors: [404, 409],
});

export const incidentRoutes = {
  listIncidents,
  createIncident,
  getIncident,
  updateIncident,
  patchIncident,
  deleteIncident,
  listIncidentUpdates,
  createIncidentUpdate,
  getIncidentUpdate,
  updateIncidentUpdate,
  deleteIncidentUpdate,
};
