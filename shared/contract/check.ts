/**
 * What all check types have in common. Words: `docs/glossary.md`. Spec: Check: common fields.
 */
import { z } from 'zod';
import {
  dataCenterLocation,
  environmentVariable,
  keyValuePair,
  runtimeId,
  severity,
  timestamp,
} from './primitives.ts';
import { flatProjectBinding, projectBindings } from './project-bindings.ts';
import { workSignature } from './work-signature.ts';

/** Spec: Check, `frequency` in minutes. 0 means sub-minute, see `frequencyOffset`. */
export const frequencies = [0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440] as const;
export const frequency = z.literal(frequencies).meta({
  example: 10,
  description:
    'Minutes between runs. 0 runs every `frequencyOffset` seconds (10, 20 or 30) and needs it.',
});

/** Spec: alertSettings. Values from the field's practice. spec: open */
export const alertSettings = z
  .object({
    escalationType: z.enum(['RUN_BASED', 'TIME_BASED']).default('RUN_BASED'),
    runBasedEscalation: z
      .object({ failedRunThreshold: z.literal([1, 2, 3, 4, 5]).default(1) })
      .prefault({}),
    timeBasedEscalation: z
      .object({ minutesFailingThreshold: z.literal([5, 10, 15, 30]).default(5) })
      .prefault({}),
    reminders: z
      .object({
        amount: z.literal([0, 1, 2, 3, 4, 5, 100_000]).default(0),
        interval: z.literal([1, 2, 3, 4, 5, 10, 15, 30]).default(5),
      })
      .prefault({}),
    parallelRunFailureThreshold: z
      .object({
        enabled: z.boolean().default(false),
        percentage: z.literal([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]).default(10),
      })
      .prefault({}),
    sslCertificates: z
      .object({ enabled: z.boolean(), alertThreshold: z.int().min(0) })
      .partial()
      .exactOptional()
      .meta({
        deprecated: true,
        description: 'Kept as it was sent: `sslExpiry` of alert channels decides',
      }),
    escalationPolicyId: z.uuid().nullable().exactOptional().meta({
      description:
        'Who is notified step by step until the alert is acknowledged; null for nobody. A change of a check or group that does not say it leaves it as it was',
    }),
  })
  .meta({ id: 'AlertSettings' });

/** Some clients send a single word instead of a list. */
const onlyOnWord = z
  .literal('NETWORK_ERROR')
  .transform((one) => [one])
  .pipe(z.array(z.enum(['NETWORK_ERROR'])));

/** Accepts a single word and a list. */
const retryOnlyOn = z
  .union([z.array(z.enum(['NETWORK_ERROR'])), onlyOnWord])
  .meta({ override: { type: 'array', items: { type: 'string', enum: ['NETWORK_ERROR'] } } })
  .default([]);

/** Spec: retryStrategy. Delays follow from `type`; see `retryDelaySeconds`. spec: open */
export const retryStrategy = z
  .object({
    type: z.enum(['FIXED', 'LINEAR', 'EXPONENTIAL', 'SINGLE_RETRY']),
    baseBackoffSeconds: z.number().min(0).max(600).default(60),
    sameRegion: z.boolean().default(true),
    maxRetries: z.int().min(1).max(10).default(2),
    maxDurationSeconds: z.number().min(0).max(600).default(600),
    onlyOn: retryOnlyOn,
  })
  .meta({ id: 'RetryStrategy' });
export type RetryStrategy = z.output<typeof retryStrategy>;

/** `FALLBACK`: that of the group, else as without one. Existing clients send it for checks too. */
export const retryStrategyOrFallback = z.union([z.literal('FALLBACK'), retryStrategy]).nullable();

/** Spec: Check, `triggerIncident`. A given object needs all fields. */
export const triggerIncident = z
  .object({
    serviceId: z.uuid(),
    severity,
    name: z.string().min(1).max(255),
    description: z.string(),
    notifySubscribers: z.boolean(),
  })
  .meta({ id: 'TriggerIncident' });

const alertChannelSubscription = z.object({
  alertChannelId: z.int(),
  activated: z.boolean(),
});
/** Spec: Check, `alertChannelSubscriptions`. */
export const alertChannelSubscriptions = z
  .array(alertChannelSubscription)
  .max(200)
  .meta({ example: [] });

const name = z.string().trim().min(1).max(255);
export const tag = z.string().min(1).max(255);
export const maxTags = 100;
export const tags = z.array(tag).max(maxTags);
const groupOrder = z.int().min(0).nullable();
const description = z.string().max(500).nullable();
export const locations = z.array(dataCenterLocation).max(100).nullable();
export const privateLocations = z
  .array(z.string().min(1).max(30))
  .max(100)
  .nullable()
  .meta({ example: [] });

