/** Control plane and agent in one process on one virtual time; each host has a wall clock that can be set. */
import { performance } from 'node:perf_hooks';
import type { Clock } from '@monitor/shared/clock.ts';

const gridMs = 50;
const quietTurns = 2;

interface Timer {
  at: number;
  callback: () => void;
}

export class VirtualWorld {
  monotonic = 0;
  readonly #epoch = Date.now();
  readonly #timers = new Set<Timer>();

  /** The clock of a host, whose wall is so much ahead. */
  clock(wall: { aheadMs: number }): Clock {
    return {
      now: () => Math.round(this.#epoch + this.monotonic + wall.aheadMs),
      monotonic: () => this.monotonic,
      after: (delayMs, callback) => {
        const timer = { at: this.monotonic + Math.max(0, delayMs), callback };
        this.#timers.add(timer);
        return () => this.#timers.delete(timer);
      },
    };
  }

  /** Lets so much virtual time pass. What happens between two points of the grid happens at the later one. */
  async run(ms: number): Promise<void> {
    const until = this.monotonic + ms;
    for (;;) {
      const next = Math.min(...[...this.#timers].map(({ at }) => at), Infinity);
      if (next > until) break;
      this.monotonic = Math.min(Math.ceil((next + 1) / gridMs) * gridMs, until);
      const due = [...this.#timers].filter(({ at }) => at <= this.monotonic);
      for (const timer of due.sort((one, other) => one.at - other.at)) {
        if (this.#timers.delete(timer)) timer.callback();
      }
      await this.#idle();
    }
    this.monotonic = until;
  }

  /** Calls between the hosts go over loopback: waits until the event loop has nothing to do. */
  async #idle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns;) {
      const before = performance.eventLoopUtilization();
      await new Promise((resolve) => setTimeout(resolve, 1));
      quiet = performance.eventLoopUtilization(before).active < 0.3 ? quiet + 1 : 0;
    }
  }
}
