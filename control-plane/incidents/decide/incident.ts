/** The state of an incident, from its updates. Spec: Incident; States and transitions. */
import type { z } from 'zod';
import type { incidentStatus } from '@monitor/shared/contract/primitives.ts';

export type IncidentStatus = z.infer<typeof incidentStatus>;

/** The fields of an update that matter for the timeline. */
export interface TimelineUpdate {
  seq: number;
  status: IncidentStatus;
  /** When it became public; users may set it to any instant. */
  publicAt: number;
}

/** Oldest first. Updates with the same instant are ordered by creation. */
export function inOrder(updates: readonly TimelineUpdate[]): TimelineUpdate[] {
  return [...updates].sort((left, right) => left.publicAt - right.publicAt || left.seq - right.seq);
}

/**
 * The updates that count at an instant: the public ones, or the first future one when none is
 * public. Updates for the future have not happened yet.
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
 * Milliseconds from the first update to the RESOLVED one that closed the incident, or until now
 * while it is open. A repeated RESOLVED does not extend it; re-opening does. Null without updates.
 */
export function duration(updates: readonly TimelineUpdate[], now: number): number | null {
  const timeline = inOrder(updates);
  const [first] = timeline;
  if (first === undefined) return null;
  const lastOpen = timeline.findLastIndex(({ status }) => status !== 'RESOLVED');
  const closing = timeline[lastOpen + 1];
  // A future incident has no duration yet.
  return Math.max(0, (closing?.publicAt ?? now) - first.publicAt);
}

/** When it was open: from an update that opens it to the RESOLVED one; `to` is null while it still is. */
export function openRanges(updates: readonly TimelineUpdate[]) {
  const ranges: { from: number; to: number | null }[] = [];
  for (const { status, publicAt } of inOrder(updates)) {
    const last = ranges.at(-1);
    const isOpen = last?.to === null;
    if (status !== 'RESOLVED' && !isOpen) ranges.push({ from: publicAt, to: null });
    else if (status === 'RESOLVED' && isOpen) last.to = publicAt;
  }
  return ranges;
}
