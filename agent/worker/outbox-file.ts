/**
 * The file of the outbox: opened, checked after an unclean shutdown, and replaced when it is
 * damaged. The damaged file is moved aside, and its readable records are copied into a new one.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { DatabaseImage, readLog, type Bytes } from '@monitor/shared/sqlite/image.ts';
import { AgentError } from '../errors.ts';
import { setAside, type Damages } from '../damage.ts';
import { missingFrom, newestSeqOf, OutboxMark } from './outbox-mark.ts';
import { outboxSchema, salvageInto, type Salvaged } from './outbox-salvage.ts';

const selectOldest = 'select min(seq) as seq from records';
/** Logs are checkpointed long before this size. */
const maxLogBytes = 268_435_456;

export interface OutboxFileOptions {
  /** AGENT_DATA_DIR. */
  directory: string;
  /** Limit of kept damaged files. */
  maxBytes: number;
  /** The previous agent was killed instead of stopped. */
  hasEndedUncleanly: boolean;
  now: () => number;
  damages: Damages;
}

const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;

const primaryCodes = {
  ...{ error: 1, busy: 5, locked: 6, readOnly: 8, ioError: 10, corrupt: 11 },
  ...{ cannotOpen: 14, notADb: 26 },
};
/**
 * A flipped bit of the header: "unsupported file format" has no code of its own, and a version that SQLite
 * may only read is "readonly". A path that is no file cannot be opened.
 */
const codesOfUnusable: ReadonlySet<number> = new Set([
  ...[primaryCodes.error, primaryCodes.readOnly, primaryCodes.ioError, primaryCodes.cannotOpen],
]);
/** Reading failed, or returned too little. */
const readErrors: ReadonlySet<number> = new Set([266, 522, 8458]);

/** True for an error about the content of the file, not about free space. */
export function isDamage(error: unknown): boolean {
  const code = codeOf(error);
  const primary = code & 0xff;
  return (
    primary === primaryCodes.corrupt || primary === primaryCodes.notADb || readErrors.has(code)
  );
}

