/** Reads what `import` was given: a file, or a folder with all that it holds. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { commandDoors } from '../../core/doors.ts';
import { readSqliteFile, type SourceTables } from '../../db/read-sqlite-file.ts';
import { OperatorError, trying } from '../../errors/operator-error.ts';
import { kumaAggregates, kumaTables, type SourceFile } from '../../movers/index.ts';

const { fileBytes: maxTextBytes, files: maxFiles } = commandDoors.import.reads;
const readable = /\.(ya?ml|json|csv|db|sqlite3?)$/i;

const sqliteHeader = 'SQLite format 3\0';
/** Where the header says that changes are first written to a log. */
const journalVersionAt = 18;
const writeAheadLog = 2;

/** Enough to know a database, one character for each byte. */
function startOf(path: string): string {
  const buffer = Buffer.alloc(journalVersionAt + 1);
  const file = openSync(path, 'r');
  try {
    readSync(file, buffer, 0, buffer.length, 0);
  } finally {
    closeSync(file);
  }
  return buffer.toString('latin1');
}

/** The tables of a database, which is opened for reading only. */
function tablesOf(path: string): SourceTables {
  try {
    return readSqliteFile(path, kumaTables, kumaAggregates);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(
      `could not read the database ${path}: ${reason}; copy it again while the other product is stopped, with its -wal file`,
      { cause: error },
    );
  }
}

function readOne(path: string, name: string): Promise<SourceFile> {
  return trying(`read ${path}`, async () => {
    const isDatabase = startOf(path).startsWith(sqliteHeader);
    return {
      path: name,
      text: isDatabase ? '' : await readAtMost(path, maxTextBytes),
      tables: isDatabase ? tablesOf(path) : null,
    };
  });
}

/** What a copy of a database may lack; null for nothing. */
export function walNote(path: string): string | null {
  if (!statSync(path).isFile() || existsSync(`${path}-wal`)) return null;
  const start = startOf(path);
  const usesLog = start.charCodeAt(journalVersionAt) === writeAheadLog;
  if (!start.startsWith(sqliteHeader) || !usesLog) return null;
  return `${path} has no ${basename(path)}-wal beside it: if the other product was running when it was copied, its newest changes are missing`;
}

export async function readSources(path: string): Promise<SourceFile[]> {
  return trying(`read ${path}`, async () => {
    if (statSync(path).isFile()) return [await readOne(path, basename(path))];
    const names = (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && readable.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
    if (names.length > maxFiles) {
      throw new OperatorError(`${path} has ${names.length} files: name the folder of one product`, {
        usage: true,
      });
    }
    const sources: SourceFile[] = [];
    for (const name of names)
      sources.push(await readOne(name, name.slice(path.length).replace(/^\/+/, '')));
    return sources;
  });
}
