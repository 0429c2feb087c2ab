/** A format of another product, and what its files become here. Converters are pure. */
import type { SourceTables } from '../db/read-sqlite-file.ts';
import type { Plan } from './plan.ts';

/** A file of a source: its text, or the tables of a database. */
export interface SourceFile {
  /** Relative to what was named on the command line. */
  path: string;
  text: string;
  /** Null for any file but a database. */
  tables: SourceTables | null;
}

export interface Mover {
  /** Its name in the documentation. */
  title: string;
  /** True when the files are of this format. */
  recognises(files: readonly SourceFile[]): boolean;
  /** Whether it looks into a file; the others are named. */
  reads(file: SourceFile): boolean;
  /** Writes into the plan. Throws `SourceError` for files that cannot be used. */
  convert(files: readonly SourceFile[], plan: Plan): void;
}

export { SourceError } from './source-object.ts';
