/** When time alone makes a difference: escalations, reminders, ticks that are waited for. */
import type { AlertRules, Silence } from './rules.ts';
import { toldOf, type AlertState } from './state.ts';

/** Whether a muted check still is, is looked at again after so long. */
const mutedHoldMs = 5 * 60_000;

/** Until when what is due waits. */
export function heldUntilOf(silence: Silence, now: number): number {
  return silence.reason === 'MUTED' ? now + mutedHoldMs : Math.max(silence.until, now + 1_000);
}

/**
 * When the next escalation or reminder is due, if no run says otherwise before. A time-based
 * escalation is reckoned from when the runs were heard of, so that a backlog that is handed in late
 * has the time to say that the check recovered.
 */
export function timedDueAt(state: AlertState, rules: AlertRules): number | null {
  const { condition, stretchSince, alert, lagMs, unheardMs } = state;
  if (condition === 'passing' || stretchSince === null) return null;
  if (toldOf(state) !== condition) {
    const { escalation } = rules;
    return escalation.type === 'TIME_BASED'
      ? stretchSince + escalation.minutes * 60_000 + lagMs + unheardMs
      : null;
  }
  const { amount, intervalMs } = rules.reminders;
  return alert === null || alert.reminders >= amount ? null : alert.lastSentAt + intervalMs;
}

/** When the machine must be woken; null when only a run can change anything. */
export function wakeAtOf(state: AlertState, rules: AlertRules): number | null {
  const dueAt = timedDueAt(state, rules);
  const instants = state.openTicks.map(({ closesAt }) => closesAt);
  if (dueAt !== null) instants.push(Math.max(dueAt, state.heldUntil ?? 0));
  return instants.length === 0 ? null : Math.min(...instants);
}
