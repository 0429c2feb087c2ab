/** Maintenance of Uptime Kuma: windows that select checks by a tag. */
import type { Entry, Plan } from '../plan.ts';
import { lookUp, textOf, type SourceObject } from '../source-object.ts';
import {
  addWindows,
  anchorDay,
  localTime,
  type Recurrence,
  type WindowSchedule,
} from '../windows.ts';

type Schedule = Omit<WindowSchedule, 'firstDay'>;

function listOf(maintenance: SourceObject, field: string): readonly unknown[] {
  const list = maintenance.json(field);
  return Array.isArray(list) ? list : [];
}

/** The usable ones, each once; the others get a line. */
function daysIn(
  entry: Entry,
  days: readonly unknown[],
  read: (day: unknown) => number | null,
  lost: (day: string) => string,
): number[] {
  entry.notCarried(...days.map((day) => read(day) === null && lost(JSON.stringify(day))));
  return [...new Set(days.flatMap((day) => read(day) ?? []))];
}

function secondsBetween(start: string, end: string): number {
  const minutes = (time: string) => {
    const [hour = 0, minute = 0] = time.split(':').map(Number);
    return hour * 60 + minute;
  };
  const length = minutes(end) - minutes(start);
  // An end before its start is on the next day.
  return (length < 0 ? length + 1440 : length) * 60;
}

/** A whole number within limits, also in a text; null for anything else. */
function wholeNumber(value: unknown, from: number, to: number): number | null {
  const number = /^\d{1,2}$/.test(textOf(value)) ? Number(value) : NaN;
  return number >= from && number <= to ? number : null;
}

/** The last day is 0. */
function daysOfMonth(entry: Entry, days: readonly unknown[]): number[] {
  const read = (day: unknown) => (day === 'lastDay1' ? 0 : wholeNumber(day, 1, 31));
  const lost = (day: string) => `day \`${day}\`: Uptime Kuma never runs it either`;
  const usable = daysIn(entry, days, read, lost);
  const isLate = usable.some((day) => day > 28);
  const skipped =
    'days 29 to 31 → the last day of months that are shorter; Uptime Kuma skips those';
  entry.changed(isLate && skipped);
  return usable;
}

/** Sunday is 0, and 7. */
function daysOfWeek(entry: Entry, days: readonly unknown[]): number[] {
  const lost = (day: string) => `weekday \`${day}\` is not known`;
  const usable = daysIn(entry, days, (day) => wholeNumber(day, 0, 7), lost);
  return [...new Set(usable.map((day) => day % 7))];
}

/** `m h * * *`, with a list of weekdays or of days of the month; null for another expression. */
function fromCron(entry: Entry, cron: string, durationSeconds: number): Schedule | null {
  const [minute = '', hour = '', days = '', months = '', weekdays = '', ...more] = cron
    .trim()
    .split(/\s+/);
  const isTime = /^\d{1,2}$/.test(minute) && /^\d{1,2}$/.test(hour);
  if (!isTime || months !== '*' || more.length > 0) return null;
  const startTime = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  const made = (recurrence: Recurrence): Schedule => ({ recurrence, startTime, durationSeconds });
  if (days === '*' && weekdays === '*') return made({ kind: 'days', every: 1 });
  if (days === '*' && /^[0-7](,[0-7])*$/.test(weekdays)) {
    return made({ kind: 'weekdays', days: daysOfWeek(entry, weekdays.split(',')) });
  }
  if (weekdays === '*' && /^(\d{1,2}|L)(,(\d{1,2}|L))*$/.test(days)) {
    const list = days.split(',').map((day) => (day === 'L' ? 'lastDay1' : day));
    return made({ kind: 'monthdays', days: daysOfMonth(entry, list) });
  }
  return null;
}

const daily = (maintenance: SourceObject, recurrence: Recurrence): Schedule => ({
  ...{ recurrence, startTime: maintenance.text('start_time') },
  durationSeconds: secondsBetween(maintenance.text('start_time'), maintenance.text('end_time')),
});

