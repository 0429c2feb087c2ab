/** Instants, durations and counts, as people read them. */
import { wallClockOf } from '../core/decide/wall-clock.ts';
import { oneLine } from '../core/escape.ts';
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import type { AlsoFailing } from './facts.ts';

const dayText = (instant: number): string => new Date(instant).toISOString().slice(0, 10);
const timeText = (instant: number): string => new Date(instant).toISOString().slice(11, 19);

/**
 * `2026-11-21 08:30:00 UTC`, and with a time zone `2026-11-21 08:30:00 UTC (09:30:00 Europe/Berlin)`,
 * with the date where it is another one.
 */
export function instantText(instant: number, timezone: string | null = null): string {
  const universal = `${dayText(instant)} ${timeText(instant)} UTC`;
  if (timezone === null) return universal;
  const shown = wallClockOf(timezone).shownAt(instant);
  const day = dayText(shown) === dayText(instant) ? '' : `${dayText(shown)} `;
  return `${universal} (${day}${timeText(shown)} ${timezone})`;
}

/** `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const and = (rest: number, unit: string): string => (rest === 0 ? '' : ` ${rest} ${unit}`);
  if (seconds < 60) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min`;
  if (hours < 24) return `${hours} h${and(minutes % 60, 'min')}`;
  return `${days} d${and(hours % 24, 'h')}`;
}

/** `1 check`, `2 checks`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

const namedChecks = 10;

/** Names of checks on one line: the first ten, and the number of the others. */
export function namesText(names: readonly string[]): string {
  const more = names.length - namedChecks;
  return names.slice(0, namedChecks).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** `Shop, Search and 7 more, within 5 minutes`. */
export function alsoFailingText({ names, more }: AlsoFailing): string {
  const others = more > 0 ? ` and ${more} more` : '';
  return `${names.map((name) => oneLine(name)).join(', ')}${others}, within 5 minutes`;
}

const maxCauses = 3;

/** Why checks fail, as lines of a message: the cause, what speaks for it, and what would tell more. */
export function causeLines(causes: readonly RootCause[] = []): [string, string | null][] {
  const shown = causes.slice(0, maxCauses);
  const [first] = shown;
  if (first === undefined) return [];
  const { evidence, rulesOut, wouldTell } = first;
  const text = shown
    .map(({ rootCause, confidence }) =>
      confidence === 'unclear' ? rootCause : `${rootCause} (${confidence})`,
    )
    .join('; ');
  const joined = (parts: readonly string[]): string | null =>
    parts.length === 0 ? null : parts.map((part) => oneLine(part)).join('; ');
  return [
    ['Root cause', oneLine(text)],
    ['Evidence', joined(evidence.map(({ description }) => description))],
    ['Rules out', joined(rulesOut)],
    ['Would tell more', joined(wouldTell)],
  ];
}
