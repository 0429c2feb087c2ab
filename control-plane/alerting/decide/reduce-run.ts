/** Applies a counted run to the alert state. */
import { alertTypeOf, type Decision } from './decision.ts';
import {
  alertEffects,
  decide,
  openAlert,
  unchanged,
  type Effect,
  type Transition,
} from './transition.ts';
import type { AlertRules, Mute } from './rules.ts';
import {
  notifiedCondition,
  type AlertState,
  type Condition,
  type ProblemCondition,
} from './state.ts';
import type { TickCount } from './tick.ts';

/** A run, or a tick of a parallel check. */
export interface JudgedRun {
  outcome: Condition;
  resultId: string;
  startedAt: number;
  isInMaintenance: boolean;
  tick: TickCount | null;
}

/** The maintenance in which a run was made; its end does not matter here. */
const maintenance: Mute = { reason: 'MAINTENANCE', until: 0 };

function reducePass(state: AlertState, run: JudgedRun, mute: Mute | null): Transition {
  const { alert, condition: from } = state;
  const next: AlertState = {
    ...state,
    condition: 'passing',
    runs: 0,
    stretchSince: null,
    since: null,
    resultId: run.resultId,
    heldUntil: null,
    isHoldNoted: false,
  };
  const { tick, startedAt } = run;
  if (alert === null) {
    const reason = from === 'passing' ? 'PASSING' : 'NOTHING_TO_RECOVER';
    const decision = from === 'passing' ? null : decide(state, next, startedAt, { reason, tick });
    return { state: next, effects: [], decision };
  }
  const resolved: Effect[] = alert.isOver ? [] : [{ kind: 'resolve-incident' }];
  const notified = from === 'passing' || alert.isOver ? alert.kind : from;
  const alertType = alertTypeOf(notified, 'passing');
  if (mute !== null) {
    const owed = { ...next, alert: { ...alert, isOver: true } };
    const { reason } = mute;
    const decision = from === 'passing' ? null : decide(state, owed, startedAt, { reason, tick });
    return { state: owed, effects: resolved, decision };
  }
  return {
    state: { ...next, alert: null },
    effects: [
      {
        kind: 'alert',
        alertType,
        key: alert.key,
        resultId: run.resultId,
        since: state.since,
        reminder: 0,
        notified: alert.told,
      },
      ...resolved,
    ],
    decision: decide(state, next, startedAt, {
      from: notified,
      alertType,
      isRaised: true,
      reason: 'RECOVERED',
      tick,
    }),
  };
}

function isThresholdReached(state: AlertState, { escalation }: AlertRules, at: number): boolean {
  return escalation.type === 'RUN_BASED'
    ? state.runs >= escalation.runs
    : at - (state.stretchSince ?? at) >= escalation.minutes * 60_000;
}

function reduceProblem(
  state: AlertState,
  run: JudgedRun & { outcome: ProblemCondition },
  rules: AlertRules,
  mute: Mute | null,
  now: number,
): Transition {
  const { condition: from } = state;
  const { outcome: to, startedAt, resultId, tick } = run;
  const isSame = from === to;
  const next: AlertState = {
    ...state,
    condition: to,
    runs: isSame ? state.runs + 1 : 1,
    stretchSince: isSame ? state.stretchSince : startedAt,
    since: from === 'passing' ? startedAt : state.since,
    resultId,
    ...(mute === null ? { heldUntil: null, isHoldNoted: false } : {}),
  };
  const not = (reason: Decision['reason']): Transition => ({
    state: next,
    effects: [],
    decision: decide(state, next, startedAt, { reason, tick }),
  });
  if (notifiedCondition(state) === to) return not('ALREADY_ALERTED');
  const hasChanged = from !== 'passing' && !isSame;
  if (!hasChanged && !isThresholdReached(next, rules, startedAt)) {
    return not('THRESHOLD_NOT_REACHED');
  }
  if (mute !== null) return not(mute.reason);
  const raised = openAlert(next, to, resultId, now);
  const reason = hasChanged ? 'CONDITION_CHANGED' : 'THRESHOLD_REACHED';
  return {
    state: raised,
    effects: alertEffects(raised, alertTypeOf(from, to)),
    decision: decide(state, raised, startedAt, { reason, isRaised: true, tick }),
  };
}

/** Reduces a run into the state. The run must not be older than the state. */
export function reduceRun(
  state: AlertState,
  run: JudgedRun,
  rules: AlertRules,
  now: number,
): Transition {
  const { outcome, isInMaintenance, startedAt, tick } = run;
  if (outcome === 'passing') {
    const mute = rules.mute ?? (isInMaintenance ? maintenance : null);
    return reducePass(state, run, mute);
  }
  // After a missed deadline no run follows: its alert is held until the maintenance ends.
  if (isInMaintenance && rules.isPinged !== true) {
    return unchanged(state, outcome, { reason: 'MAINTENANCE', tick }, startedAt);
  }
  return reduceProblem(state, { ...run, outcome }, rules, rules.mute, now);
}
