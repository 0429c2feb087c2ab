/** What the machine decided, and why. */
import type { z } from 'zod';
import type { alertReason } from '@monitor/shared/contract/alert-decision.ts';
import type { alertType } from '@monitor/shared/contract/alert-notification.ts';
import type { Condition, Trouble } from './state.ts';
import type { TickCount } from './tick.ts';

export type AlertType = z.infer<typeof alertType>;
export type AlertReason = z.infer<typeof alertReason>;

export interface Decision {
  cause: 'RUN' | 'ESCALATION' | 'REMINDER' | 'CERTIFICATE' | 'WITHDRAWAL';
  from: Condition;
  to: Condition;
  /** The code of the transition, sent or not. */
  alertType: AlertType;
  isRaised: boolean;
  reason: AlertReason;
  /** Runs of the new condition in a row. */
  runs: number;
  /** How long it lasts by now, in milliseconds. */
  lastsMs: number;
  /** 0 unless it is about a reminder. */
  reminder: number;
  /** Of a check that runs in parallel. */
  tick: TickCount | null;
}

const transitions: Readonly<Record<`${Condition}-${Condition}`, AlertType>> = {
  'passing-passing': 'NO_ALERT',
  'passing-degraded': 'ALERT_DEGRADED',
  'passing-failing': 'ALERT_FAILURE',
  'degraded-degraded': 'ALERT_DEGRADED_REMAIN',
  'degraded-passing': 'ALERT_DEGRADED_RECOVERY',
  'degraded-failing': 'ALERT_DEGRADED_FAILURE',
  'failing-failing': 'ALERT_FAILURE_REMAIN',
  'failing-degraded': 'ALERT_FAILURE_DEGRADED',
  'failing-passing': 'ALERT_RECOVERY',
};

/** The code of a transition. */
export function alertTypeOf(from: Condition, to: Condition): AlertType {
  return transitions[`${from}-${to}`];
}

/** What an alert of a type is about, for the preferences of channels. */
export function subjectOf(type: AlertType): Trouble | 'recovery' | 'certificate' | null {
  switch (type) {
    case 'NO_ALERT':
      return null;
    case 'ALERT_SSL':
      return 'certificate';
    case 'ALERT_RECOVERY':
    case 'ALERT_DEGRADED_RECOVERY':
      return 'recovery';
    case 'ALERT_FAILURE':
    case 'ALERT_FAILURE_REMAIN':
    case 'ALERT_DEGRADED_FAILURE':
      return 'failing';
    case 'ALERT_DEGRADED':
    case 'ALERT_DEGRADED_REMAIN':
    case 'ALERT_FAILURE_DEGRADED':
      return 'degraded';
  }
}
