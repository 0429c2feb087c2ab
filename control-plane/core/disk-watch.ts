/**
 * Knows whether the disk accepts writes. On a full disk many writes fail every second, so the log
 * has one line at the beginning and one at the end; answers and probes show the problem.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { databaseFailure } from '../db/failure.ts';

export class DiskWatch {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #logger: Logger;
  #failedAt: number | null = null;
  #since = 0;
  #failures = 0;
  #hasRoom = false;

  constructor(clock: Pick<Clock, 'monotonic'>, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The problem as text; null while writes succeed. */
  get problem(): string | null {
    return this.#failedAt === null
      ? null
      : 'the disk of the control plane is full: nothing can be written until some space is freed';
  }

  /** Records a failure. True when the error is the disk's; it has been logged then. */
  noteFailure(error: unknown): boolean {
    if (databaseFailure(error) !== 'full') return false;
    if (this.#failedAt === null) {
      this.#since = this.#clock.monotonic();
      this.#logger.error({ err: error }, 'the disk is full, results are refused until it is not');
    }
    this.#failedAt = this.#clock.monotonic();
    this.#hasRoom = false;
    this.#failures += 1;
    return true;
  }

  /** A test write succeeded: the next durable write ends the problem. */
  noteRoom(): void {
    if (this.#failedAt !== null) this.#hasRoom = true;
  }

  /** Duration of the problem, for the first durable write after it; otherwise null. */
  get overAfterMs(): number | null {
    return this.#failedAt !== null && this.#hasRoom ? this.#clock.monotonic() - this.#since : null;
  }

  /** Call it after a durable write. */
  noteWritten(): void {
    if (this.overAfterMs === null) return;
    this.#logger.info({ failures: this.#failures }, 'the disk takes writes again');
    this.#failedAt = null;
    this.#hasRoom = false;
    this.#failures = 0;
  }
}
