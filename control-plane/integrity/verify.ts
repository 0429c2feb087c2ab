/** Verifies a database: its structure, its log, every payload and every JSON column. */
import { existsSync } from 'node:fs';
import { encryptedPrefix } from '../core/secret-cipher.ts';
import { payloadText, type StoredPayload } from '../db/columns.ts';
import { integrityProblems, openRaw, type RawDatabase } from '../db/open.ts';
import { describeFailure } from '../errors/operator-error.ts';
import { refusalToOpen } from './decide-opening.ts';
import { commitsBehindDamage, findFiles } from './files.ts';
import { isServed } from './serving-lock.ts';

export interface Verification {
  database: string;
  ok: boolean;
  /** At most a hundred, as text. */
  problems: string[];
}

export const maxProblems = 100;

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Numbers of the results whose payload is not what was written. */
export function damagedPayloads(database: RawDatabase): number[] {
  const columns = database.prepare('select name from pragma_table_info(?)').pluck();
  const names = columns.all('result_payloads') as string[];
  if (names.length === 0) return [];
  const checksum = names.includes('checksum') ? 'checksum' : 'null as checksum';
  const rows = database
    .prepare(`select result_seq, encoding, payload, ${checksum} from result_payloads`)
    .iterate() as Iterable<StoredPayload & { result_seq: number }>;
  const damaged: number[] = [];
  for (const row of rows) if (payloadText(row) === null) damaged.push(row.result_seq);
  return damaged;
}

function payloadProblems(database: RawDatabase): string[] {
  const damaged = damagedPayloads(database);
  if (damaged.length === 0) return [];
  return [
    `result_payloads: ${damaged.length} payloads are not what was written (result_seq ${damaged.slice(0, 10).join(', ')}${damaged.length > 10 ? ', …' : ''})`,
  ];
}

/** Columns of JSON, each with the condition that finds the values which are not. */
export function jsonColumns(
  database: RawDatabase,
): { table: string; column: string; isDamaged: string }[] {
  const columns = database
    .prepare(
      `select tables.name as "table", columns.name as "column"
       from pragma_table_list as tables, pragma_table_xinfo(tables.name) as columns
       where tables.schema = 'main' and columns.name like '%\\_json' escape '\\'`,
    )
    .all() as { table: string; column: string }[];
  return columns.map(({ table, column }) => ({
    table,
    column,
    // Values that are encrypted are JSON only once they are decrypted, for which this has no key.
    isDamaged: `"${column}" is not null and not json_valid("${column}")
      and substr("${column}", 1, ${encryptedPrefix.length}) <> '${encryptedPrefix}'`,
  }));
}

/** An empty file is a database without tables, so a backup of which nothing is left looks whole. */
function foreignProblems(database: RawDatabase): string[] {
  const tables = database.prepare("select 1 from sqlite_schema where name = 'kysely_migration'");
  return tables.get() === undefined ? ['it has no tables of a control plane'] : [];
}

function jsonProblems(database: RawDatabase): string[] {
  return jsonColumns(database).flatMap(({ table, column, isDamaged }) => {
    const select = database.prepare(`select count(*) from "${table}" where ${isDamaged}`);
    const count = select.pluck().get() as number;
    return count === 0 ? [] : [`${table}.${column}: ${count} values are not JSON`];
  });
}

/**
 * Verifies a database file, in use or not; changes nothing. `quick` checks only the structure,
 * without comparing indexes with their tables.
 */
export function verifyDatabase(file: string, { quick = false } = {}): Verification {
  const result = (problems: string[]): Verification => ({
    database: file,
    ok: problems.length === 0,
    problems: problems.slice(0, maxProblems),
  });
  const refusal = refusalToOpen(findFiles(file, false));
  if (refusal !== null) return result([refusal]);
  if (!existsSync(file)) return result([`there is no database at ${file}`]);
  const problems: string[] = [];
  const look = (what: string, find: () => string[]): void => {
    try {
      problems.push(...find());
    } catch (error) {
      problems.push(`${what}: ${textOf(error)}`);
    }
  };
  try {
    if (!isServed(file)) {
      const ignored = commitsBehindDamage(file);
      if (ignored > 0) problems.push(logDamage(file, ignored));
    }
  } catch (error) {
    problems.push(`the log cannot be read: ${describeFailure(error)}`);
  }
  look('the structure cannot be read', () => integrityProblems(file, { quick, most: 50 }));
  let database: RawDatabase | null = null;
  try {
    database = openRaw(file, { fileMustExist: true, readonly: true });
    const opened = database;
    look('the tables', () => foreignProblems(opened));
    if (quick) return result([...new Set(problems)]);
    look('result_payloads', () => payloadProblems(opened));
    look('columns with JSON', () => jsonProblems(opened));
  } catch (error) {
    problems.push(textOf(error));
  } finally {
    database?.close();
  }
  return result([...new Set(problems)]);
}

/** Explains a log with commits after a damaged place. */
export function logDamage(file: string, ignoredCommits: number): string {
  return `the log ${file}-wal is damaged: ${ignoredCommits} commits stand behind the damage, and would be dropped without a word when the database is opened`;
}
