/**
 * What clocks on walls show. A shown time is written as milliseconds since the epoch as if the zone were
 * UTC, so days and hours are added to it without looking at the zone.
 */
import { IANAZone } from 'luxon';

const dayMs = 86_400_000;
/** Days whose offset a clock remembers: more than a window looks at, over all windows of a zone. */
const maxRemembered = 2_000;

export interface WallClock {
  /** What the clock shows at an instant. */
  shownAt: (instant: number) => number;
  /**
   * When it shows a time. A time that is skipped (02:30 on the night clocks go forward) becomes the one
   * as much later (03:30); one that is shown twice is its first. RFC 5545, section 3.3.5, has it so too.
   */
  instantOf: (shown: number) => number;
}

const universal: WallClock = { shownAt: (instant) => instant, instantOf: (shown) => shown };

/**
 * The offset of a zone at any instant. Asking for one costs some ten microseconds and is asked for at
 * every result, so those at midnight are remembered: a day that begins and ends with the same offset
 * has it throughout.
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

/** Clocks by the zones that luxon keeps, one for each name. */
const clocks = new WeakMap<IANAZone, WallClock>();

/** The clock of an IANA zone; of UTC for null, and for a zone that this runtime no longer knows. */
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
