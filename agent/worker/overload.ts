/**
 * Decides whether this agent has too little CPU for its work. Pure.
 *
 *   well        measurements are as good as they can be
 *   overloaded  threads of the agent waited so much over the last half minute that its times say more
 *               about this machine than about targets; ends after a whole minute without
 */

/** Measurements of about a second. Milliseconds. */
export interface LoadSample {
  /** Its end on the monotonic clock. */
  at: number;
  /** Its length, without suspension. */
  lengthMs: number;
  waitedMs: number;
  runMs: number;
  cpuWaitMs: number;
  /** How often the main thread got a CPU. */
  turns: number;
  /** Time in which the control group was throttled. */
  throttledMs: number;
  /** Share of the last ten seconds in which a task of the machine waited; null if unknown. */
  pressure: number | null;
}

/** Shares from 0 to 1. */
export interface LoadShares {
  /** Time in which the agent waited or was late. */
  waited: number;
  /** Time in which the main thread was runnable without a CPU. */
  cpuWait: number;
  throttled: number;
  pressure: number | null;
}

export type LoadState = { overloadedSince: number; reason: string } | null;

export const overloadWindowMs = 60_000;
const noticeWithinMs = 30_000;
/** A shorter time is not judged. */
const minSeenMs = 10_000;

interface Limits {
  waited: number;
  throttled: number;
  /** Pressure of the machine, together with a waiting share of this process. */
  pressure: number;
  cpuWait: number;
}

const begins: Limits = { waited: 0.1, throttled: 0.1, pressure: 0.5, cpuWait: 0.4 };
const lasts: Limits = { waited: 0.05, throttled: 0.05, pressure: 0.4, cpuWait: 0.25 };

const sum = (samples: readonly LoadSample[], of: (sample: LoadSample) => number): number =>
  samples.reduce((total, sample) => total + of(sample), 0);

/** The shares of the samples after an instant; null for too little time. */
export function loadShares(
  samples: readonly LoadSample[],
  after: number,
  minMs = minSeenMs,
): LoadShares | null {
  const seen = samples.filter(({ at }) => at > after);
  const lengthMs = sum(seen, (sample) => sample.lengthMs);
  if (lengthMs < minMs || lengthMs === 0) return null;
  const cpuWaitMs = sum(seen, (sample) => sample.cpuWaitMs);
  const wantedMs = cpuWaitMs + sum(seen, (sample) => sample.runMs);
  const pressures = seen.flatMap(({ pressure }) => (pressure === null ? [] : [pressure]));
  return {
    waited: Math.min(1, sum(seen, (sample) => sample.waitedMs) / lengthMs),
    cpuWait: wantedMs === 0 ? 0 : cpuWaitMs / wantedMs,
    throttled: Math.min(1, sum(seen, (sample) => sample.throttledMs) / lengthMs),
    pressure:
      pressures.length === 0
        ? null
        : pressures.reduce((total, each) => total + each, 0) / pressures.length,
  };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function reasonBy(shares: LoadShares, limits: Limits): string | null {
  const { waited, cpuWait, throttled, pressure } = shares;
  if (throttled >= limits.throttled) {
    return `its control group was throttled ${percent(throttled)} of the time: the CPU limit is too low`;
  }
  if (waited >= limits.waited) {
    return `it waited for a CPU, or its event loop was late, ${percent(waited)} of the time`;
  }
  if (pressure !== null && pressure >= limits.pressure && cpuWait >= limits.cpuWait) {
    return `it waited ${percent(cpuWait)} of the time in which it wanted a CPU: other processes use the machine`;
  }
  return null;
}

/** CPU time of others that is invisible in an attempt: of the kernel, of a target on the same machine. */
const hiddenTurns = 25;

/** Possible waiting time of other processes in an attempt, from the cost of a turn since an instant. */
export function hiddenWaitMs(samples: readonly LoadSample[], after: number): number {
  const seen = samples.filter(({ at }) => at > after);
  const turns = sum(seen, (sample) => sample.turns);
  return turns === 0 ? 0 : (hiddenTurns * sum(seen, (sample) => sample.cpuWaitMs)) / turns;
}

/** True when times measured since an instant are in doubt. */
export function isStarved(samples: readonly LoadSample[], after: number): boolean {
  const shares = loadShares(samples, after, 1);
  return shares !== null && reasonBy(shares, begins) !== null;
}

/** The state after a new sample. `now` is on the monotonic clock, `wall` the time of day. */
export function stepLoad(
  state: LoadState,
  samples: readonly LoadSample[],
  { now, wall }: { now: number; wall: number },
): LoadState {
  const recent = loadShares(samples, now - noticeWithinMs);
  const begun = recent === null ? null : reasonBy(recent, begins);
  if (begun !== null) return { overloadedSince: state?.overloadedSince ?? wall, reason: begun };
  if (state === null) return null;
  const whole = loadShares(samples, now - overloadWindowMs);
  const stays = whole === null ? null : reasonBy(whole, lasts);
  return stays === null ? null : { ...state, reason: stays };
}
