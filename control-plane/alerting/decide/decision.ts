/** A decision of the alert state machine, with its reason. */
import type { z } from 'zod';
import type { alertReason } from '@monitor/shared/contract/alert-decision.ts';
import type { alertType } from '@monitor/shared/contract/alert-notification.ts';
import type { Condition, ProblemCondition } from './state.ts';
import type { TickCount } from './tick.ts';

export type AlertType = z.infer<typeof alertType>;
export type AlertReason = z.infer<typeof alertReason>;

export interface Decision {
  cause: 'RUN' | 'ESCALATION' | 'REMINDER' | 'CERTIFICATE' | 'WITHDRAWAL' | 'POLICY';
  from: Condition;
  to: Condition;
  /** Code of the transition, whether it was sent or not. */
  alertType: AlertType;
  isRaised: boolean;
  reason: AlertReason;
  /** Consecutive runs in the new condition. */
  runs: number;
  /** Duration of the condition so far, in milliseconds. */
  lastsMs: number;
  /** Number of the reminder; 0 when this is none. */
  reminder: number;
  /** Only for a check that runs in parallel. */
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

/** The alert type of a transition. */
export function alertTypeOf(from: Condition, to: Condition): AlertType {
  return transitions[`${from}-${to}`];
}

/** The kind of event, as the preferences of channels name it. */
export function subjectOf(type: AlertType): ProblemCondition | 'recovery' | 'certificate' | null {
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
