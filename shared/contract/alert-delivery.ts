/** Test notifications, and sending a notification again. */
import { z } from 'zod';
import { alertNotification, notificationStatus } from './alert-notification.ts';
import { pathId, pathInteger } from './primitives.ts';
import { defineRoutes, post } from './route.ts';

/** How long a test waits for its outcome. */
export const testWaitMs = 10_000;

export const channelTest = z
  .object({
    id: z.uuid().meta({ description: 'The id that receivers see' }),
    status: notificationStatus,
    result: z.string().nullable().meta({
      description:
        'The answer of the receiver, or why nothing could be sent; null while it is being sent',
    }),
  })
  .meta({ id: 'AlertChannelTest' });

export const alertDeliveryRoutes = defineRoutes('Alert channels', {
  testAlertChannel: post('/v1/alert-channels/{id}/test', 'Send a test through an alert channel', {
    description:
      'Tried once. The answer has the outcome, or IN_PROGRESS when there is none within ten seconds. Tests are not in the list of notifications.',
    rateLimit: { requests: 20, seconds: 60 },
    params: z.object({ id: pathInteger }),
    status: 200,
    response: channelTest,
    errors: [429],
  }),
  redeliverAlertNotification: post(
    '/v1/alert-notifications/{id}/redeliver',
    'Send the content of a notification again, with the present configuration of its channel',
    {
      tag: 'Alert notifications',
      description: 'The answer is the record of the new notification.',
      rateLimit: { requests: 20, seconds: 60 },
      params: z.object({ id: pathId }),
      status: 202,
      response: alertNotification,
      errors: [409, 429],
    },
  ),
});
