/**
 * The alert machine. A check is passing, degraded or failing, as its newest run says:
 *
 *   passing → degraded, failing    alert when the threshold is reached
 *   degraded ↔ failing             alert always
 *   degraded, failing unchanged    alert when the threshold is reached later, then reminders
 *   degraded, failing → passing    recovery, if there was an alert
 *
 * Agent errors and results older than the newest one change nothing. While notifications are
 * suppressed (muted, or in maintenance) the state machine keeps up and sends nothing. A lasting
 * failure is sent with the first run afterwards that meets the rules, a recovery with the first
 * pass afterwards; of a check that is pinged, both are sent at once. A run that fails during
 * maintenance does not count at all, unless its check is pinged. Spec: Events 1; facts: Alerting, transitions.
 */
import { alertTypeOf } from './decision.ts';
import { reduceRun, type JudgedRun } from './reduce-run.ts';
import { alertEffects, decide, openAlert, unchanged, type Transition } from './transition.ts';
import type { AlertRules } from './rules.ts';
import { notifiedCondition, type AlertState } from './state.ts';
import { countTick, judgeTick, type LocationResult, type Outcome } from './tick.ts';
import { heldUntilOf, timedDueAt, nextEvaluationAt } from './timing.ts';
/** A run that is over; `startedAt` is the start of its last attempt. */
export interface RunEvent {
  kind: 'run';
  resultId: string;
  outcome: Outcome;
  startedAt: number;
  stoppedAt: number;
  isInMaintenance: boolean;
  /** The run was triggered and belongs to no slot. */
  isTriggered: boolean;
}

/** All results of a tick so far, and the one that has just arrived. */
export interface TickEvent {
  kind: 'tick';
  scheduledFor: number;
  results: readonly LocationResult[];
  /** Locations that will report because an agent serves them. */
  expected: readonly string[];
  closesAt: number;
  isInMaintenance: boolean;
  /** The worst of the new results; null when only the deadline of the tick has passed. */
  newest: { resultId: string; outcome: Outcome } | null;
}

export type AlertEvent = RunEvent | TickEvent | { kind: 'wake' };

export interface Step extends Transition {
  wakeAt: number | null;
}

/** Limit of undecided ticks; the oldest ones are dropped. */
const maxOpenTicks = 64;

/**
 * A pass is outdated when it began before the newest run. A failure is outdated only when it also
 * ended earlier: a run that takes long to fail ends after newer runs that pass at once.
 */
function isOutdated(state: AlertState, run: RunEvent): boolean {
  const { newestStartedAt, newestStoppedAt, decidedTick } = state;
  if (decidedTick !== null && run.startedAt < decidedTick) return true;
  if (run.startedAt >= newestStartedAt) return false;
  return run.outcome === 'passing' || run.stoppedAt < newestStoppedAt;
}

function onRun(state: AlertState, run: RunEvent, rules: AlertRules, now: number): Transition {
  const { outcome, startedAt, stoppedAt } = run;
  if (outcome === 'inconclusive') {
    return unchanged(state, outcome, { reason: 'INCONCLUSIVE' }, startedAt);
  }
  // One location cannot show that a parallel check passes, nor that enough locations fail.
  const isPartial = outcome !== 'failing' || rules.parallelPercentage !== null;
  if (rules.isParallel && run.isTriggered && isPartial) {
    return unchanged(state, outcome, { reason: 'OUTSIDE_SCHEDULE' }, startedAt);
  }
  if (isOutdated(state, run)) return unchanged(state, outcome, { reason: 'OUTDATED' }, startedAt);
  const seen: AlertState = {
    ...state,
    newestStartedAt: Math.max(state.newestStartedAt, startedAt),
    newestStoppedAt: Math.max(state.newestStoppedAt, stoppedAt),
    lagMs: now - stoppedAt,
    unheardMs: 0,
  };
  return reduceRun(seen, { ...run, outcome, tick: null }, rules, now);
}

function onTick(state: AlertState, event: TickEvent, rules: AlertRules, now: number): Transition {
  const { scheduledFor, results, expected, closesAt, newest } = event;
  const tick = countTick(results, expected, rules.parallelPercentage);
  const quiet: Transition = { state, effects: [], decision: null };
  if (state.decidedTick !== null && scheduledFor <= state.decidedTick) {
    if (newest === null || newest.outcome === 'passing') return quiet;
    const reason = scheduledFor === state.decidedTick ? 'TICK_DECIDED' : 'OUTDATED';
    return unchanged(state, newest.outcome, { reason, tick }, scheduledFor);
  }
  const outcome = judgeTick(tick, now >= closesAt);
  if (outcome === 'open') {
    const isOfInterest =
      tick.failing + tick.degraded > 0 || state.condition !== 'passing' || state.alert !== null;
    const others = state.openTicks.filter((open) => open.scheduledFor !== scheduledFor);
    const openTicks = [...others, { scheduledFor, closesAt }]
      .sort((a, b) => a.scheduledFor - b.scheduledFor)
      .slice(-maxOpenTicks);
    const next = isOfInterest ? { ...state, openTicks } : state;
    if (newest === null || newest.outcome === 'passing') return { ...quiet, state: next };
    const reason = newest.outcome === 'inconclusive' ? 'INCONCLUSIVE' : 'TICK_OPEN';
    return unchanged(next, newest.outcome, { reason, tick }, scheduledFor);
  }
  const stoppedAt = Math.max(...results.map((result) => result.stoppedAt));
  const decided: AlertState = {
    ...state,
    decidedTick: scheduledFor,
    openTicks: state.openTicks.filter((open) => open.scheduledFor > scheduledFor),
    ...(now >= closesAt || results.length === 0 ? {} : { lagMs: now - stoppedAt, unheardMs: 0 }),
  };
  if (outcome === 'inconclusive') {
    return unchanged(decided, outcome, { reason: 'INCONCLUSIVE', tick }, scheduledFor);
  }
  const resultId =
    results.findLast((result) => result.outcome === outcome)?.resultId ??
    results.at(-1)?.resultId ??
    '';
  const { isInMaintenance } = event;
  const run: JudgedRun = { outcome, resultId, startedAt: scheduledFor, isInMaintenance, tick };
  return reduceRun(decided, run, rules, now);
}