/** Spec: Limits, environmentVariables items of a check and of a group. */
export const maxCheckVariables = 50;
export const maxGroupVariables = 100;
const checkVariables = z.array(environmentVariable).max(maxCheckVariables);

/** Source of a customer script. */
export const scriptText = z.string().max(262_144);

const statements = z.array(z.string().min(1).max(1000)).max(20).default([]);
const goal = z.string().min(1).max(2000).meta({
  description: 'What the check protects, in words of people: kept, and read by nothing here',
});
const intent = z.object({ goal, requiredOutcomes: statements, mustPreserve: statements }).meta({
  id: 'CheckIntent',
  example: { goal: 'People can pay.', requiredOutcomes: [], mustPreserve: [] },
});
/** As the third version of checks shows it. */
const intentByType = z
  .object({
    goal,
    constraints: z.array(
      z.object({ type: z.enum(['REQUIRED_OUTCOME', 'MUST_PRESERVE']), statement: z.string() }),
    ),
  })
  .meta({ id: 'CheckIntentByType' });
export type Intent = z.output<typeof intent>;

/** Fields of every check, with their defaults. */
export const commonCheckFields = {
  name,
  activated: z.boolean().default(true),
  muted: z.boolean().default(false),
  tags: tags.default([]),
  alertSettings: alertSettings.nullable().prefault({}),
  useGlobalAlertSettings: z.boolean().default(true),
  groupId: z.int().nullable().default(null),
  groupOrder: groupOrder.default(null),
  alertChannelSubscriptions: alertChannelSubscriptions.default([]),
  triggerIncident: triggerIncident.nullable().meta({ example: null }).default(null),
  description: description.default(null),
  intent: intent.nullable().default(null),
  aiAutoRepairEnabled: z.boolean().nullable().default(null).meta({
    description: 'Kept as it was sent: nothing repairs checks here',
  }),
};

/** Further fields of checks with locations. A missing `frequencyOffset` is chosen. */
export const scheduledCheckFields = {
  doubleCheck: z.boolean().default(true).meta({ deprecated: true }),
  shouldFail: z.boolean().default(false),
  locations: locations.default([]),
  privateLocations: privateLocations.default([]),
  runtimeId: runtimeId.nullable().default(null),
  retryStrategy: retryStrategyOrFallback.default(null),
  runParallel: z.boolean().default(false),
  frequency: frequency.default(10),
  frequencyOffset: z.int().min(1).exactOptional(),
  signature: workSignature.nullable().meta({ example: null }).default(null),
};

/**
 * Fields in bodies of monitors without any effect: existing clients send and read them, so they are
 * stored as given. Spec: DNS monitor, further body fields.
 */
export const inheritedFields = {
  heartbeat: z.looseObject({}).nullable().meta({ example: null }).default(null),
  script: scriptText.nullable().default(null),
  scriptPath: z.string().max(1024).nullable().default(null),
  sslCheckDomain: z.string().max(255).nullable().default(null),
  environmentVariables: checkVariables.nullable().default([]),
  setupSnippetId: z.int().nullable().default(null),
  tearDownSnippetId: z.int().nullable().default(null),
  localSetupScript: scriptText.nullable().default(null),
  localTearDownScript: scriptText.nullable().default(null),
};

/** Response time limits of a type, in milliseconds. Spec: Limits. */
export function responseTimeLimits(degraded: number, max: number, ceiling: number) {
  return {
    degradedResponseTime: z.number().min(0).max(ceiling).nullable().default(degraded),
    maxResponseTime: z.number().min(0).max(ceiling).nullable().default(max),
  };
}

/** Spec: alertChannels object. */
export const alertChannels = z
  .object({
    email: z.array(z.object({ address: z.string() })),
    webhook: z.array(
      z.object({
        url: z.string(),
        name: z.string(),
        method: z.string(),
        headers: z.array(keyValuePair),
        queryParameters: z.array(keyValuePair),
      }),
    ),
    slack: z.array(z.object({ url: z.string() })),
    sms: z.array(z.object({ number: z.string(), name: z.string() })),
  })
  .meta({ id: 'AlertChannels' });

/** Fields of every check that only responses carry. */
export const responseOnlyCheckFields = {
  id: z.uuid(),
  intent: z.union([intent, intentByType]).nullable().default(null),
  alertChannels,
  created_at: timestamp,
  updated_at: timestamp.nullable(),
  projectBindings,
  ...flatProjectBinding,
  warnings: z.array(z.string()).exactOptional().meta({
    description:
      'In the answers to create and update: what keeps the check from running as asked, such as a location without an agent',
  }),
};
