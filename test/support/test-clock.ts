import type { Clock } from '@monitor/shared/clock.ts';

interface Timer {
  at: number;
  callback: () => void;
}

/** A clock that stands still until it is moved. Timers run in the order they are due. */
export class TestClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<Timer>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** How many timers have neither run nor been cancelled. */
  get pending(): number {
    return this.#timers.size;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Moves both clocks forward, calling back what falls due on the way. */
  advance(ms: number): void {
    const until = this.#monotonic + ms;
    // Tests move it by weeks, in which some timers come a million times.
    for (let next = this.#nextUntil(until); next !== null; next = this.#nextUntil(until)) {
      this.#timers.delete(next);
      this.#now += next.at - this.#monotonic;
      this.#monotonic = next.at;
      next.callback();
    }
    this.#now += until - this.#monotonic;
    this.#monotonic = until;
  }

  /** The first of those that are due by then; of two that are due at once, the one that was set first. */
  #nextUntil(until: number): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.at <= until && (next === null || timer.at < next.at)) next = timer;
    }
    return next;
  }

  /** Both clocks go on while nothing runs, as if the process were stopped; then what is overdue is called. */
  freeze(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
    const overdue = [...this.#timers]
      .filter(({ at }) => at <= this.#monotonic)
      .sort((left, right) => left.at - right.at);
    for (const timer of overdue) this.#timers.delete(timer);
    for (const { callback } of overdue) callback();
  }

  /** Sets the wall clock, as NTP or an operator would; the monotonic one does not notice. */
  setWall(now: number): void {
    this.#now = now;
  }
}
