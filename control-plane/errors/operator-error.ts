import { exitCodes } from './exit-codes.ts';

/** An error for the operator: what was tried, on what, and what to do next. */
export class OperatorError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { usage?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = options.usage === true ? exitCodes.usage : exitCodes.failed;
  }
}

/** The command was called in a way that cannot work. */
export const usageError = (message: string) => new OperatorError(message, { usage: true });

/** Advice for common failures, by the `code` of Node or of the database. */
const advice: Readonly<Record<string, string>> = {
  EACCES: 'give this user access, or run as the user that `serve` runs as',
  EADDRINUSE: 'another process listens there: stop it, or set PORT',
  EADDRNOTAVAIL: 'set HOST to an address of this machine',
  EDQUOT: 'free some space, then try again',
  EEXIST: 'something else has that name: choose another',
  EISDIR: 'name a file instead of a folder',
  ENOENT: 'correct the path',
  ENOSPC: 'free some space, then try again',
  ENOTDIR: 'correct the path',
  EPERM: 'give this user access, or run as the user that `serve` runs as',
  EROFS: 'choose a place that can be written to',
  SQLITE_BUSY: 'another process is writing to it: try again, or stop `serve` first',
  SQLITE_CANTOPEN: 'look at the path, and whether this user may read and write there',
  SQLITE_CORRUPT: 'the file is damaged: restore a backup',
  SQLITE_FULL: 'free some space, then try again',
  SQLITE_IOERR: 'look at the disk; if the file cannot be read at all, move it away',
  SQLITE_NOTADB: 'name a file that is a database',
  SQLITE_READONLY: 'give this user write access, or run as the user that `serve` runs as',
};

function adviceFor(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  const code = String(error.code);
  // Extended result codes: SQLITE_BUSY_SNAPSHOT, SQLITE_READONLY_DIRECTORY.
  return advice[code] ?? advice[code.split('_').slice(0, 2).join('_')];
}

/** Describes a failure, with advice for a known one. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const next = adviceFor(error);
  return next === undefined ? message : `${message}; ${next}`;
}

/** Runs the work; an error names the work, for example `read the backup /a/b`. */
export async function trying<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`could not ${what}: ${describeFailure(error)}`, { cause: error });
  }
}
