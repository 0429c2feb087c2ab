import type { Clock } from '@monitor/shared/clock.ts';

/** A clock that stands still until it is moved. Timers run in the order they are due. */
export class TestClock implements Clock {
  #now: number;
  #monotonic = 0;
  #timers: { at: number; callback: () => void }[] = [];

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
    return this.#timers.length;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, delayMs), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves both clocks forward, calling back what falls due on the way. */
  advance(ms: number): void {
    const until = this.#monotonic + ms;
    for (;;) {
      const [next] = this.#timers
        .filter(({ at }) => at <= until)
        .sort((left, right) => left.at - right.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now += next.at - this.#monotonic;
      this.#monotonic = next.at;
      next.callback();
    }
    this.#now += until - this.#monotonic;
    this.#monotonic = until;
  }

  /** Both clocks go on while nothing runs, as if the process were stopped; then what is overdue is called. */
  freeze(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
    const overdue = this.#timers
      .filter(({ at }) => at <= this.#monotonic)
      .sort((left, right) => left.at - right.at);
    this.#timers = this.#timers.filter((timer) => !overdue.includes(timer));
    for (const { callback } of overdue) callback();
  }

  /** Sets the wall clock, as NTP or an operator would; the monotonic one does not notice. */
  setWall(now: number): void {
    this.#now = now;
  }
}
