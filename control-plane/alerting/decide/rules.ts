/** Alert settings in the form that the state machine uses. Spec: alertSettings. */
import type { z } from 'zod';
import { alertSettings } from '@monitor/shared/contract/check.ts';

export type AlertSettings = z.output<typeof alertSettings>;

/** Why notifications are suppressed now. A maintenance has an end. */
export type Mute = { reason: 'MUTED' } | { reason: 'MAINTENANCE'; until: number };

export interface AlertRules {
  escalation: { type: 'RUN_BASED'; runs: number } | { type: 'TIME_BASED'; minutes: number };
  reminders: { amount: number; intervalMs: number };
  /** All locations of a tick count as one run. */
  isParallel: boolean;
  /** The share of locations that must fail, in percent; null without such a threshold. */
  parallelPercentage: number | null;
  /** After a missed deadline no run follows that could show it again. */
  isPinged?: boolean;
  mute: Mute | null;
}

interface GivenSettings {
  check: { useGlobalAlertSettings: boolean; alertSettings: unknown };
  group: { useGlobalAlertSettings: boolean | null; alertSettings: unknown } | null;
  /** Settings of the account; null for the defaults. */
  account: unknown;
}

function parsed(settings: unknown): AlertSettings {
  const result = alertSettings.safeParse(settings ?? {});
  return result.success ? result.data : alertSettings.parse({});
}

/**
 * The settings in force. A group overrides the check when it sets `useGlobalAlertSettings: true` or
 * has settings of its own. Otherwise the settings of the check apply, or those of the account when
 * the check uses them.
 */
export function effectiveAlertSettings({ check, group, account }: GivenSettings): AlertSettings {
  if (group?.useGlobalAlertSettings === true) return parsed(account);
  if (group !== null && group.alertSettings !== null) return parsed(group.alertSettings);
  const usesGlobal = group?.useGlobalAlertSettings ?? check.useGlobalAlertSettings;
  return parsed(usesGlobal ? account : check.alertSettings);
}

interface RuledCheck {
  runParallel: boolean;
  locations: number;
  /** A missed deadline is final: a heartbeat cannot fail twice before its next ping. */
  isPinged: boolean;
  mute: Mute | null;
}

/** The rules for a check from the settings that apply to it. */
export function rulesOf(settings: AlertSettings, check: RuledCheck): AlertRules {
  const isParallel = check.runParallel && check.locations >= 2;
  const { enabled, percentage } = settings.parallelRunFailureThreshold;
  const { amount, interval } = settings.reminders;
  return {
    escalation:
      settings.escalationType === 'TIME_BASED'
        ? { type: 'TIME_BASED', minutes: settings.timeBasedEscalation.minutesFailingThreshold }
        : {
            type: 'RUN_BASED',
            runs: check.isPinged ? 1 : settings.runBasedEscalation.failedRunThreshold,
          },
    reminders: { amount, intervalMs: interval * 60_000 },
    isParallel,
    ...(check.isPinged && { isPinged: true }),
    parallelPercentage: isParallel && enabled ? percentage : null,
    mute: check.mute,
  };
}
