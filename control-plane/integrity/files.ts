/** The files of a database as bytes. */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { readLog, pageSizeOf, type Bytes } from '@monitor/shared/sqlite/image.ts';
import { keyFileOf } from '../core/secret-cipher.ts';
import type { FoundFiles } from './decide-opening.ts';

export const logFileOf = (databaseFile: string): string => `${databaseFile}-wal`;

/** The bytes of a file; none when it does not exist. Throws when it is not readable. */
export function openBytes(path: string): Bytes & Disposable {
  if (!existsSync(path) || !statSync(path).isFile()) {
    return { size: 0, read: () => new Uint8Array(), [Symbol.dispose]: () => undefined };
  }
  const descriptor = openSync(path, 'r');
  return {
    size: fstatSync(descriptor).size,
    read(offset, length) {
      const buffer = new Uint8Array(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
    },
    [Symbol.dispose]: () => {
      closeSync(descriptor);
    },
  };
}

function sizeOf(path: string): number | null {
  try {
    return statSync(path).size;
  } catch {
    return null;
  }
}

export function findFiles(databaseFile: string, hasKeySetting: boolean): FoundFiles {
  const keyFile = keyFileOf(databaseFile);
  return {
    database: databaseFile,
    isFolder: existsSync(databaseFile) && statSync(databaseFile).isDirectory(),
    databaseBytes: sizeOf(databaseFile),
    logBytes: sizeOf(logFileOf(databaseFile)),
    keyFile,
    hasKeyFile: existsSync(keyFile),
    hasKeySetting,
  };
}

/**
 * Commits in the log that SQLite would silently drop because the log is damaged before them. Only
 * for a database that no process has open.
 */
export function commitsBehindDamage(databaseFile: string): number {
  using file = openBytes(databaseFile);
  using log = openBytes(logFileOf(databaseFile));
  return readLog(log, pageSizeOf(file, log)).ignoredCommits;
}
