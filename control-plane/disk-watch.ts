/**
 * Knows whether the disk takes what is written. One that is full fails every write there is, many a
 * second: it is said once in the log, and once more when it is over; answers and probes name it.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';

/** A small write may find room where the next result does not. */
const overAfterMs = 30_000;

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
    this.#failures += 1;
    return true;
  }

  /** After a write that is on disk: how long the problem has lasted that is over now, or null. */
  get overAfterMs(): number | null {
    if (this.#failedAt === null) return null;
    const now = this.#clock.monotonic();
    return now - this.#failedAt < overAfterMs ? null : now - this.#since;
  }

  /** Call after a write that is on disk. */
  noteWritten(): void {
    if (this.overAfterMs === null) return;
    this.#logger.info({ failures: this.#failures }, 'the disk takes writes again');
    this.#failedAt = null;
    this.#failures = 0;
  }
}
