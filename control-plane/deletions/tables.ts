/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    held_deletions: {
      id: string;
      account_id: string;
      /** Of the entry in the API. */
      path: string;
      name: string;
      /** What deletes the entry, with its parsed input, and for whom. */
      operation: string;
      input_json: string;
      principal_json: string;
      /** Of a check. */
      was_active: number;
      /** It cannot be undone any more, unless it fails. */
      is_begun: Generated<number>;
      /** Why it failed. */
      problem: string | null;
      /** The end of the minute; of one that has failed, when it is forgotten. */
      due_at: number;
    };
  }
}
