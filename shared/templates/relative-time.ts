/** `{{moment "2 days ago" "YYYY-MM-DD"}}`: relative instants, in UTC. */
import moment from 'moment';
import { TemplateError } from './template-error.ts';

type Unit = 'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';

const units: Record<string, Unit> = { sec: 'second', min: 'minute' };
for (const unit of ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const)
  units[unit] = unit;

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const direct: Record<string, number> = { now: 0, today: 0, tomorrow: 1, yesterday: -1 };
const maxFormatLength = 1_000;
const counted =
  /^(in )?(an?|\d{1,6}) (sec|second|min|minute|hour|day|week|month|quarter|year)s?( ago| from now| later)?$/;
const sided = /^(last|previous|next|this) (\w+)$/;

function toWeekday(now: moment.Moment, weekday: number, isNext: boolean): moment.Moment {
  const days = (weekday - now.day() + 7) % 7 || 7;
  return now.clone().add(isNext ? days : days - 7 - (days === 7 ? 7 : 0), 'days');
}

/** Parses a relative instant; null for an invalid text. */
function fromWords(words: string, now: moment.Moment): moment.Moment | null {
  const text = words.trim().toLowerCase().replaceAll(/\s+/g, ' ');
  if (Object.hasOwn(direct, text)) return now.clone().add(direct[text], 'days');
  const [, inFront, amount = '', unit = '', behind] = counted.exec(text) ?? [];
  if (unit !== '' && (inFront === undefined) !== (behind === undefined)) {
    const count = amount.startsWith('a') ? 1 : Number(amount);
    return now.clone().add(behind === ' ago' ? -count : count, units[unit]);
  }
  const [, side, name = ''] = sided.exec(text) ?? [];
  if (side === undefined) return null;
  if (Object.hasOwn(units, name)) {
    return now.clone().add({ next: 1, this: 0 }[side] ?? -1, units[name]);
  }
  const weekday = weekdays.indexOf(name);
  return weekday < 0 || side === 'this' ? null : toWeekday(now, weekday, side === 'next');
}

/**
 * The text of the `moment` helper: without arguments now, or with a format, a relative instant, or
 * both. The instant may also be an ISO date. The default format is ISO 8601. Throws TemplateError.
 */
export function formatMoment(args: readonly string[], nowMs: number): string {
  const now = moment.utc(nowMs);
  const [first = 'now', second] = args;
  if (args.length > 2 || first.length > maxFormatLength || (second?.length ?? 0) > maxFormatLength)
    throw new TemplateError('moment takes words and a format, each of at most 1000 characters');
  const spoken = fromWords(first, now);
  if (second === undefined) {
    return spoken === null ? now.format(first) : spoken.toISOString();
  }
  const written = spoken ?? moment.utc(first, moment.ISO_8601, true);
  if (!written.isValid()) {
    throw new TemplateError(
      'moment does not know that time; write for example "2 days ago", "last week" or an ISO date',
    );
  }
  return written.format(second);
}
