/** Decides whether the files of an installation belong together, before any of them is opened. */

/** Sizes in bytes; null for a missing file. */
export interface FoundFiles {
  database: string;
  isFolder: boolean;
  databaseBytes: number | null;
  logBytes: number | null;
  keyFile: string;
  hasKeyFile: boolean;
  /** ENCRYPTION_KEY is set, so the key file is not used. */
  hasKeySetting: boolean;
}

/** Advice for a damaged database, as the end of a sentence. */
export const damageAdvice =
  '"control-plane restore <backup>" puts a backup in its place; "control-plane verify" says what is damaged, and "control-plane salvage <new file>" saves what can still be read into a new database';

/** Why the database must not be opened, and what to do; null when it may be opened. */
export function refusalToOpen(found: FoundFiles): string | null {
  const { database, databaseBytes, logBytes, keyFile } = found;
  if (found.isFolder) {
    return `${database} is a folder, not a database: move it away and restore a backup with "control-plane restore <backup>", or set DATABASE_FILE to a file`;
  }
  if (databaseBytes !== null && databaseBytes > 0) return null;
  const state = databaseBytes === null ? 'is missing' : 'is empty (0 bytes)';
  if (logBytes !== null && logBytes > 0) {
    return `the database ${database} ${state}, but its log ${database}-wal holds ${logBytes} bytes: opening it would throw them away. ${damageAdvice}`;
  }
  if (!found.hasKeyFile || found.hasKeySetting) return null;
  return `the database ${database} ${state}, but its key file ${keyFile} is there: a database was here, and a new one would answer every key with 401. Put it back, or restore a backup with "control-plane restore <backup>"; to start anew on purpose, move ${keyFile} away`;
}
