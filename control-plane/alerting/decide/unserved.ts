/**
 * When a location with checks counts as one without an agent. It counts once an agent has ever served it.
 * A private location counts from the start: its owner means to serve it. A data-center location that
 * never had an agent counts later, and only for checks that run nowhere else: it may be one that nobody
 * here operates.
 */

/** Restarts, updates and short interruptions pass unmentioned. */
export const unservedForMs = 5 * 60_000;
/** For a data-center location without any agent yet: it is being set up. */
export const neverServedForMs = 30 * 60_000;

export interface WatchedLocation {
  /** An agent serves it at this moment. */
  isServed: boolean;
  /** As recorded; undefined for a location that never had an agent. */
  presence: { servedSince: number | null; unservedSince: number | null } | undefined;
  /** Since when the eldest of its active checks follows its schedule; null without any. */
  assignedAt: number | null;
}

/**
 * Since when its checks have waited for an agent, or null when they do not. Agents that are about to
 * be recorded as gone are not yet missed.
 */
export function waitingSince(location: WatchedLocation): number | null {
  const { isServed, presence, assignedAt } = location;
  if (isServed || assignedAt === null || presence?.servedSince != null) return null;
  return Math.max(presence?.unservedSince ?? assignedAt, assignedAt);
}
