/** Sent notifications and their alerts. Spec: Alert notification record; Alert notifications list. */
import { z } from 'zod';
import { alertChannelType } from './alert-channel.ts';
import {
  pageQuery,
  pathId,
  queryBoolean,
  queryInteger,
  timestamp,
  windowQuery,
} from './primitives.ts';
import { checkType } from './checks/index.ts';
import { defineRoutes, get } from './route.ts';

export const notificationStatus = z.enum(['IN_PROGRESS', 'SUCCESS', 'FAILURE', 'RATE_LIMITED']);

/** In the order of the specification; names from the field's practice. spec: open */
export const alertNotification = z
  .object({
    id: z.uuid(),
    type: alertChannelType,
    status: notificationStatus,
    alertConfig: z.record(z.string(), z.unknown()),
    notificationResult: z.string().nullable(),
    timestamp,
    checkType,
    checkId: z.uuid(),
    checkAlertId: z.uuid().nullable(),
    alertChannelId: z.int(),
    checkResultId: z.uuid().nullable(),
  })
  .meta({ id: 'AlertNotification' });

/** Spec: Limits, alert notification window: at most so many milliseconds. */
export const notificationWindowMs = 24 * 3_600_000;

export const alertType = z.enum([
  'NO_ALERT',
  'ALERT_FAILURE',
  'ALERT_FAILURE_REMAIN',
  'ALERT_FAILURE_DEGRADED',
  'ALERT_RECOVERY',
  'ALERT_DEGRADED',
  'ALERT_DEGRADED_REMAIN',
  'ALERT_DEGRADED_FAILURE',
  'ALERT_DEGRADED_RECOVERY',
  'ALERT_SSL',
]);

export const checkAlert = z
  .object({
    id: z.uuid(),
    name: z.string(),
    checkId: z.uuid(),
    alertType,
    checkType,
    runLocation: z.string().nullable(),
    responseTime: z.number().nullable(),
    error: z.string().nullable(),
    statusCode: z.string().nullable(),
    created_at: timestamp,
    startedAt: timestamp.nullable(),
    open: z.boolean().meta({ description: 'The outage that it is about lasts' }),
    acknowledgement: z
      .object({
        kind: z.enum(['ACKNOWLEDGED', 'SNOOZED']),
        by: z.string(),
        until: timestamp.nullable().meta({ description: 'The end of a snooze' }),
        created_at: timestamp,
      })
      .nullable()
      .meta({
        description: 'The newest of its outage; null also after a change that alerted again',
      }),
  })
  .meta({ id: 'CheckAlert' });

/** Most checks whose open alerts a list looks at. */
export const maxOpenAlerts = 1_000;

const alertWindow = {
  ...pageQuery,
  ...windowQuery,
  open: queryBoolean.exactOptional().meta({
    override: {
      type: 'boolean',
      description: `True lists the newest alert of each outage that lasts, of the ${maxOpenAlerts} checks that failed last`,
    },
  }),
};

export const alertRoutes = defineRoutes('Check alerts', {
  listAlertNotifications: get(
    '/v1/alert-notifications',
    'List the notifications that were sent, newest first',
    {
      tag: 'Alert notifications',
      description:
        'The window is at most 24 hours: without `from` and `to` the last 24 hours, with only one of them the 24 hours before or after it.',
      rateLimit: { requests: 5, seconds: 10 },
      query: z.object({
        ...pageQuery,
        ...windowQuery,
        alertChannelId: queryInteger(0, 999_999_999_999_999).exactOptional(),
        hasFailures: queryBoolean.exactOptional().meta({
          override: { type: 'boolean', description: 'True lists only failed notifications' },
        }),
      }),
      response: z.array(alertNotification),
      errors: [402, 429],
      paged: true,
    },
  ),
  listCheckAlerts: get('/v1/check-alerts', 'List the alerts of all checks, newest first', {
    description:
      'The window is at most six hours, by default the last six; with `open` or `alertGroupId` there is none.',
    query: z.object({
      ...alertWindow,
      alertGroupId: z.uuid().exactOptional().meta({
        description: 'Alerts of this group of an alert channel',
      }),
    }),
    response: z.array(checkAlert),
    paged: true,
  }),
  listAlertsOfCheck: get('/v1/check-alerts/{checkId}', 'List the alerts of a check, newest first', {
    description:
      'The window is at most six hours, by default the last six; with `open` there is none.',
    params: z.object({ checkId: pathId }),
    query: z.object(alertWindow),
    response: z.array(checkAlert),
    paged: true,
  }),
});
