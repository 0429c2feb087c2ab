/**
 * Where analytics, reports, exports and status pages read: on a standby while it is close behind the
 * primary, else on the primary. How far it is behind follows from the sign of life of this replica
 * that the standby shows.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { databaseFailure } from './failure.ts';
import type { Db } from './tables.ts';

const measureEveryMs = 2_000;
/** How far the standby may be behind. Signs of life are two seconds apart. */
const maxLagMs = 5_000;

interface ReadPoolParts {
  primary: Db;
  /** Null without one. */
  standby: Db | null;
  clock: Clock;
  /** Of the row in `replicas` that this process writes. */
  replicaId: string;
  logger: Logger;
}

type Work<T> = (db: Db) => Promise<T>;

class StandbyLeft extends Error {}

export class ReadPool implements Disposable {
  readonly #parts: ReadPoolParts;
  /** Instant of the newest sign of life that the standby shows; null while it is away. */
  #shownAt: number | null = null;
  #cause: unknown = null;
  #isUsed: boolean | null = null;
  #startedAt = 0;
  #measuring: Promise<void> | null = null;
  #cancel: () => void = () => {};
  /** Accounts that changed something which the standby may not show yet, with the instant. */
  readonly #changes = new Map<string, number>();
  /** Ends reads that wait for the standby. */
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(parts: ReadPoolParts) {
    this.#parts = parts;
  }

  /** Measures the standby now and from now on. Call it once this replica gives signs of life. */
  async start(): Promise<void> {
    if (this.#parts.standby === null) return;
    this.#startedAt = this.#parts.clock.now();
    this.#schedule();
    await this.measure();
  }

  /** True while reads go to the standby. */
  get usesStandby(): boolean {
    const lagMs = this.#lagMs();
    return lagMs !== null && lagMs <= maxLagMs;
  }

  /** The account has changed something: it reads on the primary until the standby shows it. */
  noteChange(accountId: string): void {
    if (this.#parts.standby !== null) this.#changes.set(accountId, this.#parts.clock.now());
  }

  /**
   * Runs reads of an account. They may run twice: what fails on the standby, or is not found there,
   * is what the primary says of it.
   */
  async read<T>(accountId: string, work: Work<T>): Promise<T> {
    const { primary, standby } = this.#parts;
    if (standby === null || !this.usesStandby || this.#changes.has(accountId)) return work(primary);
    const waiting = Promise.withResolvers<never>();
    this.#waiting.add(waiting.reject);
    try {
      return await Promise.race([work(standby), waiting.promise]);
    } catch (error) {
      if (databaseFailure(error) === 'unavailable') this.#leave(error);
      return await work(primary);
    } finally {
      this.#waiting.delete(waiting.reject);
    }
  }

  /** Asks the standby for the newest sign of life of this replica. */
  async measure(): Promise<void> {
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null;
    });
    await this.#measuring;
  }

  async #measure(): Promise<void> {
    const { standby, replicaId } = this.#parts;
    try {
      const row = await standby
        ?.selectFrom('replicas')
        .select('alive_at')
        .where('id', '=', replicaId)
        .executeTakeFirst();
      this.#shownAt = row?.alive_at ?? null;
      this.#cause = null;
    } catch (error) {
      this.#leave(error);
    }
    for (const [accountId, changedAt] of this.#changes) {
      if (this.#shownAt !== null && this.#shownAt > changedAt) this.#changes.delete(accountId);
    }
    this.#note();
  }

  #lagMs(): number | null {
    return this.#shownAt === null ? null : this.#parts.clock.now() - this.#shownAt;
  }

  #leave(error: unknown): void {
    this.#shownAt = null;
    this.#cause = error;
    this.#note();
  }

  /** Logs the beginning and the end of a time without the standby. */
  #note(): void {
    const { logger, clock } = this.#parts;
    const { usesStandby } = this;
    if (usesStandby === this.#isUsed) return;
    if (usesStandby) {
      logger.info('analytics, exports and status pages are read from the standby');
    } else {
      // The first sign of life takes a moment to arrive there.
      const isArriving = this.#isUsed === null && clock.now() - this.#startedAt <= maxLagMs;
      if (isArriving && this.#cause === null) return;
      logger.warn(
        { err: this.#cause, lagMs: this.#lagMs() },
        'the standby of DATABASE_READ_URL is away or more than 5 seconds behind: everything is read from the primary',
      );
      const left = new StandbyLeft('the standby is not used any more');
      for (const reject of this.#waiting) reject(left);
    }
    this.#isUsed = usesStandby;
  }

  #schedule(): void {
    this.#cancel = this.#parts.clock.after(measureEveryMs, () => {
      this.#schedule();
      // A frozen standby answers nothing, and is left all the same.
      this.#note();
      void this.measure();
    });
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }
}
