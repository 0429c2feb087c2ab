/**
 * The tables. Modules declare theirs in their `tables.ts`. Instants (`*_at`, `*_for`, `*_until`,
 * `*_before`) are integer milliseconds since the epoch, `*_ms` durations in milliseconds, flags 0 or 1,
 * `*_json` JSON text, ids UUIDs unless said.
 */
import type { Kysely, Selectable } from 'kysely';

export interface Database {
  /** Single facts about the installation, by name. */
  installation: {
    name: string;
    value: string;
  };
}

/** The database, or a transaction. */
export type Db = Kysely<Database>;
/** A row, as it is read. */
export type RowOf<Table extends keyof Database> = Selectable<Database[Table]>;
