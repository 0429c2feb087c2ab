/**
 * Allows one `serve` per database. It holds a kernel lock on an empty database file beside the real
 * one, which ends with the process in any case. A text file names the holder; if it still exists at
 * a start, the previous process did not stop cleanly.
 */
import {
  existsSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { openRaw, type RawDatabase } from '../db/open.ts';
import { describeFailure, OperatorError } from '../errors/operator-error.ts';

const holderShape = z.object({ pid: z.number(), host: z.string(), startedAt: z.string() });
type Holder = z.infer<typeof holderShape>;

export interface ServingLock extends Disposable {
  /** The previous `serve` was killed, or its machine failed. */
  hasEndedUncleanly: boolean;
  /** Call it when all writes are durable, before disposing. */
  noteCleanEnd(): void;
}

const lockFileOf = (databaseFile: string): string => `${databaseFile}.lock`;
const holderFileOf = (databaseFile: string): string => `${databaseFile}.holder`;

function readHolder(databaseFile: string): Holder | null {
  try {
    return holderShape.parse(JSON.parse(readFileSync(holderFileOf(databaseFile), 'utf8')));
  } catch {
    return null;
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** The lock, or null when another process holds it. */
function tryLock(file: string): RawDatabase | null {
  const database = openRaw(file, { timeout: 0 });
  try {
    database.exec('begin immediate');
    return database;
  } catch (error) {
    database.close();
    if (codeOf(error).startsWith('SQLITE_BUSY')) return null;
    throw error;
  }
}

function lock(file: string): RawDatabase | null {
  try {
    return tryLock(file);
  } catch (error) {
    if (!/^SQLITE_(NOTADB|CORRUPT|IOERR|CANTOPEN)/.test(codeOf(error))) throw error;
    // The file must be empty. It is truncated in place, which keeps a lock of another process.
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) rmdirSync(file);
    else truncateSync(file, 0);
    return tryLock(file);
  }
}

/** True while a `serve` has the database open. Creates no file: a backup may be in a read-only folder. */
export function isServed(databaseFile: string): boolean {
  const file = lockFileOf(databaseFile);
  if (!existsSync(file)) return false;
  try {
    const held = lock(file);
    held?.close();
    return held === null;
  } catch (error) {
    if (codeOf(error).startsWith('SQLITE_READONLY')) return false;
    throw error;
  }
}

/** The process that serves a database, as a sentence. */
export function holderInWords(databaseFile: string): string {
  const holder = readHolder(databaseFile);
  return holder === null
    ? 'another process'
    : `process ${holder.pid} on ${holder.host}, since ${holder.startedAt}`;
}

/** Takes the lock. Throws with the name of the holder when another `serve` has it. */
export function lockForServing(databaseFile: string, now: number): ServingLock {
  let held: RawDatabase | null;
  try {
    held = lock(lockFileOf(databaseFile));
  } catch (error) {
    throw new OperatorError(
      `cannot lock ${lockFileOf(databaseFile)}: ${describeFailure(error)}. Nothing is kept in it: if it is damaged, move it away`,
      {
        usage: true,
        cause: error,
      },
    );
  }
  if (held === null) {
    throw new OperatorError(
      `the database ${databaseFile} is served already, by ${holderInWords(databaseFile)}: two would run every check twice. Stop that one first, or set DATABASE_FILE to another file`,
    );
  }
  const holderFile = holderFileOf(databaseFile);
  const hasEndedUncleanly = readHolder(databaseFile) !== null;
  const holder: Holder = {
    ...{ pid: process.pid, host: hostname(), startedAt: new Date(now).toISOString() },
  };
  try {
    writeFileSync(holderFile, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  } catch {
    // The disk is full, or something else has this name: the lock works without the file.
  }
  let isClean = false;
  return {
    hasEndedUncleanly,
    noteCleanEnd() {
      isClean = true;
    },
    [Symbol.dispose]() {
      if (isClean) rmSync(holderFile, { force: true, recursive: true });
      held.close();
    },
  };
}
