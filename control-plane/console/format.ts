/** Formats numbers and times in the time zone and language of the viewer. */

import { checkTypes } from './facts.ts';
import { clockAt, timeZone } from './own-zone.ts';

/** One clock for every instant: the dates of the locale, with hours from 0 to 23. */
const hours = { timeZone, hourCycle: 'h23' } as const;
const clock = { ...hours, hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const number = new Intl.NumberFormat();
const dateTime = new Intl.DateTimeFormat(undefined, {
  ...hours,
  dateStyle: 'medium',
  timeStyle: 'medium',
});
const shortDateTime = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  ...clock,
});
const clockTime = new Intl.DateTimeFormat(undefined, clock);
const tickTime = new Intl.DateTimeFormat(undefined, {
  ...hours,
  hour: '2-digit',
  minute: '2-digit',
});
const weekDay = new Intl.DateTimeFormat(undefined, {
  timeZone,
  weekday: 'short',
  month: 'short',
  day: 'numeric',
});
const tickDay = new Intl.DateTimeFormat(undefined, { timeZone, month: 'short', day: 'numeric' });

export const nothing = '–';

export function inNumbers(value: number | null | undefined) {
  return value == null ? nothing : number.format(value);
}

/** 0.4 ms, 87 ms, 1.24 s, 2 min 5 s. */
export function duration(ms: number | null | undefined) {
  if (ms == null) return nothing;
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  return span(ms);
}

const spanUnits = [
  { size: 86_400_000, unit: 'd' },
  { size: 3_600_000, unit: 'h' },
  { size: 60_000, unit: 'min' },
  { size: 1000, unit: 's' },
];

/** Formats a duration in its two largest units: 3 h 20 min. */
export function span(ms: number) {
  const at = spanUnits.findIndex(({ size }) => ms >= size);
  const [one, next] = at === -1 ? [] : spanUnits.slice(at, at + 2);
  if (one === undefined) return '0 s';
  const whole = Math.floor(ms / one.size);
  const rest = next === undefined ? 0 : Math.floor((ms - whole * one.size) / next.size);
  return next === undefined || rest === 0
    ? `${whole} ${one.unit}`
    : `${whole} ${one.unit} ${rest} ${next.unit}`;
}

/** 100 %, 99.98 %, 97.2 %: never rounded up to 100 %. */
export function percent(value: number | null | undefined) {
  if (value == null) return nothing;
  if (value === 100) return '100 %';
  const digits = value >= 99 ? 2 : 1;
  const down = Math.floor(value * 10 ** digits) / 10 ** digits;
  return `${number.format(down)} %`;
}

export function bytes(count: number | null | undefined) {
  if (count == null) return nothing;
  const units = ['B', 'KB', 'MB', 'GB'];
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  const value = count / 1024 ** at;
  return `${at === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[at]}`;
}

export function wholeTime(instant: number | string) {
  return dateTime.format(new Date(instant));
}

export function shortTime(instant: number | string) {
  return shortDateTime.format(new Date(instant));
}

/** An instant on an axis: the day at midnight, else hours and minutes, and seconds between two minutes. */
export function tickLabel(instant: number) {
  const clock = clockAt(instant);
  if (clock.getUTCSeconds() !== 0) return clockTime.format(instant);
  const isMidnight = clock.getUTCHours() === 0 && clock.getUTCMinutes() === 0;
  return (isMidnight ? tickDay : tickTime).format(instant);
}

export function dayLabel(instant: number) {
  return weekDay.format(new Date(instant));
}

export function timeOfDay(instant: number | string) {
  return clockTime.format(new Date(instant));
}

/** "20 s ago", "in 3 h 5 min". */
export function ago(instant: number | string, now = Date.now()) {
  const ms = now - new Date(instant).getTime();
  if (Math.abs(ms) < 5000) return 'just now';
  return ms > 0 ? `${span(ms)} ago` : `in ${span(-ms)}`;
}

/** "every 30 s", "every 5 min", "every 2 h". */
export function every({
  frequency,
  frequencyOffset,
}: {
  frequency: number;
  frequencyOffset: number;
}) {
  const ms = frequency === 0 ? frequencyOffset * 1000 : frequency * 60_000;
  return ms === 0 ? nothing : span(ms);
}

/** "1 check", "3 checks". */
export function count(amount: number, one: string, many = `${one}s`) {
  return `${inNumbers(amount)} ${amount === 1 ? one : many}`;
}

/** ALERT_FAILURE_REMAIN → "Alert failure remain". */
export function inWords(constant: string) {
  const words = constant
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\b(grpc|json|sms|ssl|url|api)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `updateURLMonitor` is "update URL monitor". */
export function operationInWords(operation: string) {
  return operation
    .replaceAll(/([a-z])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3 $2$4')
    .replaceAll(/\b[A-Z][a-z]/g, (start) => start.toLowerCase());
}

/** A type that this version does not know is shown by its name. */
export function typeName(type: string) {
  return checkTypes[type]?.label ?? inWords(type);
}

/** A link from untrusted data for an `href`; refuses schemes that run scripts. */
export function safeLink(url: string | null | undefined) {
  return url != null && /^(https?:|data:(application|image)\/)/i.test(url) ? url : null;
}
