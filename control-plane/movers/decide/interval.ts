/** Frequencies of checks for the intervals of other products. */

const allowedSeconds = [
  ...[10, 20, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 10_800, 21_600, 43_200, 86_400],
];

export interface Frequency {
  seconds: number;
  /** `frequency` and, below a minute, `frequencyOffset` of a check. */
  fields: { frequency: number; frequencyOffset?: number };
}

/** A value that is at most this much longer is closer than the next shorter one. */
const tolerance = 1.1;

/**
 * The allowed value for an interval: the next shorter one, so that detection is never later than
 * before; the next longer one when it is hardly longer, or when a target limits its requests.
 */
export function frequencyFor(seconds: number, prefersLonger = false): Frequency {
  const longer = allowedSeconds.find((allowed) => allowed >= seconds);
  const shorter = allowedSeconds.findLast((allowed) => allowed <= seconds);
  const takesLonger = longer !== undefined && (prefersLonger || longer <= seconds * tolerance);
  const chosen = (takesLonger ? longer : shorter) ?? longer ?? seconds;
  return {
    seconds: chosen,
    fields: chosen < 60 ? { frequency: 0, frequencyOffset: chosen } : { frequency: chosen / 60 },
  };
}

/** A duration in the largest unit that has no fraction: `45 s`, `5 min`, `2 h`. */
export function duration(seconds: number): string {
  if (seconds >= 3600 && seconds % 3600 === 0) return `${seconds / 3600} h`;
  if (seconds >= 60 && seconds % 60 === 0) return `${seconds / 60} min`;
  return `${Number(seconds.toFixed(3))} s`;
}

/** How often in an hour, with one decimal below ten. */
export function requestsPerHour(seconds: number): string {
  const count = 3600 / seconds;
  return String(count < 10 ? Number(count.toFixed(1)) : Math.round(count));
}
