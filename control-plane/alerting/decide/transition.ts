/** The result of a transition, and the parts that several transitions share. */
import { alertTypeOf, type AlertType, type Decision } from './decision.ts';
import type { AlertState, ProblemCondition } from './state.ts';
import type { Outcome } from './tick.ts';

export type Effect =
  | {
      kind: 'alert';
      alertType: AlertType;
      key: string;
      resultId: string;
      since: number | null;
      /** 0 for the alert itself, otherwise the number of the reminder. */
      reminder: number;
      /** Ids of the channels that were notified before. */
      notified: readonly number[];
    }
  | { kind: 'open-incident' }
  | { kind: 'resolve-incident' };

/** A step without the time of the next evaluation, which follows from the new state. */
export interface Transition {
  state: AlertState;
  effects: Effect[];
  /** Null when nothing was decided. */
  decision: Decision | null;
}

/** The decision about a transition; it sends nothing unless the fields say so. */
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

/** A decision about a run that does not change the state. */
export function unchanged(
  state: AlertState,
  outcome: Outcome,
  fields: Pick<Decision, 'reason'> & Partial<Decision>,
  at: number,
): Transition {
  const to = outcome === 'inconclusive' ? state.condition : outcome;
  const alertType = outcome === 'inconclusive' ? 'NO_ALERT' : alertTypeOf(state.condition, to);
  const decision = decide(state, state, at, { to, alertType, ...fields });
  return { state, effects: [], decision };
}

/** The state after an alert was sent for a condition. */
export function openAlert(
  state: AlertState,
  kind: ProblemCondition,
  resultId: string,
  now: number,
): AlertState {
  const { alert } = state;
  return {
    ...state,
    alert: {
      // A slot that is due again, since the clock was set back, gives its result the same id.
      key: alert?.key ?? `${resultId}/${state.since}`,
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

/** The effects of an alert. Reminders and degradations open no incident. */
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
    notified: told,
  } as const;
  const opensIncident = condition === 'failing' && reminders === 0;
  return opensIncident ? [effect, { kind: 'open-incident' }] : [effect];
}
