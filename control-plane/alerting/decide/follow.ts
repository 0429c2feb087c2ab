/** What a run that counts does to the machine. */
import { alertTypeOf, type Decision } from './decision.ts';
import { alertEffects, decide, raise, unmoved, type Effect, type Outline } from './outline.ts';
import type { AlertRules, Silence } from './rules.ts';
import { toldOf, type AlertState, type Condition, type Trouble } from './state.ts';
import type { TickCount } from './tick.ts';

/** A run, or a tick of a parallel check. */
export interface Judged {
  outcome: Condition;
  resultId: string;
  startedAt: number;
  isInMaintenance: boolean;
  tick: TickCount | null;
}

/** One that a run was made in: nothing waits for its end. */
const maintenance: Silence = { reason: 'MAINTENANCE', until: 0 };

function pass(state: AlertState, run: Judged, silence: Silence | null): Outline {
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
  const told = from === 'passing' || alert.isOver ? alert.kind : from;
  const alertType = alertTypeOf(told, 'passing');
  if (silence !== null) {
    const owed = { ...next, alert: { ...alert, isOver: true } };
    const { reason } = silence;
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
        told: alert.told,
      },
      ...resolved,
    ],
    decision: decide(state, next, startedAt, {
      from: told,
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

function trouble(
  state: AlertState,
  run: Judged & { outcome: Trouble },
  rules: AlertRules,
  silence: Silence | null,
  now: number,
): Outline {
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
    ...(silence === null ? { heldUntil: null, isHoldNoted: false } : {}),
  };
  const not = (reason: Decision['reason']): Outline => ({
    state: next,
    effects: [],
    decision: decide(state, next, startedAt, { reason, tick }),
  });
  if (toldOf(state) === to) return not('ALREADY_ALERTED');
  const hasChanged = from !== 'passing' && !isSame;
  if (!hasChanged && !isThresholdReached(next, rules, startedAt)) {
    return not('THRESHOLD_NOT_REACHED');
  }
  if (silence !== null) return not(silence.reason);
  const raised = raise(next, to, resultId, now);
  const reason = hasChanged ? 'CONDITION_CHANGED' : 'THRESHOLD_REACHED';
  return {
    state: raised,
    effects: alertEffects(raised, alertTypeOf(from, to)),
    decision: decide(state, raised, startedAt, { reason, isRaised: true, tick }),
  };
}

/** Follows a run that is not older than what is known. */
export function follow(state: AlertState, run: Judged, rules: AlertRules, now: number): Outline {
  const { outcome, isInMaintenance, startedAt, tick } = run;
  if (outcome === 'passing') {
    const silence = rules.silence ?? (isInMaintenance ? maintenance : null);
    return pass(state, run, silence);
  }
  if (isInMaintenance) {
    return unmoved(state, outcome, { reason: 'MAINTENANCE', tick }, startedAt);
  }
  return trouble(state, { ...run, outcome }, rules, rules.silence, now);
}
