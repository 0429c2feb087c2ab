/** Files that get their final name only when they are complete. */
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { OperatorError } from '../../errors/operator-error.ts';

const ending = '.partial';

/** Files of SQLite beside an open database, or after a crash. */
export const companions = ['-wal', '-shm', '-journal'] as const;

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A file with a temporary name beside its final one, readable by its owner only. Disposing deletes it. */
export class FileInTheMaking implements Disposable {
  readonly path: string;
  readonly #final: string;

  constructor(final: string) {
    this.#final = final;
    // Not the process id: it is the same in every container, and a killed run may have left a
    // file.
    this.path = `${final}.${randomUUID().slice(0, 8)}${ending}`;
    closeSync(openSync(this.path, 'wx', 0o600));
  }

  /** Renames the file to its final name, durably and in one step. An existing file is replaced. */
  finish(): void {
    syncToDisk(this.path);
    renameSync(this.path, this.#final);
    syncToDisk(dirname(this.#final));
  }

  [Symbol.dispose](): void {
    for (const suffix of ['', ...companions]) rmSync(this.path + suffix, { force: true });
  }
}

/** A temporary copy of a file with secrets, readable by its owner only; call `finish` to keep it. */
export function copyOfSecret(from: string, to: string): FileInTheMaking {
  const copy = new FileInTheMaking(to);
  copyFileSync(from, copy.path);
  chmodSync(copy.path, 0o600);
  return copy;
}

/** Temporary files of killed processes. */
export function leftovers(final: string): string[] {
  const folder = dirname(final);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(final)}.`) && name.endsWith(ending))
    .map((name) => join(folder, name));
}

/** Catches SIGINT and SIGTERM until it is disposed, so that the work can stop cleanly. */
export function stopOnSignal(outcome = 'nothing was changed'): Disposable & {
  throwIfStopped(): void;
  /** Call it after work that blocked the thread: signals of that time have not been handled yet. */
  throwIfStoppedMeanwhile(): Promise<void>;
} {
  let stoppedBy: string | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    stoppedBy = signal;
  };
  const throwIfStopped = (): void => {
    if (stoppedBy === undefined) return;
    throw new OperatorError(`stopped by ${stoppedBy}; ${outcome}`);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return {
    throwIfStopped,
    async throwIfStoppedMeanwhile() {
      await new Promise((resolve) => setImmediate(resolve));
      throwIfStopped();
    },
    [Symbol.dispose]: () => {
      process.off('SIGINT', stop).off('SIGTERM', stop);
    },
  };
}
