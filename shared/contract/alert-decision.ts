/** Alerting decisions: why alerts were sent or not sent. */
import { z } from 'zod';
import { alertType } from './alert-notification.ts';
import { alertSettings } from './check.ts';
import { pageQuery, pathId, pathInteger, timestamp, windowQuery } from './primitives.ts';
import { defineRoutes, get, post } from './route.ts';

/** Longest window of a list. */
export const maxDecisionsWindowMs = 31 * 24 * 3_600_000;
export const defaultDecisionsWindowMs = 24 * 3_600_000;

/**
 * The reason of a decision. The first six come with an alert, the others without; DEACTIVATED of a
 * WITHDRAWAL closes an alert.
 */
export const alertReason = z
  .enum([
    'THRESHOLD_REACHED',
    'CONDITION_CHANGED',
    'RECOVERED',
    'REMINDER_DUE',
    'CERTIFICATE_EXPIRING',
    'CERTIFICATE_EXPIRED',
    'PASSING',
    'THRESHOLD_NOT_REACHED',
    'ALREADY_ALERTED',
    'NOTHING_TO_RECOVER',
    'MUTED',
    'MAINTENANCE',
    'DEACTIVATED',
    'INCONCLUSIVE',
    'OUTDATED',
    'TICK_OPEN',
    'TICK_DECIDED',
    'OUTSIDE_SCHEDULE',
    'NO_CHANNEL',
    'NOT_COUNTED',
    'NOT_KEPT',
    'POLICY_STEP',
    'POLICY_STOPPED',
  ])
  .meta({ id: 'AlertReason' });

const condition = z.enum(['passing', 'degraded', 'failing']);

/** Why a channel was notified or not. `NEVER_TOLD` and `ALREADY_TOLD` are names of the wire. */
export const channelReason = z.enum([
  'WANTED',
  'SUBSCRIPTION_OFF',
  'FAILURES_OFF',
  'DEGRADED_OFF',
  'RECOVERIES_OFF',
  'NEVER_TOLD',
  'CERTIFICATES_OFF',
  'NOT_YET',
  'ALREADY_TOLD',
]);

const toldChannel = z.object({
  alertChannelId: z.int(),
  type: z.string(),
  sent: z.boolean(),
  reason: channelReason,
  explanation: z.string(),
  group: z
    .object({
      id: z.uuid(),
      messageId: z.uuid(),
      alerts: z.int().meta({ description: 'How many alerts the notification is about' }),
      sentAt: timestamp,
    })
    .nullable()
    .meta({ description: 'The notification about several alerts that this one was part of' }),
});

export const alertDecision = z
  .object({
    id: z.uuid().nullable().meta({
      description: 'Null for an explanation without a stored decision',
    }),
    checkId: z.uuid(),
    checkResultId: z.uuid().nullable(),
    cause: z.enum(['RUN', 'ESCALATION', 'REMINDER', 'CERTIFICATE', 'WITHDRAWAL', 'POLICY']),
    transition: z.object({ from: condition, to: condition }).nullable(),
    alertType: alertType.meta({
      description: 'Alert type of the transition, whether it was sent or not',
    }),
    outcome: z.enum(['SENT', 'NOT_SENT']),
    reason: alertReason,
    explanation: z.string().meta({
      example: '2 of 3 failed runs in a row; the third will alert.',
    }),
    thresholds: z
      .object({
        escalationType: z.enum(['RUN_BASED', 'TIME_BASED']),
        failedRuns: z.int().nullable(),
        minutesFailing: z.int().nullable(),
        parallelPercentage: z.int().nullable(),
        reminders: z.int(),
        reminderIntervalMinutes: z.number(),
      })
      .nullable(),
    counts: z
      .object({
        runsInARow: z.int(),
        minutes: z.number(),
        reminder: z.int(),
        locations: z
          .object({
            failing: z.int(),
            degraded: z.int(),
            reported: z.int(),
            expected: z.int(),
          })
          .nullable(),
      })
      .nullable(),
    channels: z.array(toldChannel),
    checkAlertId: z.uuid().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'AlertDecision' });

/** Most runs that a replay looks at; the newest count. */
export const maxReplayedRuns = 100_000;
const maxReplayedAlerts = 100;

const replayed = z.object({
  alerts: z.int().meta({ description: 'Of failures and degradations, without reminders' }),
  reminders: z.int(),
  recoveries: z.int(),
  newest: z
    .array(z.object({ alertType, at: timestamp, reminder: z.int(), checkResultId: z.string() }))
    .max(maxReplayedAlerts)
    .meta({ description: 'The newest first' }),
});

/** The checks of one maintenance that are replayed; further ones are counted. */
export const maxMaintainedChecks = 200;

export const alertDecisionRoutes = defineRoutes('Check alerts', {
  listAlertDecisions: get(
    '/v1/check-alerts/{checkId}/decisions',
    'List why alerts of a check were sent or not sent, newest first',
    {
      description:
        'The window is at most 31 days, by default the last 24 hours; with `checkResultId` there is no window. Passing runs of a passing check leave no decision: with `checkResultId` the answer explains that.',
      params: z.object({ checkId: pathId }),
      query: z.object({
        ...pageQuery,
        ...windowQuery,
        checkResultId: pathId.exactOptional(),
      }),
      response: z.array(alertDecision),
      paged: true,
    },
  ),
  replayAlerts: post(
    '/v1/check-alerts/{checkId}/replay',
    'What a check would have alerted about with other alert settings',
    {
      onlyReads: true,
      description: `The finished runs of the last \`days\` go through the alert machine again: with the settings of the body, and with those that apply now. At most ${maxReplayedRuns} runs, the newest. Mutes are left out; nothing is sent or stored.`,
      role: 'READ_ONLY',
      rateLimit: { requests: 30, seconds: 60 },
      params: z.object({ checkId: pathId }),
      body: z.object({
        alertSettings: alertSettings.nullable().exactOptional(),
        useGlobalAlertSettings: z.boolean().exactOptional(),
        days: z.int().min(1).max(30).default(30),
      }),
      status: 200,
      response: z.object({
        from: timestamp.meta({
          description: 'Later than asked for where not all runs were looked at',
        }),
        to: timestamp,
        runs: z.int(),
        given: replayed,
        current: replayed,
      }),
    },
  ),
  listSuppressedAlerts: get(
    '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}/suppressed-alerts',
    'What would have alerted during an occurrence of a maintenance window',
    {
      tag: 'Maintenance windows',
      description: `The runs of its checks go through the alert machine again, as if there had been no maintenance; a check that was paused has none. At most ${maxMaintainedChecks} checks, and ${maxReplayedRuns} runs.`,
      rateLimit: { requests: 30, seconds: 60 },
      params: z.object({ id: pathInteger, maintenanceId: z.string() }),
      response: z
        .object({
          from: timestamp,
          to: timestamp,
          checks: z.int().meta({ description: 'That it applies to' }),
          runs: z.int(),
          isWhole: z.boolean().meta({
            description: 'False where the oldest runs, or further checks, were not looked at',
          }),
          alerting: z.array(z.object({ checkId: pathId, name: z.string(), ...replayed.shape })),
        })
        .meta({ id: 'SuppressedAlerts' }),
    },
  ),
});
