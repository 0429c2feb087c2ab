/**
 * The time of the database, so that all replicas agree on it, whatever the clocks of their machines
 * say. It goes by the monotonic clock of the process and is compared with the database every ten
 * seconds. It never goes back, unless the clock of the database was set back by a step.
 */
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Db } from '../db/tables.ts';

const measureEveryMs = 10_000;
/** Smaller differences are those of the measurement. */
const usedFromMs = 50;
/** A larger correction is a step of the clock; `reception` moves the deadlines. */
const stepFromMs = 2_000;
/** A machine that is further off says so. */
const problemFromMs = 2_000;
const samplesAtStart = 3;

/** Asks the database for its time, in ms since the epoch. */
export type AskTime = () => Promise<number>;

export async function askDatabase(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::double precision as now
  `.execute(db);
  return Number(rows[0]?.now);
}

/** The time of the database when the answer arrived; `errorMs` limits the error. */
interface Measurement {
  at: number;
  monotonic: number;
  errorMs: number;
}

export class DatabaseClock implements Clock, Disposable {
  readonly #clock: Clock;
  readonly #ask: AskTime;
  readonly #logger: Logger;
  /** Time of the database when the monotonic clock was 0. */
  #base: number;
  /** The newest instant that was given. */
  #newest = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | null = null;
  #cancel: () => void = () => {};

  /** Measures before it resolves. Throws when the database does not answer. */
  static async open(clock: Clock, ask: AskTime, logger: Logger): Promise<DatabaseClock> {
    const opened = new DatabaseClock(clock, ask, logger);
    let best: Measurement | null = null;
    for (let sample = 0; sample < samplesAtStart; sample += 1) {
      const measurement = await opened.#sample();
      if (best === null || measurement.errorMs < best.errorMs) best = measurement;
    }
    if (best !== null) opened.#base = best.at - best.monotonic;
    opened.#schedule();
    return opened;
  }

  private constructor(clock: Clock, ask: AskTime, logger: Logger) {
    this.#clock = clock;
    this.#ask = ask;
    this.#logger = logger;
    this.#base = clock.now() - clock.monotonic();
  }

  now(): number {
    this.#newest = Math.max(this.#newest, this.#base + this.#clock.monotonic());
    return Math.round(this.#newest);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#clock.after(delayMs, callback);
  }

  /** How far the clock of this machine is ahead of the database's, in ms. */
  get offsetMs(): number {
    return this.#clock.now() - (this.#base + this.#clock.monotonic());
  }

  /** The problem of the machine's clock as text; null without one. */
  get problem(): string | null {
    const { offsetMs } = this;
    if (Math.abs(offsetMs) < problemFromMs) return null;
    const seconds = Math.round(Math.abs(offsetMs) / 1000);
    return `the clock of this replica is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the database, whose time is used`;
  }

  /** Compares the clock with the database now. Throws when the database does not answer. */
  async measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null;
    });
    await this.#measuring;
  }

  async #measure(): Promise<void> {
    const { at, monotonic, errorMs } = await this.#sample();
    const base = at - monotonic;
    const correctionMs = base - this.#base;
    if (Math.abs(correctionMs) < Math.max(usedFromMs, errorMs)) return;
    this.#base = base;
    if (correctionMs <= -stepFromMs) this.#newest = base + this.#clock.monotonic();
    this.#logger.debug({ correctionMs }, 'the time was corrected by that of the database');
  }

  /** The database answered after half of the way. */
  async #sample(): Promise<Measurement> {
    const askedAt = this.#clock.monotonic();
    const answer = await this.#ask();
    const monotonic = this.#clock.monotonic();
    const errorMs = (monotonic - askedAt) / 2;
    return { at: answer + errorMs, monotonic, errorMs };
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(measureEveryMs, () => {
      this.measure()
        // Signs of life say that the database is away.
        .catch(() => {})
        .finally(() => {
          if (!this.#isStopped) this.#schedule();
        });
    });
  }

  #isStopped = false;

  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#cancel();
  }
}
