/** Files that have their final name only once they are whole. */
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

/** What the database keeps beside a file while it is open, or after a crash. */
export const companions = ['-wal', '-shm', '-journal'] as const;

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A file under a temporary name beside its final one, for its owner alone. Disposing removes it. */
export class FileInTheMaking implements Disposable {
  readonly path: string;
  readonly #final: string;

  constructor(final: string) {
    this.#final = final;
    // Not the process id: in a container it is the same each time, and a killed run may have left one.
    this.path = `${final}.${randomUUID().slice(0, 8)}${ending}`;
    closeSync(openSync(this.path, 'wx', 0o600));
  }

  /** Gives it its final name, in place of what had it: on disk, in one step. */
  finish(): void {
    syncToDisk(this.path);
    renameSync(this.path, this.#final);
    syncToDisk(dirname(this.#final));
  }

  [Symbol.dispose](): void {
    for (const suffix of ['', ...companions]) rmSync(this.path + suffix, { force: true });
  }
}

/** A copy of a file with secrets, readable by its owner alone, that still has to be finished. */
export function copyOfSecret(from: string, to: string): FileInTheMaking {
  const copy = new FileInTheMaking(to);
  copyFileSync(from, copy.path);
  chmodSync(copy.path, 0o600);
  return copy;
}

/** Left by processes that were killed while they made this file. */
export function leftovers(final: string): string[] {
  const folder = dirname(final);
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(final)}.`) && name.endsWith(ending))
    .map((name) => join(folder, name));
}

/** Catches SIGINT and SIGTERM until it is disposed, so that the work can stop and leave nothing behind. */
export function stopOnSignal(): Disposable & {
  throwIfStopped(): void;
  /** For after work that held the thread: signals of that time have not been noticed yet. */
  throwIfStoppedMeanwhile(): Promise<void>;
} {
  let stoppedBy: string | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    stoppedBy = signal;
  };
  const throwIfStopped = (): void => {
    if (stoppedBy === undefined) return;
    throw new OperatorError(`stopped by ${stoppedBy}; nothing was changed`);
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
