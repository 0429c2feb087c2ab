/** What happened around a check, beside its measurements. */
import { z } from 'zod';
import { pathId, queryInstant, timestamp } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

/** Longest window, and the default: as long as charts are. */
export const maxEventsWindowMs = 31 * 24 * 3_600_000;
/** Most of each kind; the newest. */
export const maxEventsOfKind = 50;

export const checkEvent = z
  .object({
    kind: z.enum(['INCIDENT', 'MAINTENANCE', 'DEPLOYMENT', 'CHANGE', 'IMPORT']),
    id: z.string().meta({
      description: 'Of the incident, the window, the entry of the audit log, or the check',
    }),
    name: z.string().meta({
      description: 'Of the incident, the window, the project, what was changed, or the other side',
    }),
    fields: z.array(z.string()).meta({
      description:
        'What a CHANGE of the check or its group changed, for those who may read the audit log',
    }),
    startedAt: timestamp,
    endedAt: timestamp.nullable().meta({
      description: 'Null for an open incident, and for what has no duration',
    }),
  })
  .meta({ id: 'CheckEvent' });
export type CheckEvent = z.input<typeof checkEvent>;

export const checkEventRoutes = defineRoutes('Check statuses', {
  listCheckEvents: get(
    '/v1/check-events/{checkId}',
    'List incidents, maintenance, deployments and changes of a check, oldest first',
    {
      description:
        'At most 31 days, by default the last ones, and at most 50 of each kind, the newest. Incidents are those that the check opened, and those of the service that it opens incidents for.',
      params: z.object({ checkId: pathId }),
      query: z.object({ from: queryInstant.exactOptional(), to: queryInstant.exactOptional() }),
      response: z.array(checkEvent),
    },
  ),
});
