/**
 * Schedules of cron, as Vixie's cron reads them: minute, hour, day of month, month and day of week. Local times
 * are milliseconds since the epoch as if the zone were UTC.
 */
const dayMs = 86_400_000;
/** 29 February comes after eight years at the latest. */
const maxDays = 8 * 366;

const fields = [
  { name: 'minute', from: 0, to: 59, names: '' },
  { name: 'hour', from: 0, to: 23, names: '' },
  { name: 'day of month', from: 1, to: 31, names: '' },
  { name: 'month', from: 1, to: 12, names: 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC' },
  { name: 'day of week', from: 0, to: 7, names: 'SUN MON TUE WED THU FRI SAT' },
] as const;

/** No record: a schedule may be `constructor`. */
const shorthands: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@weekly': '0 0 * * 0',
    '@monthly': '0 0 1 * *',
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
  }),
);

export interface CronSchedule {
  minutes: readonly number[];
  hours: readonly number[];
  isDay: (date: Date) => boolean;
}

type Field = (typeof fields)[number];

/** The values of a field in order; null where it cannot be read. */
function valuesOf(text: string, { from, to, names }: Field): number[] | null {
  const numberOf = (one: string): number => {
    const index = names.split(' ').indexOf(one.toUpperCase());
    return /^\d+$/.test(one) ? Number(one) : index < 0 ? NaN : index + from;
  };
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(part);
    if (match === null) return null;
    const [, first, last, step] = match;
    const begin = first === undefined ? from : numberOf(first);
    const isOne = first !== undefined && last === undefined && step === undefined;
    const end = isOne ? begin : last === undefined ? to : numberOf(last);
    const by = Number(step ?? 1);
    if (!(begin >= from && end <= to && begin <= end && by > 0)) return null;
    for (let value = begin; value <= end; value += by) values.add(value);
  }
  return [...values].sort((left, right) => left - right);
}

/** Reads an expression, or says what is wrong with it. */
export function readCron(expression: string): CronSchedule | { problem: string } {
  const text = expression.trim();
  const parts = (shorthands.get(text.toLowerCase()) ?? text).split(/\s+/);
  if (parts.length !== fields.length) {
    return { problem: 'must have five fields: minute, hour, day of month, month, day of week' };
  }
  const read = fields.map((field, index) => valuesOf(parts[index] ?? '', field));
  const wrong = read.indexOf(null);
  if (wrong >= 0) {
    return { problem: `the ${fields[wrong]?.name} "${parts[wrong]?.slice(0, 50)}" cannot be read` };
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = read as number[][];
  // Two that are restricted widen each other.
  const isEither = !parts[2]?.startsWith('*') && !parts[4]?.startsWith('*');
  const schedule: CronSchedule = {
    minutes,
    hours,
    isDay(date) {
      if (!months.includes(date.getUTCMonth() + 1)) return false;
      const ofMonth = days.includes(date.getUTCDate());
      const weekday = date.getUTCDay();
      const ofWeek = weekdays.includes(weekday) || (weekday === 0 && weekdays.includes(7));
      return isEither ? ofMonth || ofWeek : ofMonth && ofWeek;
    },
  };
  return nextLocal(schedule, 0) === null ? { problem: 'has no day in any year' } : schedule;
}

/** The first local time of a schedule after another; null where there is none. */
export function nextLocal({ minutes, hours, isDay }: CronSchedule, after: number): number | null {
  const first = Math.floor(after / dayMs);
  for (let day = first; day <= first + maxDays; day += 1) {
    if (!isDay(new Date(day * dayMs))) continue;
    for (const hour of hours) {
      if (day * dayMs + (hour + 1) * 3_600_000 <= after) continue;
      for (const minute of minutes) {
        const at = day * dayMs + (hour * 60 + minute) * 60_000;
        if (at > after) return at;
      }
    }
  }
  return null;
}
