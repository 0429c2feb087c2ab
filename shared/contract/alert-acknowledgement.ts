/** Acknowledging and snoozing alerts. */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, post } from './route.ts';

const body = z.object({
  snoozeMinutes: z.int().min(1).max(10_080).nullable().default(null).meta({
    description: 'A reminder follows after this time; null for none until the recovery',
  }),
});

export const alertAcknowledgement = z
  .object({
    kind: z.enum(['ACKNOWLEDGED', 'SNOOZED']),
    by: z.string(),
    until: timestamp.nullable(),
    alerts: z.int().meta({ description: 'How many open alerts it is about' }),
  })
  .meta({ id: 'AlertAcknowledgement' });

const params = z.object({ id: pathId });
const acknowledging = { params, body, status: 200, response: alertAcknowledgement } as const;

export const alertAcknowledgementRoutes = defineRoutes('Check alerts', {
  acknowledgeAlert: post(
    '/v1/check-alerts/{id}/acknowledge',
    'Acknowledge or snooze an open alert',
    {
      description:
        'Its reminders stop, or wait for the end of the snooze. A change between degraded and failing alerts again. The recovery says who acknowledged.',
      ...acknowledging,
      errors: [409],
    },
  ),
  acknowledgeAlertGroup: post(
    '/v1/alert-groups/{id}/acknowledge',
    'Acknowledge or snooze the open alerts of a group',
    {
      tag: 'Alert groups',
      description: 'As for one alert, for at most 1,000 of the group.',
      ...acknowledging,
      errors: [409],
    },
  ),
});
