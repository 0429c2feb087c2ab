/** Alerts by cause, as the console lists them. An outage lasts from the first alert of a check to its recovery. */
import { z } from 'zod';
import { alertChannelType } from './alert-channel.ts';
import { alertCause } from './alert-group.ts';
import { alertNotification, alertType, checkAlert } from './alert-notification.ts';
import { rootCause } from './root-cause.ts';
import { pathId, timestamp, windowQuery } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

/** Longest window of outages that are over; what lasts is always listed. */
export const maxOverviewWindowMs = 7 * 24 * 3_600_000;
export const defaultOverviewWindowMs = 24 * 3_600_000;
/** More outages are left out, the oldest first. */
export const maxOutages = 2_000;

/** From the one that needs somebody most. A cause has the first that one of its outages has. */
export const outageStates = ['OPEN', 'SNOOZED', 'ACKNOWLEDGED', 'MUTED', 'NOTICE', 'OVER'] as const;
const state = z.enum(outageStates).meta({
  description:
    'MUTED by a person or by maintenance; NOTICE is an alert about a certificate: nothing fails',
});
export type OutageState = z.infer<typeof state>;

const { acknowledgement } = checkAlert.shape;
const ofOutage = {
  state,
  acknowledgement,
  startedAt: timestamp,
  endedAt: timestamp.nullable().meta({ description: 'When its recovery was sent' }),
  maintenance: z
    .object({ name: z.string(), endsAt: timestamp })
    .nullable()
    .meta({ description: 'The maintenance that mutes it now' }),
};

const outage = z.object({
  checkAlertId: z.uuid().meta({ description: 'Its newest alert' }),
  checkId: z.uuid(),
  name: z.string(),
  tags: z.array(z.string()),
  alertType,
  error: z.string().nullable(),
  runLocation: z.string().nullable(),
  ...ofOutage,
});

export const alertOverview = z
  .object({
    id: z.uuid().meta({
      description: 'Of the alert group, or of the first alert of an outage without one',
    }),
    alertGroupId: z.uuid().nullable(),
    cause: alertCause.nullable().meta({ description: 'What the checks of a group share' }),
    ...ofOutage,
    outages: z.array(outage),
    notified: z
      .array(
        z.object({
          alertChannelId: z.int(),
          type: alertChannelType,
          failed: z.int().meta({ description: 'Notifications that were not delivered' }),
        }),
      )
      .meta({ description: 'Channels that were notified, also by an escalation policy' }),
  })
  .meta({ id: 'AlertOverview' });

/** What happened within a minute and is the same for several checks is one event. */
const event = z.object({
  at: timestamp,
  kind: z.enum(['ALERT', 'NOTIFICATION', 'ACKNOWLEDGEMENT', 'ESCALATION']),
  alertType: alertType.nullable(),
  text: z.string().nullable().meta({
    description: 'The error, the answer of the receiver, or what the escalation policy did',
  }),
  acknowledgement: z
    .object({
      kind: z.enum(['ACKNOWLEDGED', 'SNOOZED', 'MUTED']),
      by: z.string(),
      until: timestamp.nullable(),
    })
    .nullable(),
  checks: z.array(z.object({ id: z.uuid(), name: z.string() })).meta({
    description: 'The first few',
  }),
  more: z.int().meta({ description: 'Further checks' }),
  notification: alertNotification.nullable(),
});

const detail = alertOverview
  .extend({
    timeline: z.array(event).meta({ description: 'Oldest first; the newest 200' }),
    alsoFailing: z
      .object({ names: z.array(z.string()), more: z.int() })
      .nullable()
      .meta({ description: 'Other checks that began to fail at about the same time' }),
    rootCauses: z.array(rootCause).meta({
      description: 'Why its checks failed when it began, the surest first',
    }),
  })
  .meta({ id: 'AlertOverviewDetail' });

export const alertOverviewRoutes = defineRoutes('Check alerts', {
  listAlertOverview: get('/v1/alert-overview', 'List alerts by cause, those that last first', {
    description:
      'Alerts that one channel got together are one entry, every other outage is one of its own. The window is at most seven days, by default the last 24 hours; outages that last are always listed.',
    query: z.object({
      ...windowQuery,
      checkId: pathId.exactOptional(),
    }),
    response: z.array(alertOverview),
  }),
  getAlertOverview: get('/v1/alert-overview/{id}', 'Read a cause with its timeline', {
    params: z.object({ id: pathId }),
    response: detail,
  }),
});