/** Sends the recovery of a heartbeat that was pinged while it was muted. */
function onOwedRecovery(state: AlertState, rules: AlertRules, now: number): Transition {
  if (rules.mute !== null) {
    const held = { ...state, heldUntil: heldUntilOf(rules.mute, now) };
    return { state: held, effects: [], decision: null };
  }
  const pass = { outcome: 'passing', resultId: state.resultId ?? '', tick: null } as const;
  return reduceRun(state, { ...pass, startedAt: now, isInMaintenance: false }, rules, now);
}

function onWake(state: AlertState, rules: AlertRules, now: number): Transition {
  const { alert, condition } = state;
  const dueAt = timedDueAt(state, rules);
  if (dueAt === null || Math.max(dueAt, state.heldUntil ?? 0) > now) {
    return { state, effects: [], decision: null };
  }
  if (condition === 'passing') return onOwedRecovery(state, rules, now);
  const isReminder = notifiedCondition(state) === condition;
  const cause = isReminder ? 'REMINDER' : 'ESCALATION';
  const reminder = isReminder ? (alert?.reminders ?? 0) + 1 : 0;
  if (rules.mute !== null) {
    const { reason } = rules.mute;
    const next = { ...state, heldUntil: heldUntilOf(rules.mute, now), isHoldNoted: true };
    const decision = decide(state, next, now - state.lagMs, { cause, reason, reminder });
    return { state: next, effects: [], decision: state.isHoldNoted ? null : decision };
  }
  const raised =
    isReminder && alert !== null
      ? {
          ...state,
          alert: { ...alert, reminders: reminder, lastSentAt: now },
          heldUntil: null,
          isHoldNoted: false,
        }
      : openAlert(state, condition, state.resultId ?? '', now);
  return {
    state: raised,
    effects: alertEffects(raised, alertTypeOf(condition, condition)),
    decision: decide(state, raised, now - state.lagMs, {
      cause,
      isRaised: true,
      reason: isReminder ? 'REMINDER_DUE' : 'THRESHOLD_REACHED',
      reminder,
    }),
  };
}

function transitionOf(
  state: AlertState,
  event: AlertEvent,
  rules: AlertRules,
  now: number,
): Transition {
  switch (event.kind) {
    case 'run':
      return onRun(state, event, rules, now);
    case 'tick':
      return onTick(state, event, rules, now);
    case 'wake':
      return onWake(state, rules, now);
  }
}

/** Clocks of one installation may differ by this much without any correction. */
const clockToleranceMs = 5 * 60_000;

/**
 * Repairs a state that was stored before the clock was set back. It holds instants in the future,
 * so every new run would look outdated and nothing would fall due until the clock caught up. Future
 * instants used for comparison are dropped; future starts become now.
 */
function withoutFuture(state: AlertState, now: number): AlertState {
  const { newestStartedAt, decidedTick, stretchSince, since, alert } = state;
  const latest = now + clockToleranceMs;
  const newest = Math.max(newestStartedAt, decidedTick ?? 0, alert?.lastSentAt ?? 0);
  if (newest <= latest) return state;
  const known = (at: number | null) => (at === null ? null : Math.min(at, now));
  return {
    ...state,
    newestStartedAt: newestStartedAt > latest ? 0 : newestStartedAt,
    newestStoppedAt: newestStartedAt > latest ? 0 : state.newestStoppedAt,
    decidedTick: decidedTick !== null && decidedTick > latest ? null : decidedTick,
    openTicks: state.openTicks.filter(({ scheduledFor }) => scheduledFor <= latest),
    stretchSince: known(stretchSince),
    since: known(since),
    alert: alert && { ...alert, lastSentAt: Math.min(alert.lastSentAt, now) },
  };
}

/**
 * One step of the state machine. The caller sends each `alert` and adds the notified channels to
 * the open alert.
 */
export function stepAlert(
  state: AlertState,
  event: AlertEvent,
  rules: AlertRules,
  now: number,
): Step {
  const known = withoutFuture(state, now);
  const { state: next, effects, decision } = transitionOf(known, event, rules, now);
  return { state: next, effects, decision, wakeAt: nextEvaluationAt(next, rules) };
}