function openFile(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec('pragma locking_mode = exclusive');
    db.exec('pragma journal_mode = wal');
    db.exec('pragma synchronous = full');
    // A checkpoint of a small log is short; with the default of 1,000 pages it is not.
    db.exec('pragma wal_autocheckpoint = 400');
    db.exec(outboxSchema);
    const columns = db.prepare('pragma table_info(records)').all();
    if (!columns.some((column) => column['name'] === 'checksum')) {
      db.exec('alter table records add column checksum integer');
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The first problem that a full check finds; null for none. */
export function problemIn(db: DatabaseSync): string | null {
  try {
    const [first] = db.prepare('pragma quick_check(1)').all();
    const text = String(first?.['quick_check'] ?? 'ok');
    return text === 'ok' ? null : text;
  } catch (error) {
    if (isDamage(error)) return String(error instanceof Error ? error.message : error);
    throw error;
  }
}

function bytesOf(content: Uint8Array): Bytes {
  return {
    size: content.length,
    read: (offset, length) => content.subarray(offset, offset + length),
  };
}

/** The content of a file; empty when it is missing, no regular file, or unreadable. */
function bytesOfFile(path: string | null): { bytes: Bytes; close: () => void } {
  try {
    if (path !== null && statSync(path).isFile()) {
      const descriptor = openSync(path, 'r');
      const bytes: Bytes = {
        size: fstatSync(descriptor).size,
        read(offset, length) {
          const buffer = new Uint8Array(length);
          return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
        },
      };
      return {
        bytes,
        close: () => {
          closeSync(descriptor);
        },
      };
    }
  } catch {
    // Nothing is readable.
  }
  return { bytes: bytesOf(new Uint8Array()), close: () => undefined };
}

function readSmall(path: string): Uint8Array | null {
  try {
    return statSync(path).size > maxLogBytes ? null : readFileSync(path);
  } catch {
    return null;
  }
}

function problemAfterCrash(db: DatabaseSync, log: Uint8Array | null): string | null {
  const problem = problemIn(db);
  if (problem !== null || log === null) return problem;
  const pageSize = Number(db.prepare('pragma page_size').get()?.['page_size'] ?? 0);
  const { ignoredCommits } = readLog(bytesOf(log), pageSize);
  return ignoredCommits === 0
    ? null
    : `its log is damaged, ${ignoredCommits} commits stand behind the damage`;
}

function isEmpty(path: string): boolean {
  try {
    return statSync(path).size === 0;
  } catch {
    return true;
  }
}

export function unusableFolder(directory: string, reason: string, cause?: unknown): AgentError {
  return new AgentError(
    'DATA_DIR_UNUSABLE',
    `the data directory ${directory} cannot be used (${reason}); make it writable or name another with AGENT_DATA_DIR`,
    { cause },
  );
}

export class OutboxFile {
  readonly #options: OutboxFileOptions;
  readonly #path: string;
  readonly #mark: OutboxMark;
  #db: DatabaseSync;
  #oldest: StatementSync | null = null;

  /** Throws an AgentError when the directory cannot be used, or another agent uses it. */
  constructor(options: OutboxFileOptions) {
    this.#options = options;
    const { directory } = options;
    this.#path = join(directory, 'outbox.db');
    this.#mark = new OutboxMark(directory);
    try {
      makeFolders(directory);
      this.#db = this.#open();
      this.#oldest = this.#db.prepare(selectOldest);
    } catch (error) {
      const primary = codeOf(error) & 0xff;
      if (primary === primaryCodes.busy || primary === primaryCodes.locked) {
        throw new AgentError(
          'DATA_DIR_IN_USE',
          `another agent uses the data directory ${directory}; give this one its own with AGENT_DATA_DIR`,
          { cause: error },
        );
      }
      throw unusableFolder(
        directory,
        error instanceof Error ? error.message : String(error),
        error,
      );
    }
  }

  get db(): DatabaseSync {
    return this.#db;
  }

  #open(): DatabaseSync {
    // Read first: SQLite overwrites parts of a damaged log.
    const log = readSmall(`${this.#path}-wal`);
    const wasEmpty = (log?.length ?? 0) > 0 && isEmpty(this.#path);
    let db: DatabaseSync | null = null;
    let found: string | null;
    try {
      db = openFile(this.#path);
      db.prepare(selectOldest);
      // A cleanly closed database has no log.
      const isSuspect = this.#options.hasEndedUncleanly || (log?.length ?? 0) > 0;
      found = wasEmpty
        ? 'it is empty or gone, and its log is not'
        : ((isSuspect ? problemAfterCrash(db, log) : null) ?? this.#missingByMark(db));
    } catch (error) {
      db?.close();
      if (!isDamage(error) && !this.#isUnusable(error)) throw error;
      db = null;
      found = error instanceof Error ? error.message : String(error);
    }
    if (found === null && db !== null) return db;
    db?.close();
    return this.#replace(found ?? 'it cannot be opened', log, wasEmpty);
  }

  /** Detects a log that was cut off, or an older file in the place of this one. */
  #missingByMark(db: DatabaseSync): string | null {
    const mark = this.#mark.read();
    if (mark === null || mark.newestSeq <= newestSeqOf(db) || missingFrom(db, mark) === 0) {
      return null;
    }
    return `its newest records are missing, up to that of ${new Date(mark.at).toISOString()}`;
  }

  /** True when the file cannot be used, and its folder can. */
  #isUnusable(error: unknown): boolean {
    if (!codesOfUnusable.has(codeOf(error) & 0xff)) return false;
    const probe = join(this.#options.directory, '.probe');
    try {
      // A read-only folder or a full disk is not a damaged outbox.
      writeFileSync(probe, new Uint8Array(65_536), { mode: 0o600 });
      return true;
    } catch {
      return false;
    } finally {
      rmSync(probe, { force: true });
    }
  }

  /**
   * Moves the file aside and copies its readable records into a new one. `wasEmpty`: what the file holds now is
   * what opening it has made, which would hide the records of the log.
   */
  #replace(found: string, log: Uint8Array | null, wasEmpty = false): DatabaseSync {
    const { now, maxBytes, damages } = this.#options;
    const mark = this.#mark.read();
    const aside = setAside(this.#path, {
      now: now(),
      maxBytes,
      suffixes: ['', '-wal', '-shm', '-journal'],
    });
    // The part of the log that SQLite removed when it opened the file.
    if (aside !== null && log !== null && !existsSync(`${aside}-wal`)) {
      writeFileSync(`${aside}-wal`, log, { mode: 0o600 });
    }
    const db = openFile(this.#path);
    let salvaged: Salvaged = { records: 0, newestSeq: 0, lost: 0, lostSlots: [] };
    const { bytes, close } = bytesOfFile(wasEmpty ? null : aside);
    try {
      const image = new DatabaseImage(bytes, log === null ? null : bytesOf(log));
      salvaged = salvageInto(db, image, mark?.oldestSeq ?? 0);
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      found = `${found}; it cannot be read (${error instanceof Error ? error.message : String(error)})`;
    } finally {
      close();
    }
    damages.note({
      file: 'outbox',
      found,
      aside,
      salvaged: salvaged.records,
      lost: Math.max(salvaged.lost, mark === null ? 0 : missingFrom(db, mark)),
      lostSlots: salvaged.lostSlots,
    });
    this.#oldest = db.prepare(selectOldest);
    this.mark(newestSeqOf(db), salvaged.records);
    return db;
  }

  /** Replaces the file at runtime because of an error or a failed check. */
  replace(found: string): void {
    const log = readSmall(`${this.#path}-wal`);
    try {
      this.#db.close();
    } catch {
      // Pages that could not be checkpointed are in the log.
    }
    this.#db = this.#replace(found, log);
  }

  /** Call it after every change: it records the expected content for the next start. */
  mark(newestSeq: number, depth: number): void {
    const oldest = this.#oldest?.get()?.['seq'] ?? null;
    this.#mark.write({
      ...{ newestSeq, depth, at: this.#options.now() },
      oldestSeq: oldest === null ? newestSeq + 1 : Number(oldest),
    });
  }

  close(): void {
    this.#mark.close();
    this.#db.close();
  }
}
