/**
 * Knows whether the database takes writes: whether its disk has room, and whether it is there at all.
 * While it does not, many writes fail every second, so the log has one line at the beginning and one at
 * the end; answers and probes show the problem.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { databaseFailure } from '../db/failure.ts';

const problems = {
  full: 'the disk of the control plane is full: nothing can be written until some space is freed',
  away: 'the database does not answer or takes no writes: agents keep their results until it does',
};
type Problem = keyof typeof problems;

/** Null for an error that says nothing about the database as a whole. */
function problemOf(error: unknown): Problem | null {
  const failure = databaseFailure(error);
  if (failure === 'full') return 'full';
  return failure === 'unavailable' || failure === 'read-only' ? 'away' : null;
}

export class WriteWatch {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #logger: Logger;
  readonly #failoverMs: number;
  #failed: Problem | null = null;
  #since = 0;
  #failures = 0;
  #isErrorLogged = false;
  #hasRoom = false;

  /** A database that is away for less than `failoverMs` is a warning in the log, not an error. */
  constructor(clock: Pick<Clock, 'monotonic'>, logger: Logger, failoverMs = 0) {
    this.#clock = clock;
    this.#logger = logger;
    this.#failoverMs = failoverMs;
  }

  /** The problem as text; null while writes succeed. */
  get problem(): string | null {
    return this.#failed === null ? null : problems[this.#failed];
  }

  /** True while the disk has no room, and not for a database that is away. */
  get isDiskFull(): boolean {
    return this.#failed === 'full';
  }

  /** Seconds after which a client may ask again. */
  get retryAfterSeconds(): number {
    return this.#failed === 'full' ? 15 : 1;
  }

  /** Records a failure. True when the error is of the database as a whole; it has been logged then. */
  noteFailure(error: unknown): boolean {
    const problem = problemOf(error);
    if (problem === null) return false;
    if (this.#failed === null) {
      this.#since = this.#clock.monotonic();
      this.#isErrorLogged = false;
      if (problem === 'away' && this.#failoverMs > 0) {
        this.#logger.warn(
          { err: error },
          'the database is away, work is repeated until it is back',
        );
      }
    }
    const isError = problem === 'full' || this.#clock.monotonic() - this.#since >= this.#failoverMs;
    if (isError && !this.#isErrorLogged) {
      this.#isErrorLogged = true;
      this.#logger.error(
        { err: error },
        problem === 'full'
          ? 'the disk is full, results are refused until it is not'
          : 'the database is away, results are refused until it is back',
      );
    }
    this.#failed = problem;
    this.#hasRoom = false;
    this.#failures += 1;
    return true;
  }

  /** A test write succeeded: the next durable write ends the problem. */
  noteRoom(): void {
    if (this.#failed !== null) this.#hasRoom = true;
  }

  /** Duration of the problem, for the first durable write after it; otherwise null. */
  get overAfterMs(): number | null {
    return this.#failed !== null && this.#hasRoom ? this.#clock.monotonic() - this.#since : null;
  }

  /** Call it after a durable write. */
  noteWritten(): void {
    if (this.overAfterMs === null) return;
    this.#logger.info(
      { failures: this.#failures },
      this.#failed === 'full' ? 'the disk takes writes again' : 'the database takes writes again',
    );
    this.#failed = null;
    this.#hasRoom = false;
    this.#failures = 0;
  }
}
