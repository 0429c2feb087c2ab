/** When the processes of a run waited for a CPU. Instants are of `performance.now()`, in ms. */
import { readFileSync } from 'node:fs';
import { parseSchedstat, type ThreadTimes } from '../native/schedstat.ts';
import { readOf, type ProcessFacts } from './processes.ts';

/** No run takes longer. */
const keptMs = 3_600_000;
const minWaitMs = 1;

interface Look {
  from: number;
  to: number;
  ranMs: number;
  waitedMs: number;
}

/** Of all programs in one folder. */
export class CpuWaits {
  #looks: Look[] = [];

  add(look: Look): void {
    if (look.waitedMs < minWaitMs) return;
    if ((this.#looks[0]?.to ?? Infinity) < look.to - keptMs) this.#looks.shift();
    this.#looks.push(look);
  }

  /** How long some process waited between two instants, at most. */
  between(from: number, to: number): number {
    return this.#sum(from, to, ({ waitedMs }) => waitedMs);
  }

  /** How long they ran in looks in which some process waited as well. */
  ranBetween(from: number, to: number): number {
    return this.#sum(from, to, ({ ranMs }) => ranMs);
  }

  #sum(from: number, to: number, of: (look: Look) => number): number {
    return this.#looks.reduce((total, look) => {
      const overlapMs = Math.min(to, look.to) - Math.max(from, look.from);
      return total + Math.max(0, Math.min(overlapMs, of(look)));
    }, 0);
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

type Used = Pick<ThreadTimes, 'waitMs'> & { ranMs: number };

/** Counts what the processes of one program ran, and their main threads waited, from look to look. */
export class WaitCounter {
  readonly #waits: CpuWaits;
  #at: number;
  #pressure: number | null;
  #seen = new Map<number, Used>();

  constructor(waits: CpuWaits, at: number, pressure: number | null) {
    this.#waits = waits;
    this.#at = at;
    this.#pressure = pressure;
  }

  /** Processes that wait for each other, or for their own threads, are busy by themselves: only what others took counts. */
  look(processes: readonly ProcessFacts[], at: number, pressure: number | null): void {
    const sum = { ranMs: 0, waitMs: 0 };
    const seen = new Map<number, Used>();
    for (const { pid, cpuMs: ranMs } of processes) {
      const waitMs = parseSchedstat(readOf(pid, 'schedstat'))?.waitMs ?? 0;
      seen.set(pid, { ranMs, waitMs });
      const before = this.#seen.get(pid);
      sum.ranMs += Math.max(0, ranMs - (before?.ranMs ?? 0));
      sum.waitMs += Math.max(0, waitMs - (before?.waitMs ?? 0));
    }
    this.#seen = seen;
    this.#add(sum, at, pressure);
  }

  /** After their end they may have waited since the last look for as long as anything of the machine did. */
  end(at: number, pressure: number | null): void {
    this.#add({ ranMs: 0, waitMs: pressure === null ? 0 : Infinity }, at, pressure);
  }

  #add({ ranMs, waitMs }: Used, at: number, pressure: number | null): void {
    const passedMs = at - this.#at;
    const pressedMs =
      pressure === null || this.#pressure === null
        ? passedMs
        : Math.max(0, pressure - this.#pressure - ranMs);
    const waitedMs = Math.min(waitMs, passedMs, pressedMs);
    this.#waits.add({ from: this.#at, to: at, ranMs, waitedMs });
    this.#at = at;
    this.#pressure = pressure;
  }
}
