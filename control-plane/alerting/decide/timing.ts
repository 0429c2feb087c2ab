/** Timers of the alert state machine: escalations, reminders and deadlines of ticks. */
import type { AlertRules, Mute } from './rules.ts';
import { notifiedCondition, type AlertState } from './state.ts';

/** How often a muted check is evaluated again. */
const mutedHoldMs = 5 * 60_000;

/** The instant until which a due notification is held. */
export function heldUntilOf(mute: Mute, now: number): number {
  return mute.reason === 'MUTED' ? now + mutedHoldMs : Math.max(mute.until, now + 1_000);
}

/**
 * A state whose hold lasts no longer than the mute that holds it now. Without one only the next run shows whether the
 * check still fails.
 */
export function heldNoLonger(
  state: AlertState,
  { mute }: Pick<AlertRules, 'mute'>,
  nextRunMs: number,
  now: number,
): AlertState {
  if (state.heldUntil === null) return state;
  const until = mute === null ? now + nextRunMs : heldUntilOf(mute, now);
  return { ...state, heldUntil: Math.min(state.heldUntil, until) };
}

/**
 * When the next escalation or reminder is due unless a run changes the state first. A time-based
 * escalation counts from the arrival of the runs, so that a backlog that arrives late can still
 * show the recovery.
 */
export function timedDueAt(state: AlertState, rules: AlertRules): number | null {
  const { condition, stretchSince, alert, lagMs, unheardMs } = state;
  // No run follows the ping with which a heartbeat recovered while it was muted.
  if (condition === 'passing') return rules.isPinged === true ? (alert?.lastSentAt ?? null) : null;
  if (stretchSince === null) return null;
  if (notifiedCondition(state) !== condition) {
    const { escalation, isPinged } = rules;
    if (escalation.type === 'TIME_BASED') {
      return stretchSince + escalation.minutes * 60_000 + lagMs + unheardMs;
    }
    return isPinged === true ? stretchSince + lagMs : null;
  }
  const { amount, intervalMs } = rules.reminders;
  const { acknowledged } = alert ?? {};
  if (alert !== null && acknowledged !== undefined) {
    const { untilAt } = acknowledged;
    if (untilAt === null) return null;
    // The end of a snooze is a reminder, whatever their number.
    if (untilAt > alert.lastSentAt) return untilAt;
  }
  return alert === null || alert.reminders >= amount ? null : alert.lastSentAt + intervalMs;
}

/** When the state must be evaluated again without a run; null when only a run can change it. */
export function nextEvaluationAt(state: AlertState, rules: AlertRules): number | null {
  const dueAt = timedDueAt(state, rules);
  const instants = state.openTicks.map(({ closesAt }) => closesAt);
  if (dueAt !== null) instants.push(Math.max(dueAt, state.heldUntil ?? 0));
  return instants.length === 0 ? null : Math.min(...instants);
}
