/** Databases that programs have open, by the folder of their host; and what happens as they are written. */
import {
  closeSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import SqliteDatabase from 'better-sqlite3';
import { runningHost } from './world.ts';

interface Opened {
  file: string;
  close: () => void;
  /** Gives a pragma, and what comes of it, unseen. */
  ask: (pragma: string) => unknown;
  /** Open, and in no transaction. */
  isAtRest: () => boolean;
}
const opened = new Map<object, Opened>();

const inFolder = (folder: string): [object, Opened][] =>
  [...opened].filter(([, { file }]) => file.startsWith(join(folder, '/')));

/** As the kernel does it when a process ends. */
export function closeFiles(folder: string): void {
  for (const [database, { close }] of inFolder(folder)) {
    opened.delete(database);
    close();
  }
}

const noLimit = 2 ** 30;
/** SQLite itself gives the errors. On a full disk what lies in the file may still be replaced, as on a real one. */
export type DiskFault = 'full' | 'read-only';

export function breakDisk(folder: string, fault: DiskFault): void {
  for (const [, { ask }] of inFolder(folder))
    ask(fault === 'full' ? `max_page_count = ${Number(ask('page_count'))}` : 'query_only = 1');
}

export function mendDisk(folder: string): void {
  for (const [, { ask }] of inFolder(folder)) {
    ask(`max_page_count = ${noLimit}`);
    ask('query_only = 0');
  }
}

/** The log of a database up to its last frame. Another salt is another log, from the beginning of the file. */
interface Log {
  salt: string;
  end: number;
}
const headerBytes = 32;
const frameHeaderBytes = 24;

function readLog(file: string, known: Log | undefined): Log {
  const bytes = Buffer.alloc(headerBytes);
  if (statSync(`${file}-wal`, { throwIfNoEntry: false }) === undefined) return { salt: '', end: 0 };
  const descriptor = openSync(`${file}-wal`, 'r');
  try {
    if (readSync(descriptor, bytes, 0, headerBytes, 0) < headerBytes) return { salt: '', end: 0 };
    const salt = bytes.toString('latin1', 16, 24);
    const frameBytes = frameHeaderBytes + bytes.readUInt32BE(8);
    let end = known?.salt === salt ? known.end : headerBytes;
    const isFrame = (): boolean =>
      readSync(descriptor, bytes, 0, frameHeaderBytes, end) === frameHeaderBytes &&
      bytes.toString('latin1', 8, 16) === salt;
    while (isFrame()) end += frameBytes;
    return { salt, end };
  } finally {
    closeSync(descriptor);
  }
}

/** What has reached the disks, by database; followed in worlds alone in which power is lost. */
let synced: Map<string, Log & { changedAt: number }> | null = null;
const full = 2;

export function followSyncs(isFollowed: boolean): void {
  synced = isFollowed ? new Map() : null;
  for (const database of opened.keys()) noteSync(database, true);
}

/** A commit waits for the disk if the database is set so; a checkpoint does always. */
function noteSync(database: object, isAll = false): void {
  if (synced === null) return;
  const of = opened.get(database);
  if (of?.isAtRest() !== true) return;
  const known = synced.get(of.file);
  const changedAt = statSync(of.file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (isAll || known?.changedAt !== changedAt || Number(of.ask('synchronous')) >= full)
    synced.set(of.file, { ...readLog(of.file, known), changedAt });
}

/** Files that were synced as they were written. */
export const flushed = new Set<string>();

/** The copy of a folder has what the folder had. */
export function copyFlushed(from: string, to: string): void {
  for (const path of flushed)
    if (path.startsWith(join(from, '/'))) flushed.add(join(to, relative(from, path)));
}

/**
 * What a machine that lost its power finds in the copy of a folder: of the log all that was synced, and a piece of
 * the rest that may end within a frame. Small files that were not synced are whole or cut.
 */
export function losePower(from: string, copy: string, random: () => number): void {
  for (const name of readdirSync(copy)) {
    const path = join(copy, name);
    if (name.endsWith('.db-shm')) rmSync(path);
    else if (name.endsWith('.db-wal')) {
      const file = join(from, name.slice(0, -'-wal'.length));
      const known = synced?.get(file);
      const { salt, end } = readLog(path.slice(0, -'-wal'.length), undefined);
      const kept = known?.salt === salt ? known.end : 0;
      truncateSync(path, Math.round(kept + random() * Math.max(0, end - kept)));
    } else if (
      !/\.(db|key|lock)$/.test(name) &&
      statSync(path).isFile() &&
      random() < 0.5 &&
      !flushed.has(path)
    )
      truncateSync(path, Math.floor(random() * statSync(path).size));
  }
}

/** Statements of control planes so far. */
export const statements = { count: 0 };

// Parts of these classes are put in the place of others.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;
const databaseOf = new WeakMap<object, object>();
let isAsking = false;
function unseen<Result>(ask: () => Result): Result {
  isAsking = true;
  try {
    return ask();
  } finally {
    isAsking = false;
  }
}
function watchStatements(statement: object, note: () => void): void {
  const prototype = Object.getPrototypeOf(statement) as Any;
  for (const name of ['run', 'all', 'get']) {
    const real = prototype[name] as (...given: unknown[]) => unknown;
    prototype[name] = function (this: Any, ...given: unknown[]) {
      if (isAsking) return real.apply(this, given);
      note();
      runningHost()?.onStatement?.();
      const result = real.apply(this, given);
      if (synced !== null) noteSync((this.database ?? databaseOf.get(this)) as object);
      return result;
    };
  }
}

/** Notes a database as its program first says something to it. */
function watchDatabase(
  prototype: Any,
  names: readonly string[],
  {
    note,
    ...how
  }: { note: () => void } & Record<'file' | 'ask' | 'isOpen' | 'isInTransaction', Any>,
): void {
  for (const name of names) {
    const real = prototype[name] as (...given: unknown[]) => unknown;
    prototype[name] = function (this: Any, ...given: unknown[]) {
      if (isAsking) return real.apply(this, given);
      note();
      if (!opened.has(this))
        opened.set(this, {
          file: how.file(this),
          close: () => {
            if (how.isOpen(this)) this.close();
          },
          ask: (pragma) => unseen(() => how.ask(this, pragma)),
          isAtRest: () => how.isOpen(this) && !how.isInTransaction(this),
        });
      const result = real.apply(this, given);
      if (name === 'prepare') databaseOf.set(result as object, this);
      else noteSync(this);
      return result;
    };
  }
}

const one = new SqliteDatabase(':memory:');
const count = (): void => {
  statements.count += 1;
};
watchStatements(one.prepare('select 1'), count);
one.close();
watchDatabase(SqliteDatabase.prototype, ['pragma', 'exec'], {
  note: count,
  file: (database: SqliteDatabase.Database) => database.name,
  ask: (database: SqliteDatabase.Database, text: string) => database.pragma(text, { simple: true }),
  isOpen: (database: SqliteDatabase.Database) => database.open,
  isInTransaction: (database: SqliteDatabase.Database) => database.inTransaction,
});

const other = new DatabaseSync(':memory:');
watchStatements(other.prepare('select 1'), () => undefined);
other.close();
watchDatabase(DatabaseSync.prototype, ['exec', 'prepare'], {
  note: () => undefined,
  file: (database: DatabaseSync) => database.location() ?? '',
  ask: (database: DatabaseSync, text: string) =>
    Object.values(database.prepare(`pragma ${text}`).get() ?? {})[0],
  isOpen: (database: DatabaseSync) => database.isOpen,
  isInTransaction: (database: DatabaseSync) => database.isTransaction,
});
