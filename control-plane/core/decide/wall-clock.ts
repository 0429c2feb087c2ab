/**
 * Local times of time zones. A local time is a number of milliseconds since the epoch as if the
 * zone were UTC, so that days and hours are added without the zone.
 */
import { IANAZone } from 'luxon';

const dayMs = 86_400_000;
/** Cache size: more days than a window covers, over all windows of a zone. */
const maxRemembered = 2_000;

export interface WallClock {
  /** The local time at an instant. */
  shownAt: (instant: number) => number;
  /**
   * The instant of a local time. A skipped time (02:30 when clocks go forward) is moved ahead by
   * the change (03:30); for a repeated time the first instant is taken. As in RFC 5545, section
   * 3.3.5.
   */
  instantOf: (shown: number) => number;
}

const universal: WallClock = { shownAt: (instant) => instant, instantOf: (shown) => shown };

/**
 * The offset of a zone at any instant. A lookup takes some ten microseconds and is needed for every
 * result, so offsets at midnight are cached: a day with the same offset at both ends has it
 * throughout.
 */
function rememberingOffsets(zone: IANAZone): (instant: number) => number {
  const remembered = new Map<number, number>();
  const ask = (instant: number): number => Math.round(zone.offset(instant) * 60_000);
  const atMidnight = (day: number): number => {
    let offsetMs = remembered.get(day);
    if (offsetMs === undefined) {
      if (remembered.size >= maxRemembered) remembered.clear();
      offsetMs = ask(day * dayMs);
      remembered.set(day, offsetMs);
    }
    return offsetMs;
  };
  return (instant) => {
    const day = Math.floor(instant / dayMs);
    const offsetMs = atMidnight(day);
    return offsetMs === atMidnight(day + 1) ? offsetMs : ask(instant);
  };
}

function clockOfZone(zone: IANAZone): WallClock {
  const offsetAt = rememberingOffsets(zone);
  return {
    shownAt: (instant) => instant + offsetAt(instant),
    instantOf(shown) {
      const before = offsetAt(shown - dayMs);
      const early = shown - before;
      if (offsetAt(early) === before) return early;
      const after = offsetAt(shown + dayMs);
      const late = shown - after;
      return offsetAt(late) === after ? late : early;
    },
  };
}

/** Clocks by luxon's zone objects, which luxon caches by name. */
const clocks = new WeakMap<IANAZone, WallClock>();

/** The clock of an IANA zone; UTC for null and for a zone that this runtime does not know. */
export function wallClockOf(timezone: string | null): WallClock {
  if (timezone === null) return universal;
  const zone = IANAZone.create(timezone);
  if (!zone.isValid) return universal;
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = clockOfZone(zone);
    clocks.set(zone, clock);
  }
  return clock;
}
