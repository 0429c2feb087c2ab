/**
 * When people are told that a location with checks has no agent, and that it has one again.
 *
 *   quiet    served, or without an agent for less than five minutes
 *   noticed  people were told once; they are told once more when an agent serves the location again
 *
 * A location counts once an agent has ever served it. A private location counts from the start: its
 * owner means to serve it. A data-center location that never had an agent counts later, and only for
 * checks that run nowhere else: it may be one that nobody here operates.
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

/**
 * Whether people are to be told now. `waitedMs` is for how long agents could have been heard of since;
 * `runningMs` is how long this process has listened to them.
 */
export function isNoticeDue(waitedMs: number, runningMs: number, afterMs = unservedForMs): boolean {
  // Before that, an agent may just not have come back since the restart.
  return runningMs >= unservedForMs && waitedMs >= afterMs;
}
