/** Alert channels and their subscriptions. Spec: Events; Alert notification record. */
import { z } from 'zod';
import { keyValuePair, pageOf, pathInteger, timestamp, timezone, updateOf } from './primitives.ts';
import { projectBindings } from './project-bindings.ts';
import { sensitive } from './sensitive.ts';
import { defineRoutes, put, resourceOperations } from './route.ts';

const text = (max: number) => z.string().min(1).max(max);
const optional = (max: number) => z.string().max(max).nullable().exactOptional();
const webUrl = z
  .string()
  .max(2048)
  .regex(/^(https?:\/\/\S|\{\{)/i, 'must start with http:// or https://')
  .meta({ example: 'https://hooks.example/alerts' });

export const webhookMethods = ['GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS'] as const;

/** The configuration of each type. Values from the field's practice. spec: open */
export const channelConfigs = {
  EMAIL: z.object({ address: z.email().max(320) }),
  SLACK: z.object({ url: sensitive('capability', webUrl), channel: optional(255) }),
  WEBHOOK: z.object({
    name: text(255),
    url: sensitive('capability', webUrl),
    method: z.enum(webhookMethods).default('POST'),
    headers: z.array(sensitive('hiddenPair', keyValuePair)).max(100).default([]),
    queryParameters: z.array(sensitive('hiddenPair', keyValuePair)).max(100).default([]),
    template: optional(65_536),
    webhookSecret: sensitive('secret', optional(1024)),
    webhookType: z.string().max(64).nullable().exactOptional(),
    expectedAnswer: optional(500).meta({
      description:
        'A text in the body of the answer. Without it a status below 300 says that the message was taken; some receivers say in such an answer that they failed',
    }),
  }),
  SMS: z.object({ name: text(255), number: text(32) }),
  PAGERDUTY: z.object({
    account: optional(255),
    serviceName: optional(255),
    serviceKey: sensitive('secret', text(255)),
  }),
  OPSGENIE: z.object({
    name: text(255),
    apiKey: sensitive('secret', text(1024)),
    region: z.enum(['EU', 'US']),
    priority: z.enum(['P1', 'P2', 'P3', 'P4', 'P5']),
  }),
  CALL: z.object({ name: text(255), number: text(32) }),
  SLACK_APP: z.object({
    slackChannels: z
      .array(text(255))
      .min(1)
      .max(20)
      .meta({
        description: 'Channels (`#ops`), people (`@ada`) or ids of conversations',
        example: ['#ops'],
      }),
  }),
} as const;

/** A number as it is dialled: without spaces and punctuation, `00` as `+`. */
export const dialled = (number: string): string =>
  number.replaceAll(/[\s()./-]/g, '').replace(/^00/, '+');

/**
 * What no service accepts. Earlier versions stored it, so that it may stay: the schemas are those of stored
 * channels.
 */
export function configProblem(
  config: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>> = {},
): { field: string; problem: string } | null {
  const { number, serviceKey: key } = config;
  const isDialled = typeof number !== 'string' || /^\+?\d{7,15}$/.test(dialled(number));
  if (!isDialled && number !== before['number']) {
    const problem = 'must be a phone number with its country code, such as +49 30 1234567';
    return { field: 'config.number', problem };
  }
  const isBlank = typeof key === 'string' && key.trim() === '' && key !== before['serviceKey'];
  return isBlank
    ? { field: 'config.serviceKey', problem: 'must be the integration key of a PagerDuty service' }
    : null;
}

/** Spec: Alert notification record, alert channel type. */
export const alertChannelType = z
  .enum(Object.keys(channelConfigs) as [keyof typeof channelConfigs])
  .meta({ id: 'AlertChannelType' });
export type AlertChannelType = keyof typeof channelConfigs;

/**
 * Alerts that begin within the window and share a cause become one notification. The specification
 * knows no grouping: it is off until it is chosen.
 */
export const alertGrouping = z
  .object({
    windowSeconds: z.int().min(5).max(900).default(30).meta({
      description: 'How long the first alert waits for others of the same cause',
    }),
    updateMinutes: z.int().min(1).max(1440).default(5).meta({
      description: 'The shortest time between two notifications about the same cause',
    }),
    maxPerHour: z.int().min(2).max(1000).default(20).meta({
      description:
        'The most notifications of the channel in an hour; alerts beyond it wait, and the next notification says so',
    }),
  })
  .meta({ id: 'AlertGrouping' });

const messageTimezone = timezone.nullable().meta({
  override: {
    type: ['string', 'null'],
    description: 'IANA time zone whose local time messages show beside UTC',
    example: 'Europe/Berlin',
  },
});

const preferences = {
  sendRecovery: z.boolean().default(true),
  sendFailure: z.boolean().default(true),
  sendDegraded: z.boolean().default(false),
  sslExpiry: z.boolean().default(false),
  sslExpiryThreshold: z.int().min(1).max(30).default(30),
  autoSubscribe: z.boolean().default(false),
  grouping: alertGrouping.nullable().default(null),
  timezone: messageTimezone.default(null),
  sentByAgents: z.boolean().default(false).meta({
    description:
      'Agents notify through it when none of them reaches the control plane: they are given its address and secrets, and keep them encrypted',
  }),
};

/** A subscription names a check or a group. */
export const channelSubscription = z
  .object({
    checkId: z.string().nullable().default(null),
    groupId: z.int().nullable().default(null),
    activated: z.boolean(),
  })
  .refine(
    ({ checkId, groupId }) => (checkId === null) !== (groupId === null),
    'must name either a "checkId" or a "groupId"',
  )
  .meta({
    example: { checkId: '0c6fe2c8-6a98-4895-9a74-41f242d42d7d', activated: true },
  });

const subscriptionsToSet = z
  .array(channelSubscription)
  .max(1000)
  .exactOptional()
  .meta({ example: [] });

const createBody = z.discriminatedUnion(
  'type',
  Object.entries(channelConfigs).map(([type, config]) =>
    z.object({ type: z.literal(type), config, ...preferences, subscriptions: subscriptionsToSet }),
  ) as unknown as [
    z.ZodObject<
      {
        type: typeof alertChannelType;
        config: z.ZodRecord<z.ZodString, z.ZodUnknown>;
        subscriptions: typeof subscriptionsToSet;
      } & typeof preferences
    >,
  ],
);

const updateBody = z.object({
  type: alertChannelType.exactOptional(),
  config: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .meta({
      description: 'Replaces the configuration; the fields are those of the type',
      example: { address: 'user@example.com' },
    }),
  ...updateOf(preferences).shape,
  subscriptions: subscriptionsToSet,
});

const subscription = z.object({
  id: z.int(),
  checkId: z.string().nullable(),
  groupId: z.int().nullable(),
  activated: z.boolean(),
});

export const alertChannel = z
  .object({
    id: z.int(),
    type: alertChannelType,
    config: z.record(z.string(), z.unknown()),
    ...preferences,
    subscriptions: z.array(subscription),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    projectBindings,
    warnings: z.array(z.string()).exactOptional().meta({
      description: 'Why it cannot notify anybody yet; absent without a reason',
    }),
  })
  .meta({ id: 'AlertChannel' });

const byId = { id: pathInteger };

export const alertChannelRoutes = defineRoutes('Alert channels', {
  ...resourceOperations('AlertChannel', '/v1/alert-channels', {
    by: byId,
    response: alertChannel,
    list: pageOf(alertChannel),
    create: { body: createBody, errors: [402] },
    update: {
      summary: 'Change an alert channel; its type stays',
      body: updateBody,
      errors: [402],
    },
    remove: {
      summary: 'Delete an alert channel and its subscriptions',
      description: 'Refused while it is the only one that a step of an escalation policy notifies.',
      errors: [409],
    },
  }),
  subscribeAlertChannel: put(
    '/v1/alert-channels/{id}/subscriptions',
    'Subscribe a check or a group to an alert channel, or change its subscription',
    {
      params: z.object(byId),
      body: channelSubscription,
      response: alertChannel.extend(subscription.omit({ id: true }).shape),
    },
  ),
});
