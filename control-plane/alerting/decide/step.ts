/**
 * The alert machine. A check is passing, degraded or failing, as its newest run says:
 *
 *   passing → degraded, failing    alert when the threshold is reached
 *   degraded ↔ failing             alert always
 *   degraded, failing unchanged    alert when the threshold is reached later, then reminders
 *   degraded, failing → passing    recovery, if there was an alert
 *
 * Faults of ours and results older than the newest change nothing. Under silence (muted, or in
 * maintenance) the machine follows and says nothing: a failure that lasts is told by the first run
 * after it that meets the rules, a recovery by the first pass after it. A run that fails within a
 * maintenance does not count at all. Spec: Events 1; facts: Alerting, transitions.
 */
import { alertTypeOf } from './decision.ts';
import { follow, type Judged } from './follow.ts';
import { alertEffects, decide, raise, unmoved, type Outline } from './outline.ts';
import type { AlertRules } from './rules.ts';
import { toldOf, type AlertState } from './state.ts';
import { countTick, judgeTick, type LocationResult, type Outcome } from './tick.ts';
import { heldUntilOf, timedDueAt, wakeAtOf } from './timing.ts';

/** A run that is over; `startedAt` of its last attempt. */
export interface RunEvent {
  kind: 'run';
  resultId: string;
  outcome: Outcome;
  startedAt: number;
  stoppedAt: number;
  isInMaintenance: boolean;
  /** It belongs to no slot. */
  isTriggered: boolean;
}

/** News of a tick: everything that is known of it by now. */
export interface TickEvent {
  kind: 'tick';
  scheduledFor: number;
  results: readonly LocationResult[];
  /** Locations that can be waited for. */
  expected: readonly string[];
  closesAt: number;
  isInMaintenance: boolean;
  /** The worst of what is new; null when the wait is over. */
  news: { resultId: string; outcome: Outcome } | null;
}

export type AlertEvent = RunEvent | TickEvent | { kind: 'wake' };

export interface Step extends Outline {
  wakeAt: number | null;
}

/** Ticks that wait for a location; of more, the oldest is given up. */
const mostOpenTicks = 64;

/**
 * A pass is older than what is known when it began earlier, a failure only when it ended earlier too:
 * what takes long to fail is overtaken by runs that pass at once.
 */
function isOutdated(state: AlertState, run: RunEvent): boolean {
  const { newestStartedAt, newestStoppedAt, decidedTick } = state;
  if (decidedTick !== null && run.startedAt < decidedTick) return true;
  if (run.startedAt >= newestStartedAt) return false;
  return run.outcome === 'passing' || run.stoppedAt < newestStoppedAt;
}

function onRun(state: AlertState, run: RunEvent, rules: AlertRules, now: number): Outline {
  const { outcome, startedAt, stoppedAt } = run;
  if (outcome === 'inconclusive') {
    return unmoved(state, outcome, { reason: 'INCONCLUSIVE' }, startedAt);
  }
  // One location alone cannot say that a parallel check works, or that enough of it fails.
  const isPartial = outcome !== 'failing' || rules.parallelPercentage !== null;
  if (rules.isParallel && run.isTriggered && isPartial) {
    return unmoved(state, outcome, { reason: 'OUTSIDE_SCHEDULE' }, startedAt);
  }
  if (isOutdated(state, run)) return unmoved(state, outcome, { reason: 'OUTDATED' }, startedAt);
  const seen: AlertState = {
    ...state,
    newestStartedAt: Math.max(state.newestStartedAt, startedAt),
    newestStoppedAt: Math.max(state.newestStoppedAt, stoppedAt),
    lagMs: now - stoppedAt,
    unheardMs: 0,
  };
  return follow(seen, { ...run, outcome, tick: null }, rules, now);
}

