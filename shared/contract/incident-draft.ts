/** Incidents that services would open, and that a person publishes or dismisses. */
import { z } from 'zod';
import { incident } from './incident.ts';
import { pathId, severity, timestamp } from './primitives.ts';
import { defineRoutes, get, post, remove } from './route.ts';
import { service } from './status-page.ts';

const texts = {
  name: z.string().trim().min(1).max(255),
  severity,
  description: z.string().max(65_536),
  notifySubscribers: z.boolean(),
};

export const incidentDraft = z
  .object({
    id: z.uuid(),
    ...texts,
    services: z.array(service),
    cause: z.string().nullable().meta({
      description: 'Why their checks fail; null where there is not enough to tell. Never public',
    }),
    created_at: timestamp,
  })
  .meta({ id: 'IncidentDraft' });

const byDraft = z.object({ draftId: pathId });

export const incidentDraftRoutes = defineRoutes('Incidents', {
  listIncidentDrafts: get('/v1/status-pages/incident-drafts', 'List drafts of incidents', {
    response: z.array(incidentDraft),
  }),
  publishIncidentDraft: post(
    '/v1/status-pages/incident-drafts/{draftId}/publish',
    'Publish a draft as an incident',
    {
      description: 'A draft is gone once its services are operational again.',
      params: byDraft,
      body: z
        .object({
          name: texts.name.exactOptional(),
          severity: texts.severity.exactOptional(),
          description: texts.description.exactOptional(),
          notifySubscribers: texts.notifySubscribers.exactOptional(),
        })
        .prefault({}),
      response: incident,
    },
  ),
  dismissIncidentDraft: remove(
    '/v1/status-pages/incident-drafts/{draftId}',
    'Dismiss a draft: its services open none until they were operational again',
    { params: byDraft },
  ),
});
