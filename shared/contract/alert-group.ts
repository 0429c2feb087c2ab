/** Alerts that an alert channel gets together, because they began within a window and share a cause. */
import { z } from 'zod';
import { alertType } from './alert-notification.ts';
import { pageOf, pageQuery, pathId, queryInteger, timestamp } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

/** From the one that explains most: a host that is down explains more than a tag that its checks share. */
export const causeKinds = [
  'location',
  'next-hop',
  'resolver',
  'certificate',
  'host',
  'network',
  'group',
  'tag',
] as const;
export type CauseKind = (typeof causeKinds)[number];

export const alertCause = z.object({
  kind: z.enum(causeKinds),
  name: z.string(),
  text: z.string().meta({ example: 'the host api.shop.example' }),
});

export const alertGroup = z
  .object({
    id: z.uuid(),
    alertChannelId: z.int(),
    cause: alertCause.nullable().meta({
      description:
        'Null for alerts of several causes that the limit of the channel brought together',
    }),
    alerts: z.int(),
    notifications: z.int(),
    created_at: timestamp,
    lastSentAt: timestamp,
  })
  .meta({ id: 'AlertGroup' });

export const groupedAlert = z
  .object({
    id: z.uuid().meta({
      description: 'Id of its alert notification, unless it is about a certificate',
    }),
    checkAlertId: z.uuid(),
    checkId: z.uuid(),
    name: z.string(),
    alertType,
    effect: z.enum(['PROBLEM', 'REMINDER', 'CLOSING']),
    error: z.string().nullable(),
    messageId: z.uuid().meta({ description: 'Alerts of one message went out together' }),
    sentAt: timestamp,
    created_at: timestamp,
  })
  .meta({ id: 'GroupedAlert' });

const tag = 'Alert groups';
const byId = z.object({ id: pathId });

export const alertGroupRoutes = defineRoutes(tag, {
  listAlertGroups: get('/v1/alert-groups', 'List the groups of alerts, newest first', {
    query: z.object({
      ...pageQuery,
      alertChannelId: queryInteger(0, 999_999_999_999_999).exactOptional(),
    }),
    response: z.array(alertGroup),
    paged: true,
  }),
  getAlertGroup: get('/v1/alert-groups/{id}', 'Read a group of alerts', {
    params: byId,
    response: alertGroup,
  }),
  listAlertsOfGroup: get(
    '/v1/alert-groups/{id}/alerts',
    'List the alerts of a group, newest first',
    {
      params: byId,
      ...pageOf(groupedAlert),
    },
  ),
});
