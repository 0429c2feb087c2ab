/**
 * Which notices of a published window are due, and when the next one may be. Each has an id that follows from
 * its occurrence: it is made once, whatever restarts and replicas do.
 *
 *   BEFORE     some minutes before the start, while the occurrence is scheduled; only the latest that is due
 *   START      once it is in progress, and again once it is opened again
 *   END        once it is over; a start that nobody could announce in time is left out
 *   CANCELLED  to those who were notified of it
 *   OVERRUN    to the owner: its end is over, and it ends only when a person says so
 */
import { occurrencesBetween, occurrencesFrom } from './maintenance.ts';
import {
  heldBetween,
  leftOf,
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

/** A notice that was made, or an update of a person. */
export interface MadeNotice {
  id: string;
  kind: NoticeKind | 'UPDATE';
  scheduledAt: number;
  createdAt: number;
  /** Subscribers are notified of it. */
  isAnnounced: boolean;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** What is over for longer, or began longer ago, is not announced any more. */
const lateMs = dayMs;
/** How far back an occurrence may still be open. */
export const openMs = 30 * dayMs;

/** What was made of an occurrence since it was last cancelled, oldest first. */
export function standingNotices(
  made: readonly MadeNotice[],
  scheduledAt: number,
): readonly MadeNotice[] {
  const ofOccurrence = made.filter((one) => one.scheduledAt === scheduledAt);
  return ofOccurrence.slice(ofOccurrence.findLastIndex(({ kind }) => kind === 'CANCELLED') + 1);
}

/** Whether subscribers were notified of an occurrence that they do not know to be over. */
export const isNotified = (standing: readonly MadeNotice[]): boolean =>
  standing.some(({ kind, isAnnounced }) => isAnnounced && kind !== 'OVERRUN');

/** The id of a notice: the second of a kind has a number. */
export function noticeId(
  windowId: number,
  scheduledAt: number,
  kind: 'START' | 'END' | 'CANCELLED',
  made: readonly MadeNotice[],
): string {
  const times = made.filter((one) => one.scheduledAt === scheduledAt && one.kind === kind).length;
  const base = `${windowId}-${scheduledAt}-${kind.toLowerCase()}`;
  return times === 0 ? base : `${base}-${times + 1}`;
}

/** Notices of one occurrence. */
function noticesOfOccurrence(
  window: PlannedWindow,
  scheduledAt: number,
  made: readonly MadeNotice[],
  now: number,
): { due: DueNotice[]; instants: number[] } {
  const occurrence = occurrenceAt(window, scheduledAt);
  const { visibility } = window;
  if (occurrence === undefined || visibility === null) return { due: [], instants: [] };
  const { enabled, notifyOnStart, notifyOnEnd, autoEnd, reminderMinutesBefore } = visibility;
  const status = statusOf(window, occurrence, now);
  const end = plannedEnd(window, occurrence);
  const { begunAt, completedAt } = window.changes.get(scheduledAt) ?? noChange;
  const base = `${window.id}-${scheduledAt}`;
  const standing = standingNotices(made, scheduledAt);
  const reminders = [...new Set(reminderMinutesBefore)].toSorted((a, b) => a - b);
  const isOpen = status === 'IN_PROGRESS' || status === 'VERIFYING';
  const lastSaid = standing.findLast(({ kind }) => kind === 'START' || kind === 'END')?.kind;
  const wanted: [NoticeKind, string][] = [];
  const wants = (kind: 'START' | 'END' | 'CANCELLED') => {
    wanted.push([kind, noticeId(window.id, scheduledAt, kind, made)]);
  };
  if (status === 'SCHEDULED') {
    const latest = reminders.find((each) => now >= scheduledAt - each * minuteMs);
    if (latest !== undefined && now < scheduledAt) {
      const dueSince = scheduledAt - latest * minuteMs;
      const isSaid = standing.some((one) => one.kind === 'BEFORE' && one.createdAt >= dueSince);
      if (!isSaid) wanted.push(['BEFORE', `${base}-before-${latest}`]);
    }
  } else if (status === 'CANCELLED') {
    if (isNotified(standing)) wants('CANCELLED');
  } else if (status === 'COMPLETED') {
    const endedAt = completedAt ?? end;
    // One that was entered afterwards is history.
    const wasPlanned = isNotified(standing) || window.plannedAt < endedAt;
    const isRecent = now - endedAt < lateMs;
    if (notifyOnEnd && wasPlanned && isRecent && lastSaid !== 'END') wants('END');
  } else if (notifyOnStart && lastSaid !== 'START') {
    const began = leftOf(window, occurrence)?.startsAt ?? scheduledAt;
    if (now - Math.max(began, begunAt ?? began) < lateMs) wants('START');
  }
  const published = enabled ? wanted : [];
  const overruns = (isOpen || status === 'SCHEDULED') && !autoEnd && now >= end;
  const all = [...published, ...(overruns ? [['OVERRUN', `${base}-overrun-${end}`] as const] : [])];
  const ids = new Set(made.map(({ id }) => id));
  return {
    due: all
      .map(([kind, id]) => ({ id, kind, scheduledAt, status }))
      .filter(({ id }) => !ids.has(id)),
    instants: [...reminders.map((each) => scheduledAt - each * minuteMs), scheduledAt, end],
  };
}

/** The notices of a window that are due now, and the next instant at which one may be. */
export function dueNotices(
  window: PlannedWindow,
  made: readonly MadeNotice[],
  now: number,
): { due: DueNotice[]; nextAt: number | null } {
  const leadMs = Math.max(0, ...(window.visibility?.reminderMinutesBefore ?? [])) * minuteMs;
  const [from, to] = [now - openMs, now + leadMs + 1];
  // The first reminder that is not due yet is of an occurrence beyond.
  const beyond = occurrencesFrom(window.schedule, to).filter(({ startsAt }) => startsAt >= to);
  const starts = new Set([
    ...occurrencesBetween(window.schedule, from, to).map(({ startsAt }) => startsAt),
    ...heldBetween(window, from, to).map(({ scheduledAt }) => scheduledAt),
    ...nextHeld(window, now, 2).map(({ scheduledAt }) => scheduledAt),
    ...beyond.take(1).map(({ startsAt }) => startsAt),
    // One that overran for longer may have been completed just now.
    ...window.changes.keys(),
  ]);
  const each = [...starts].map((start) => noticesOfOccurrence(window, start, made, now));
  const ahead = each.flatMap(({ instants }) => instants).filter((instant) => instant > now);
  return {
    due: each.flatMap(({ due }) => due),
    nextAt: window.visibility === null || ahead.length === 0 ? null : Math.min(...ahead),
  };
}
