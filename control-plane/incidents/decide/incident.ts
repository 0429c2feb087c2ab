/** What the updates of an incident say about it. Spec: Incident; States and transitions. */
import type { z } from 'zod';
import type { incidentStatus } from '@monitor/shared/contract/primitives.ts';

export type IncidentStatus = z.infer<typeof incidentStatus>;

/** An update as the timeline sees it. */
export interface TimelineUpdate {
  seq: number;
  status: IncidentStatus;
  /** When it became public, which people may set to any instant. */
  publicAt: number;
}

/** Oldest first. Of updates with the same instant the one that was written later is the newer. */
export function inOrder(updates: readonly TimelineUpdate[]): TimelineUpdate[] {
  return [...updates].sort((left, right) => left.publicAt - right.publicAt || left.seq - right.seq);
}

/**
 * The updates that say how an incident stands at an instant: those that are public by then, or the
 * first one to come while none is. What is announced for tomorrow has not happened yet.
 */
export function asOf(updates: readonly TimelineUpdate[], now: number): TimelineUpdate[] {
  const timeline = inOrder(updates);
  const published = timeline.filter(({ publicAt }) => publicAt <= now);
  return published.length > 0 ? published : timeline.slice(0, 1);
}

/** Undefined without updates. */
export function lastUpdateStatus(updates: readonly TimelineUpdate[]): IncidentStatus | undefined {
  return inOrder(updates).at(-1)?.status;
}

/**
 * Milliseconds from the first update to the RESOLVED one that closed the incident, or until now while
 * it goes on. Saying RESOLVED again does not make it longer; re-opening does. Null without updates.
 */
export function duration(updates: readonly TimelineUpdate[], now: number): number | null {
  const timeline = inOrder(updates);
  const [first] = timeline;
  if (first === undefined) return null;
  const lastOpen = timeline.findLastIndex(({ status }) => status !== 'RESOLVED');
  const closing = timeline[lastOpen + 1];
  // An incident that is announced for later has not lasted yet.
  return Math.max(0, (closing?.publicAt ?? now) - first.publicAt);
}
