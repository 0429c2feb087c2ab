/** What a step makes of the state, and the parts that several steps share. */
import { alertTypeOf, type AlertType, type Decision } from './decision.ts';
import type { AlertState, Trouble } from './state.ts';
import type { Outcome } from './tick.ts';

export type Effect =
  | {
      kind: 'alert';
      alertType: AlertType;
      key: string;
      resultId: string;
      since: number | null;
      /** 0 for the alert itself. */
      reminder: number;
      /** Channels that were told before. */
      told: readonly number[];
    }
  | { kind: 'open-incident' }
  | { kind: 'resolve-incident' };

/** A step before it is known when the machine must be woken. */
export interface Outline {
  state: AlertState;
  effects: Effect[];
  /** Null when there was nothing to decide. */
  decision: Decision | null;
}

/** The decision about going from one state to the next, not raised unless the fields say so. */
export function decide(
  state: AlertState,
  next: AlertState,
  at: number,
  fields: Pick<Decision, 'reason'> & Partial<Decision>,
): Decision {
  return {
    cause: 'RUN',
    from: state.condition,
    to: next.condition,
    alertType: alertTypeOf(state.condition, next.condition),
    isRaised: false,
    runs: next.runs,
    lastsMs: next.stretchSince === null ? 0 : Math.max(0, at - next.stretchSince),
    reminder: 0,
    tick: null,
    ...fields,
  };
}

/** A decision about a run that leaves the machine as it is. */
export function unmoved(
  state: AlertState,
  outcome: Outcome,
  fields: Pick<Decision, 'reason'> & Partial<Decision>,
  at: number,
): Outline {
  const to = outcome === 'inconclusive' ? state.condition : outcome;
  const alertType = outcome === 'inconclusive' ? 'NO_ALERT' : alertTypeOf(state.condition, to);
  const decision = decide(state, state, at, { to, alertType, ...fields });
  return { state, effects: [], decision };
}

/** The state once people are told of a trouble. */
export function raise(state: AlertState, kind: Trouble, resultId: string, now: number): AlertState {
  const { alert } = state;
  return {
    ...state,
    alert: {
      key: alert?.key ?? resultId,
      kind,
      told: alert?.told ?? [],
      lastSentAt: now,
      reminders: 0,
      isOver: false,
    },
    heldUntil: null,
    isHoldNoted: false,
  };
}

/** What telling them takes: an alert, and an incident unless it is a reminder or a degradation. */
export function alertEffects(state: AlertState, alertType: AlertType): Effect[] {
  const { alert, resultId, since, condition } = state;
  if (alert === null || resultId === null) return [];
  const { key, told, reminders } = alert;
  const effect = {
    kind: 'alert',
    alertType,
    key,
    resultId,
    since,
    reminder: reminders,
    told,
  } as const;
  const opensIncident = condition === 'failing' && reminders === 0;
  return opensIncident ? [effect, { kind: 'open-incident' }] : [effect];
}