function onTick(state: AlertState, event: TickEvent, rules: AlertRules, now: number): Outline {
  const { scheduledFor, results, expected, closesAt, news } = event;
  const tick = countTick(results, expected, rules.parallelPercentage);
  const quiet: Outline = { state, effects: [], decision: null };
  if (state.decidedTick !== null && scheduledFor <= state.decidedTick) {
    if (news === null || news.outcome === 'passing') return quiet;
    const reason = scheduledFor === state.decidedTick ? 'TICK_DECIDED' : 'OUTDATED';
    return unmoved(state, news.outcome, { reason, tick }, scheduledFor);
  }
  const outcome = judgeTick(tick, now >= closesAt);
  if (outcome === 'open') {
    const isOfInterest =
      tick.failing + tick.degraded > 0 || state.condition !== 'passing' || state.alert !== null;
    const others = state.openTicks.filter((open) => open.scheduledFor !== scheduledFor);
    const openTicks = [...others, { scheduledFor, closesAt }]
      .sort((a, b) => a.scheduledFor - b.scheduledFor)
      .slice(-mostOpenTicks);
    const next = isOfInterest ? { ...state, openTicks } : state;
    if (news === null || news.outcome === 'passing') return { ...quiet, state: next };
    const reason = news.outcome === 'inconclusive' ? 'INCONCLUSIVE' : 'TICK_OPEN';
    return unmoved(next, news.outcome, { reason, tick }, scheduledFor);
  }
  const stoppedAt = Math.max(...results.map((result) => result.stoppedAt));
  const decided: AlertState = {
    ...state,
    decidedTick: scheduledFor,
    openTicks: state.openTicks.filter((open) => open.scheduledFor > scheduledFor),
    ...(now >= closesAt || results.length === 0 ? {} : { lagMs: now - stoppedAt, unheardMs: 0 }),
  };
  if (outcome === 'inconclusive') {
    return unmoved(decided, outcome, { reason: 'INCONCLUSIVE', tick }, scheduledFor);
  }
  const resultId =
    results.findLast((result) => result.outcome === outcome)?.resultId ??
    results.at(-1)?.resultId ??
    '';
  const { isInMaintenance } = event;
  const run: Judged = { outcome, resultId, startedAt: scheduledFor, isInMaintenance, tick };
  return follow(decided, run, rules, now);
}

function onWake(state: AlertState, rules: AlertRules, now: number): Outline {
  const { alert, condition } = state;
  const dueAt = timedDueAt(state, rules);
  if (condition === 'passing' || dueAt === null || Math.max(dueAt, state.heldUntil ?? 0) > now) {
    return { state, effects: [], decision: null };
  }
  const isReminder = toldOf(state) === condition;
  const cause = isReminder ? 'REMINDER' : 'ESCALATION';
  const reminder = isReminder ? (alert?.reminders ?? 0) + 1 : 0;
  if (rules.silence !== null) {
    const { reason } = rules.silence;
    const next = { ...state, heldUntil: heldUntilOf(rules.silence, now), isHoldNoted: true };
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
      : raise(state, condition, state.resultId ?? '', now);
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

function outline(state: AlertState, event: AlertEvent, rules: AlertRules, now: number): Outline {
  switch (event.kind) {
    case 'run':
      return onRun(state, event, rules, now);
    case 'tick':
      return onTick(state, event, rules, now);
    case 'wake':
      return onWake(state, rules, now);
  }
}

/** By less than this, clocks of one installation may differ: it passes soon enough by itself. */
const clockToleranceMs = 5 * 60_000;

/**
 * A state from before the clock was set back remembers instants that have not come yet. Against those
 * everything would be old, and nothing due, until the clock has caught up: what they compare is
 * forgotten, what they began has begun now.
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

/** One step. Whoever carries out an `alert` puts the channels it told into the open alert. */
export function stepAlert(
  state: AlertState,
  event: AlertEvent,
  rules: AlertRules,
  now: number,
): Step {
  const known = withoutFuture(state, now);
  const { state: next, effects, decision } = outline(known, event, rules, now);
  return { state: next, effects, decision, wakeAt: wakeAtOf(next, rules) };
}
