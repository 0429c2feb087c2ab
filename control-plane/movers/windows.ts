/** Maintenance windows from schedules with weekdays, days of a month, or intervals of days. */
import type { Entry, Plan } from './plan.ts';

export type Recurrence =
  | { kind: 'once'; startsAt: string; endsAt: string }
  | { kind: 'days'; every: number }
  /** 0 is Sunday. */
  | { kind: 'weekdays'; days: readonly number[] }
  /** 1 to 31; 0 for the last day. */
  | { kind: 'monthdays'; days: readonly number[] };

export interface WindowSchedule {
  recurrence: Recurrence;
  /** `2026-01-31`: the first day on which it may take place. */
  firstDay: string;
  /** `22:00`. */
  startTime: string;
  durationSeconds: number;
}

/** `suffix` tells the windows of one schedule apart; it is empty for the only one. */
type WindowTimes = Readonly<Record<'suffix' | 'startsAt' | 'endsAt', string>> & {
  repeatUnit: 'DAY' | 'WEEK' | 'MONTH' | null;
  repeatInterval: number | null;
};

const dayMs = 86_400_000;

/** A local time without zone: `2026-01-31T22:00:00`; empty where there is none. */
function local(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 19);
}

/** `2026-01-31 22:00:00`, `2026-01-31T22:00` and the like in one form; null for other texts. */
export function localTime(text: string): string | null {
  const [, day, time = '00:00', seconds = '00'] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2}))?)?/.exec(text.trim()) ?? [];
  if (day === undefined) return null;
  const made = `${day}T${time}:${seconds}`;
  return Number.isNaN(Date.parse(`${made}Z`)) ? null : made;
}

function firstOn(day: string, isWanted: (date: Date) => boolean): number {
  let at = Date.parse(`${day}T00:00:00Z`);
  // Within 62 days every weekday and every day of a month occurs.
  for (let tries = 0; tries < 62 && !isWanted(new Date(at)); tries += 1) at += dayMs;
  return at;
}

/** One window for each weekday or day of a month: a window repeats at one distance. */
export function windowsOf(schedule: WindowSchedule): WindowTimes[] {
  const { recurrence, firstDay, startTime, durationSeconds } = schedule;
  if (recurrence.kind === 'once') {
    const { startsAt, endsAt } = recurrence;
    return [{ suffix: '', startsAt, endsAt, repeatUnit: null, repeatInterval: null }];
  }
  const [hours = 0, minutes = 0] = startTime.split(':').map(Number);
  const times = (day: number) => {
    const start = day + (hours * 60 + minutes) * 60_000;
    return { startsAt: local(start), endsAt: local(start + durationSeconds * 1000) };
  };
  if (recurrence.kind === 'days') {
    const day = Date.parse(`${firstDay}T00:00:00Z`);
    return [{ suffix: '', ...times(day), repeatUnit: 'DAY', repeatInterval: recurrence.every }];
  }
  const isWeekly = recurrence.kind === 'weekdays';
  const dayOf = (date: Date) => (isWeekly ? date.getUTCDay() : date.getUTCDate());
  return recurrence.days.map((day) => ({
    suffix: isWeekly ? `-weekday-${day}` : day === 0 ? '-last-day' : `-day-${day}`,
    // A window that starts on a 31st takes place on the last day of every month.
    ...times(firstOn(firstDay, (date) => dayOf(date) === (isWeekly ? day : day || 31))),
    repeatUnit: isWeekly ? 'WEEK' : 'MONTH',
    repeatInterval: 1,
  }));
}

/** The tag that ties checks to a maintenance. */
export const maintenanceTag = (plan: Plan, owner: string | number): string =>
  `${plan.project}-maintenance-${owner}`;

/** The day from which a schedule without one is counted; a Monday in the past. */
export const anchorDay = '2024-01-01';

interface WindowFields {
  name: string;
  timezone: string;
  /** When the last one ends; null for never. */
  until: string | null;
  description?: string | null;
}

/** Adds the windows of a maintenance, which pause the checks that have its tag. */
export function addWindows(
  plan: Plan,
  entry: Entry,
  owner: string | number,
  schedule: WindowSchedule,
  { name, until, ...fields }: WindowFields,
): void {
  for (const { suffix, ...when } of windowsOf(schedule)) {
    plan.add('maintenance-window', `maintenance-${owner}${suffix}`, {
      ...{ name: plan.name(entry, name), ...when, ...fields },
      repeatEndsAt: when.repeatUnit === null ? null : until,
      ...{ tags: [maintenanceTag(plan, owner)], pauseAllChecks: false },
    });
  }
}
