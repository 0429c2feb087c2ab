/**
 * Knows whether the disk takes what is written. One that is full fails every write there is, many a
 * second: it is said once in the log, and once more when it is over; answers and probes name it.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';

const codes = /^(SQLITE_FULL|SQLITE_IOERR_(WRITE|FSYNC|TRUNCATE|SHM)|ENOSPC$|EDQUOT$)/;

/** Whether an error says that the disk is full, or does not take writes. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && codes.test(String(error.code));
}

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

  /** In words; null while writes succeed. */
  get problem(): string | null {
    return this.#failedAt === null
      ? null
      : 'the disk of the control plane is full: nothing can be written until some space is freed';
  }

  /** True when the error is the disk's, and with that has been said. */
  noteFailure(error: unknown): boolean {
    if (!isDiskFull(error)) return false;
    if (this.#failedAt === null) {
      this.#since = this.#clock.monotonic();
      this.#logger.error({ err: error }, 'the disk is full, results are refused until it is not');
    }
    this.#failedAt = this.#clock.monotonic();
    this.#hasRoom = false;
    this.#failures += 1;
    return true;
  }

  /** Room for more than the smallest of writes was found: the next that is on disk ends the problem. */
  noteRoom(): void {
    if (this.#failedAt !== null) this.#hasRoom = true;
  }

  /** After a write that is on disk: how long the problem has lasted that is over now, or null. */
  get overAfterMs(): number | null {
    return this.#failedAt !== null && this.#hasRoom ? this.#clock.monotonic() - this.#since : null;
  }

  /** Call after a write that is on disk. */
  noteWritten(): void {
    if (this.overAfterMs === null) return;
    this.#logger.info({ failures: this.#failures }, 'the disk takes writes again');
    this.#failedAt = null;
    this.#hasRoom = false;
    this.#failures = 0;
  }
}
