/** When the processes of a run waited for a CPU. Instants are of `performance.now()`, in ms. */
import { readFileSync } from 'node:fs';
import { parseSchedstat } from '../native/schedstat.ts';
import { readOf } from './processes.ts';

/** No run takes longer. */
const keptMs = 3_600_000;
const minWaitMs = 1;

interface Wait {
  from: number;
  to: number;
  waitedMs: number;
}

/** Of all programs in one folder. */
export class CpuWaits {
  #waits: Wait[] = [];

  add(wait: Wait): void {
    if (wait.waitedMs < minWaitMs) return;
    if ((this.#waits[0]?.to ?? Infinity) < wait.to - keptMs) this.#waits.shift();
    this.#waits.push(wait);
  }

  /** How long some process waited between two instants, at most. */
  between(from: number, to: number): number {
    const sum = this.#waits.reduce((total, wait) => {
      const overlapMs = Math.min(to, wait.to) - Math.max(from, wait.from);
      return total + Math.max(0, Math.min(overlapMs, wait.waitedMs));
    }, 0);
    return Math.min(sum, Math.max(0, to - from));
  }
}

/** Time in which some task of this machine waited for a CPU, in ms since its start; null where unknown. */
export function readPressure(): number | null {
  try {
    const total = /^some .*total=(\d+)/.exec(readFileSync('/proc/pressure/cpu', 'latin1'))?.[1];
    return total === undefined ? null : Number(total) / 1_000;
  } catch {
    return null;
  }
}

/** Counts the waits of one program from look to look. */
export class WaitCounter {
  readonly #waits: CpuWaits;
  #at: number;
  #pressure: number | null;
  #seen = new Map<number, number>();

  constructor(waits: CpuWaits, at: number, pressure: number | null) {
    this.#waits = waits;
    this.#at = at;
    this.#pressure = pressure;
  }

  /**
   * Looks at the main threads of processes. After their end, with null, they may have waited for as long
   * as anything of the machine did.
   */
  look(pids: readonly number[] | null, at: number, pressure: number | null): void {
    let waitedMs = pids === null ? Infinity : 0;
    if (pids !== null) {
      const seen = new Map(
        pids.map((pid) => [pid, parseSchedstat(readOf(pid, 'schedstat'))?.waitMs ?? 0]),
      );
      for (const [pid, ms] of seen) waitedMs += Math.max(0, ms - (this.#seen.get(pid) ?? 0));
      this.#seen = seen;
    }
    const passedMs = at - this.#at;
    const pressedMs =
      pressure === null || this.#pressure === null ? passedMs : pressure - this.#pressure;
    this.#waits.add({ from: this.#at, to: at, waitedMs: Math.min(waitedMs, passedMs, pressedMs) });
    this.#at = at;
    this.#pressure = pressure;
  }
}