const strategies: Readonly<Record<string, (maintenance: SourceObject, entry: Entry) => Schedule>> =
  {
    single: (maintenance, entry) => {
      const time = (field: string) =>
        localTime(maintenance.text(field)) ?? entry.nothing('has no start or no end');
      const [startsAt, endsAt] = [time('start_date'), time('end_date')];
      return { recurrence: { kind: 'once', startsAt, endsAt }, startTime: '', durationSeconds: 0 };
    },
    'recurring-interval': (maintenance) => {
      const every = Math.max(1, maintenance.number('interval_day', 1));
      return daily(maintenance, { kind: 'days', every });
    },
    'recurring-weekday': (maintenance, entry) => {
      const days = daysOfWeek(entry, listOf(maintenance, 'weekdays'));
      return daily(maintenance, { kind: 'weekdays', days });
    },
    'recurring-day-of-month': (maintenance, entry) => {
      const days = daysOfMonth(entry, listOf(maintenance, 'days_of_month'));
      return daily(maintenance, { kind: 'monthdays', days });
    },
    cron: (maintenance, entry) => {
      const expression = maintenance.text('cron');
      const schedule = fromCron(entry, expression, maintenance.number('duration'));
      return schedule ?? entry.nothing(`cron \`${expression}\` is more than a time of day`);
    },
  };

/** What keeps a schedule from being one; null for nothing. */
function lackOf({ recurrence, startTime, durationSeconds }: Schedule): string | null {
  if (recurrence.kind === 'once') return null;
  if (!/^\d{1,2}:\d{2}/.test(startTime)) return 'has no time of day';
  if (!(durationSeconds > 0)) return 'lasts no time';
  return 'days' in recurrence && recurrence.days.length === 0 ? 'has no days' : null;
}

/** Fields that one strategy uses and the others leave as they were. */
const ofStrategies = [
  ...['start_time', 'end_time', 'weekdays', 'days_of_month', 'interval_day', 'cron', 'duration'],
  ...['last_start_date', 'generated_next', 'start_date', 'end_date'],
];

export function convertMaintenance(
  plan: Plan,
  id: number,
  maintenance: SourceObject,
  serverTimezone: string | null,
): void {
  const title = maintenance.text('title');
  const entry = plan.entry('maintenance', String(id), title);
  const strategy = maintenance.text('strategy') || 'single';
  const isActive = maintenance.flag('active');
  maintenance.skip('id', 'user_id');
  if (strategy === 'manual' || !isActive) {
    const state = isActive
      ? 'and ACTIVE NOW: its checks will run and alert here'
      : 'which is not active';
    const isManual = strategy === 'manual';
    entry.nothing(isManual ? `manual maintenance, ${state}` : 'the maintenance is switched off');
  }
  const schedule =
    lookUp(strategies, strategy)?.(maintenance, entry) ??
    entry.nothing(`strategy \`${strategy}\` is not known`);
  const { recurrence } = schedule;
  const lacks = lackOf(schedule);
  if (lacks !== null) entry.nothing(lacks);
  const zone = maintenance.text('timezone');
  const isServers = zone === '' || zone === 'SAME_AS_SERVER';
  const ofServer = 'its time zone is that of the server, which the file does not name → UTC';
  entry.changed(isServers && serverTimezone === null && ofServer);
  const description = maintenance.text('description');
  const from = localTime(maintenance.text('start_date'));
  entry.approximate(
    from === null &&
      recurrence.kind === 'days' &&
      recurrence.every > 1 &&
      `every ${recurrence.every} days from ${anchorDay}: the first day is not in the file`,
  );
  const until = localTime(maintenance.text('end_date'));
  maintenance.skip(...ofStrategies);
  const timed = { ...schedule, firstDay: from?.slice(0, 10) ?? anchorDay };
  addWindows(plan, entry, id, timed, {
    ...{ name: title, until, timezone: isServers ? (serverTimezone ?? 'UTC') : zone },
    description: description === '' ? null : description.slice(0, 2000),
  });
  entry.leftovers(maintenance);
}
