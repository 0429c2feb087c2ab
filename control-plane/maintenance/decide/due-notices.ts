/**
 * Which notices of a published window are due, and when the next one may be. Each has an id that follows from
 * its occurrence: it is made once, whatever restarts and replicas do.
 *
 *   BEFORE     some minutes before the start, while the occurrence is scheduled; only the latest that is due
 *   START      once it is in progress
 *   END        once it is over; a start that nobody could announce in time is left out
 *   CANCELLED  to those who have had one of the others
 *   OVERRUN    to the owner: its end is over, and it ends only when a person says so
 */
import { occurrencesBetween } from './maintenance.ts';
import {
  heldBetween,
  nextHeld,
  noChange,
  occurrenceAt,
  plannedEnd,
  statusOf,
  type OccurrenceStatus,
  type PlannedWindow,
} from './planned-maintenance.ts';

export type NoticeKind = 'BEFORE' | 'START' | 'END' | 'CANCELLED' | 'OVERRUN';

export interface DueNotice {
  id: string;
  kind: NoticeKind;
  /** The scheduled start of its occurrence. */
  scheduledAt: number;
  status: OccurrenceStatus;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** What is over for longer is not announced any more. */
const lateMs = dayMs;
/** How far back an occurrence may still be open. */
const openMs = 30 * dayMs;

/** Notices of one occurrence. */
function noticesOfOccurrence(
  window: PlannedWindow,
  scheduledAt: number,
  made: ReadonlySet<string>,
  now: number,
): { due: DueNotice[]; instants: number[] } {
  const occurrence = occurrenceAt(window, scheduledAt);
  const { visibility } = window;
  if (occurrence === undefined || visibility === null) return { due: [], instants: [] };
  const { enabled, notifyOnStart, notifyOnEnd, autoEnd, reminderMinutesBefore } = visibility;
  const status = statusOf(window, occurrence, now);
  const end = plannedEnd(window, occurrence);
  const { completedAt } = window.changes.get(scheduledAt) ?? noChange;
  const base = `${window.id}-${scheduledAt}`;
  const reminders = [...new Set(reminderMinutesBefore)].toSorted((a, b) => a - b);
  const wanted: [NoticeKind, string][] = [];
  const wasNotified =
    made.has(`${base}-start`) || reminders.some((each) => made.has(`${base}-before-${each}`));
  if (status === 'SCHEDULED') {
    const latest = reminders.find((each) => now >= scheduledAt - each * minuteMs);
    if (latest !== undefined && now < scheduledAt) wanted.push(['BEFORE', `before-${latest}`]);
  } else if (status === 'CANCELLED') {
    if (wasNotified) wanted.push(['CANCELLED', 'cancelled']);
  } else if (status === 'COMPLETED') {
    const endedAt = completedAt ?? end;
    // One that was entered afterwards is history.
    const wasPlanned = wasNotified || window.plannedAt < endedAt;
    if (notifyOnEnd && wasPlanned && now - endedAt < lateMs) wanted.push(['END', 'end']);
  } else if (notifyOnStart) {
    wanted.push(['START', 'start']);
  }
  const published = enabled ? wanted : [];
  const isOpen = status === 'IN_PROGRESS' || status === 'VERIFYING';
  const overrun: [NoticeKind, string][] =
    isOpen && !autoEnd && now >= end ? [['OVERRUN', `overrun-${end}`]] : [];
  return {
    due: [...published, ...overrun]
      .map(([kind, suffix]) => ({ id: `${base}-${suffix}`, kind, scheduledAt, status }))
      .filter(({ id }) => !made.has(id)),
    instants: [...reminders.map((each) => scheduledAt - each * minuteMs), scheduledAt, end],
  };
}

/** The notices of a window that are due now, and the next instant at which one may be. */
export function dueNotices(
  window: PlannedWindow,
  made: ReadonlySet<string>,
  now: number,
): { due: DueNotice[]; nextAt: number | null } {
  const leadMs = Math.max(0, ...(window.visibility?.reminderMinutesBefore ?? [])) * minuteMs;
  const [from, to] = [now - openMs, now + leadMs + 1];
  const starts = new Set([
    ...occurrencesBetween(window.schedule, from, to).map(({ startsAt }) => startsAt),
    ...heldBetween(window, from, to).map(({ scheduledAt }) => scheduledAt),
    ...nextHeld(window, now, 2).map(({ scheduledAt }) => scheduledAt),
  ]);
  const each = [...starts].map((start) => noticesOfOccurrence(window, start, made, now));
  const ahead = each.flatMap(({ instants }) => instants).filter((instant) => instant > now);
  return {
    due: each.flatMap(({ due }) => due),
    nextAt: window.visibility === null || ahead.length === 0 ? null : Math.min(...ahead),
  };
}
