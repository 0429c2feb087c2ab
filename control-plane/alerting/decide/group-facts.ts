/** What the notification about a group says, from what is known of it and the alerts that it is about. */
import { subjectOf, type AlertType } from './decision.ts';
import type { AlertEffect } from './group-alerts.ts';

export interface AlertOfGroup {
  id: string;
  checkId: string;
  checkName: string;
  alertType: AlertType;
  incidentKey: string;
  effect: AlertEffect;
  error: string | null;
  beganAt: number;
}

/** What a group keeps between its notifications; its size follows the open outages, not the history. */
export interface GroupState {
  /** Outages so far. */
  total: number;
  /** When the first failure of them began, or the first degradation while none fails; null before any. */
  since: number | null;
  /** Whether one of them failed; groups of older builds do not say. */
  hasFailed?: boolean;
  /** Outages that last, by incident key. */
  open: Record<string, { checkId: string; isDegraded: boolean }>;
}

export const emptyGroup: GroupState = { total: 0, since: null, open: {} };

interface NamedChecks {
  count: number;
  /** The first few. */
  checks: { id: string; name: string; error: string | null }[];
}

/** See `GroupFacts` of the notifications. */
interface FactsOfAlerts {
  began: NamedChecks & { isFailing: boolean };
  ended: NamedChecks;
  reminded: number;
  open: number;
  total: number;
  since: number;
}

/** Names in one notification; the link leads to the rest. */
const maxNamed = 20;

function listOf(alerts: readonly AlertOfGroup[]): NamedChecks {
  return {
    count: alerts.length,
    checks: alerts
      .slice(0, maxNamed)
      .map(({ checkId, checkName, error }) => ({ id: checkId, name: checkName, error })),
  };
}

/** `alerts` are in this notification and in none before, in order. */
export function groupFacts(
  before: GroupState,
  alerts: readonly AlertOfGroup[],
): { facts: FactsOfAlerts; state: GroupState } {
  const open = new Map(Object.entries(before.open));
  const fresh = new Set<string>();
  // An outage that began and ended while it waited is both.
  const began = new Map<string, AlertOfGroup>();
  const ended = new Map<string, AlertOfGroup>();
  for (const alert of alerts) {
    const { checkId, effect, incidentKey, alertType } = alert;
    const isKnown = Object.hasOwn(before.open, incidentKey);
    if (!isKnown) fresh.add(incidentKey);
    if (effect === 'CLOSING') {
      open.delete(incidentKey);
      ended.set(incidentKey, { ...alert, error: null });
    } else if (effect === 'PROBLEM' || !open.has(incidentKey)) {
      const isDegraded = subjectOf(alertType) === 'degraded';
      open.set(incidentKey, { checkId, isDegraded });
      ended.delete(incidentKey);
    }
    if (effect === 'PROBLEM' && !isKnown) began.set(incidentKey, alert);
  }
  const hasFailures = [...open.values()].some(({ isDegraded }) => !isDegraded);
  const problems = alerts.filter(({ effect }) => effect === 'PROBLEM');
  const failures = problems.filter(({ alertType }) => subjectOf(alertType) === 'failing');
  const hadFailed = before.hasFailed ?? Object.values(before.open).some((one) => !one.isDegraded);
  const hasFailed = hadFailed || failures.length > 0;
  const known = hasFailed === hadFailed ? before.since : null;
  // A recovery or a reminder speaks of the whole problem of its check, which may have begun as a degradation.
  const first = hasFailed ? failures : problems;
  const counted = first.length === 0 && known === null ? alerts : first;
  const since = Math.min(known ?? Infinity, ...counted.map(({ beganAt }) => beganAt));
  const total = before.total + fresh.size;
  const state = { total, since, hasFailed, open: Object.fromEntries(open) };
  return {
    state,
    facts: {
      began: { ...listOf([...began.values()]), isFailing: hasFailures },
      ended: listOf([...ended.values()]),
      reminded: alerts.filter(({ effect }) => effect === 'REMINDER').length,
      open: open.size,
      total: state.total,
      since,
    },
  };
}

/** Without the outages that are over and will not be announced, since the channel takes no recoveries. */
export function withoutOver(state: GroupState, over: ReadonlySet<string>): GroupState {
  const open = Object.entries(state.open).filter(([key]) => !over.has(key));
  return { ...state, open: Object.fromEntries(open) };
}
