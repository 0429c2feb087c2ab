/**
 * Decides by harm whether this agent has too little CPU for its work: runs that it had to give up since
 * their times could be its own, and runs that waited long for a permit. A busy machine that harms no run is no
 * overload.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import type { CpuShares, ProcessTime } from './process-time.ts';

/** How the agent harmed a run; null for one that it did not. */
type Harm = 'undecided' | 'late' | null;

/** The load for status and check-ins; instants on the wall clock. */
export interface Load {
  overloadedSince: number | null;
  reason: string | null;
  cpuWaitRatio: number | null;
  lastSuspension: { endedAt: number; lastedMs: number } | null;
}

interface UndecidedRun {
  at: number;
  checkId: string;
  runId: string;
  attempt: number;
}

interface Overloaded {
  overloadedSince: number;
  reason: string;
}

export interface OverloadOptions {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  processTime: Pick<ProcessTime, 'load'>;
}

const windowMs = 60_000;
/** Starting takes CPU, and the first slots of all checks come together. */
const startupMs = 60_000;
/** It begins with so many harmed runs within the window that are such a share of all. */
const minHarmed = 3;
const minShare = 0.05;
/** So many runs that could not be judged are named. */
const maxNamed = 50;

const counted = (count: number, what: string): string =>
  `${count} run${count === 1 ? '' : 's'} ${what}`;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function causeOf({ cpuWait, throttled }: CpuShares): string {
  if (throttled >= 0.05) {
    return `its control group was throttled ${percent(throttled)} of the time: the CPU limit is too low`;
  }
  if (cpuWait !== null && cpuWait >= 0.25) {
    return `it waited ${percent(cpuWait)} of the time in which it wanted a CPU: other processes use the machine`;
  }
  return 'it has more checks than permits or CPU';
}

export class Overload {
  readonly #options: OverloadOptions;
  readonly #startedAt: number;
  #runs: { at: number; harm: Harm }[] = [];
  /** The last runs that could not be judged. */
  undecidedRuns: UndecidedRun[] = [];
  #state: Overloaded | null = null;

  constructor(options: OverloadOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  /** A run of a slot got its permit. */
  began(isLate: boolean): void {
    this.#add(isLate ? 'late' : null);
  }

  /** A run ended undecided, since its times could be those of the agent. */
  gaveUp(run: Omit<UndecidedRun, 'at'>): void {
    const undecided = { at: this.#options.clock.now(), ...run };
    this.undecidedRuns = [...this.undecidedRuns, undecided].slice(-maxNamed);
    this.#add('undecided');
  }

  #add(harm: Harm): void {
    const at = this.#options.clock.monotonic();
    if (at - this.#startedAt >= startupMs) this.#runs.push({ at, harm });
  }

  get load(): Load {
    const { shares, lastSuspension } = this.#options.processTime.load;
    const { overloadedSince = null, reason = null } = this.#judge(shares) ?? {};
    return { overloadedSince, reason, cpuWaitRatio: shares.cpuWait, lastSuspension };
  }

  /** An overload ends after a window with no more than one harmed run. */
  #judge(shares: CpuShares): Overloaded | null {
    const { clock } = this.#options;
    const from = clock.monotonic() - windowMs;
    this.#runs = this.#runs.filter(({ at }) => at > from);
    const countOf = (wanted: Harm): number =>
      this.#runs.filter(({ harm }) => harm === wanted).length;
    const [undecided, late] = [countOf('undecided'), countOf('late')];
    const harmed = undecided + late;
    const isHarmed = harmed >= minHarmed && harmed >= minShare * this.#runs.length;
    if (harmed <= 1) this.#state = null;
    else if (isHarmed || this.#state !== null) {
      const what = [
        ...(undecided === 0 ? [] : [counted(undecided, 'could not be judged')]),
        ...(late === 0 ? [] : [counted(late, 'began late, for want of a permit')]),
      ].join(' and ');
      this.#state = {
        overloadedSince: this.#state?.overloadedSince ?? clock.now(),
        reason: `in the last minute ${what} of ${this.#runs.length}; ${causeOf(shares)}`,
      };
    }
    return this.#state;
  }
}
