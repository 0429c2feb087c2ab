/**
 * Whether this agent has too little CPU for its work. Pure.
 *
 *   well        measurements are as good as they can be
 *   overloaded  threads of the agent waited so much over the last half minute that its times say more
 *               about this machine than about targets; ends after a whole minute without
 */

/** What happened in about a second. Milliseconds. */
export interface LoadSample {
  /** When it ended, on the monotonic clock. */
  at: number;
  /** Its length, without suspension. */
  lengthMs: number;
  waitedMs: number;
  runMs: number;
  cpuWaitMs: number;
  /** How often the main thread got a CPU. */
  turns: number;
  /** Time in which the control group was not let run. */
  throttledMs: number;
  /** Share of the last ten seconds in which some task of the machine waited; null if not known. */
  pressure: number | null;
}

/** Shares, from 0 to 1, over some time. */
export interface LoadShares {
  /** Of the time in which the agent waited, or was late. */
  waited: number;
  /** Of the time in which the main thread wanted a CPU, and did not have one. */
  cpuWait: number;
  throttled: number;
  pressure: number | null;
}

export type LoadState = { overloadedSince: number; reason: string } | null;

export const overloadWindowMs = 60_000;
const noticeWithinMs = 30_000;
/** Less than this is not enough to judge by. */
const minSeenMs = 10_000;

interface Limits {
  waited: number;
  throttled: number;
  /** Of the machine, together with a share of waiting of its own. */
  pressure: number;
  cpuWait: number;
}

const begins: Limits = { waited: 0.1, throttled: 0.1, pressure: 0.5, cpuWait: 0.4 };
const lasts: Limits = { waited: 0.05, throttled: 0.05, pressure: 0.4, cpuWait: 0.25 };

const sum = (samples: readonly LoadSample[], of: (sample: LoadSample) => number): number =>
  samples.reduce((total, sample) => total + of(sample), 0);

/** The shares over the samples that ended after an instant; null when they cover too little. */
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

/** What others on this machine may have waited unseen in an attempt, by what a turn has cost since an instant. */
export function hiddenWaitMs(samples: readonly LoadSample[], after: number): number {
  const seen = samples.filter(({ at }) => at > after);
  const turns = sum(seen, (sample) => sample.turns);
  return turns === 0 ? 0 : (hiddenTurns * sum(seen, (sample) => sample.cpuWaitMs)) / turns;
}

/** Whether times that were measured since an instant are in doubt. */
export function isStarved(samples: readonly LoadSample[], after: number): boolean {
  const shares = loadShares(samples, after, 1);
  return shares !== null && reasonBy(shares, begins) !== null;
}

/** The state after the newest sample. `now` is on the monotonic clock, `wall` the time of day. */
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
