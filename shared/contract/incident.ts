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
import { defineRoutes, get, patch, post, put, remove } from './route.ts';
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

const byIncident = z.object({ incidentId: pathId });
const byUpdate = z.object({ incidentId: pathId, incidentUpdateId: pathId });

export const incidentRoutes = defineRoutes('Incidents', {
  listIncidents: get('/v1/status-pages/incidents', 'List incidents, newest first', {
    query: z.object(cursorQuery),
    response: cursorPage(incident),
  }),
  createIncident: post('/v1/status-pages/incidents', 'Open an incident', {
    body: z.object({
      name,
      severity,
      services,
      incidentUpdates: z.array(z.object(updateFields)).min(1).max(100),
    }),
    response: incident,
  }),
  getIncident: get('/v1/status-pages/incidents/{incidentId}', 'Read an incident', {
    params: byIncident,
    response: incident,
  }),
  updateIncident: put(
    '/v1/status-pages/incidents/{incidentId}',
    'Change the name, severity and services of an incident',
    {
      params: byIncident,
      body: z.object({ name, severity, services }),
      response: incident,
    },
  ),
  patchIncident: patch(
    '/v1/status-pages/incidents/{incidentId}',
    'Change some of the name, severity and services of an incident',
    {
      params: byIncident,
      body: z.object({
        name: name.exactOptional(),
        severity: severity.exactOptional(),
        services: services.exactOptional(),
      }),
      response: incident,
    },
  ),
  deleteIncident: remove(
    '/v1/status-pages/incidents/{incidentId}',
    'Delete an incident and its updates',
    { params: byIncident },
  ),
  listIncidentUpdates: get(
    '/v1/status-pages/incidents/{incidentId}/incident-updates',
    'List the latest hundred updates of an incident, newest first',
    { params: byIncident, response: z.array(incidentUpdate) },
  ),
  createIncidentUpdate: post(
    '/v1/status-pages/incidents/{incidentId}/incident-updates',
    'Add an update to an incident',
    {
      params: byIncident,
      body: z.object(updateFields),
      response: incidentUpdate,
    },
  ),
  getIncidentUpdate: get(
    '/v1/status-pages/incidents/{incidentId}/incident-updates/{incidentUpdateId}',
    'Read an update of an incident',
    { params: byUpdate, response: incidentUpdate },
  ),
  updateIncidentUpdate: put(
    '/v1/status-pages/incidents/{incidentId}/incident-updates/{incidentUpdateId}',
    'Change an update of an incident',
    {
      params: byUpdate,
      body: z.object({
        description: updateFields.description.exactOptional(),
        status: incidentStatus.exactOptional(),
        publicIncidentUpdateDate: updateFields.publicIncidentUpdateDate,
        notifySubscribers: z.boolean().exactOptional(),
      }),
      response: incidentUpdate,
    },
  ),
  deleteIncidentUpdate: remove(
    '/v1/status-pages/incidents/{incidentId}/incident-updates/{incidentUpdateId}',
    'Delete an update of an incident; the last one stays',
    { params: byUpdate, errors: [409] },
  ),
});
