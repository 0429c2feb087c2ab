/** The time zone of the viewer: that of the browser, or a choice that stays in it. */
import { tzOffset } from '@date-fns/tz';
import { keepJson, readJson } from './saved-views.ts';

const storageKey = 'console.timeZone';
export const zoneOfBrowser = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Some browsers leave UTC out of those they know. */
export const zones = [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
const [kept] = readJson(storageKey);
/** Null: that of the browser, also where it changes. */
export const chosenZone = zones.find((one) => one === kept) ?? null;
export const timeZone = chosenZone ?? zoneOfBrowser;

/** Holds from the next load of the page. */
export function chooseZone(zone: string | null) {
  keepJson(storageKey, zone === null ? [] : [zone]);
}

const dayMs = 86_400_000;
const offsetAt = (instant: number) => tzOffset(timeZone, new Date(instant)) * 60_000;

/** What clocks of the zone show at an instant, to be read and moved by the UTC methods of the date. */
export const clockAt = (instant: number) => new Date(instant + offsetAt(instant));

/**
 * The instant at which clocks of the zone show what a date has in UTC: the first of two where they go
 * back, and as much later where they skip it.
 */
export function instantAt(clock: number) {
  const early = clock - offsetAt(clock - dayMs);
  const late = clock - offsetAt(clock + dayMs);
  return [early, late].find((one) => one + offsetAt(one) === clock) ?? early;
}

/** `2026-11-23T20:15` in the zone; empty for what is no instant. */
export function localTime(value: unknown) {
  const instant = Date.parse(String(value));
  return value == null || Number.isNaN(instant) ? '' : clockAt(instant).toISOString().slice(0, 16);
}

/** The instant of `2026-11-23T20:15`, or of the start of `2026-11-23`, in ms; NaN for other texts. */
export const instantOf = (local: string) =>
  instantAt(Date.parse(local.includes('T') ? `${local}Z` : local));
