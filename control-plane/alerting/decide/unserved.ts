/**
 * Decides since when a location with checks has no agent. A location counts once an agent has
 * served it. A private location counts from the start, because its owner intends to serve it. A
 * data-center location without any agent so far counts later, and only for checks without other
 * locations: it may not be operated here.
 */

/** Restarts, updates and short interruptions are not notified. */
export const unservedForMs = 5 * 60_000;
/** For a data-center location without any agent so far: it is being set up. */
export const neverServedForMs = 30 * 60_000;

export interface WatchedLocation {
  /** An agent serves it at this moment. */
  isServed: boolean;
  /** As stored; undefined for a location that never had an agent. */
  presence: { servedSince: number | null; unservedSince: number | null } | undefined;
  /** Start of the schedule of its oldest active check; null without any. */
  assignedAt: number | null;
}

/**
 * Since when its checks have waited for an agent; null when they do not wait. Agents that are about
 * to be recorded as gone are not missing yet.
 */
export function waitingSince(location: WatchedLocation): number | null {
  const { isServed, presence, assignedAt } = location;
  if (isServed || assignedAt === null || presence?.servedSince != null) return null;
  return Math.max(presence?.unservedSince ?? assignedAt, assignedAt);
}
