/**
 * What modules do with their instants after a gap, in the transaction that records it: no deadline counts
 * time in which nothing could be received. After a step back of the clock nothing lies in the future.
 * `compose.ts` registers them.
 */
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { Gap } from './decide/receivable-time.ts';

export type GapConsumer = (db: Kysely<Database>, gap: Gap) => Promise<void>;

/** Instants since when something lasts, or when it was last seen: after a step back none is later than now. */
export async function clampInstants<T extends keyof Database & string>(
  db: Kysely<Database>,
  { stepMs, to }: Gap,
  table: T,
  columns: readonly (keyof Database[T] & string)[],
): Promise<void> {
  if (stepMs >= 0) return;
  for (const column of columns) {
    await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${to}
      where ${sql.ref(column)} > ${to}`.execute(db);
  }
}
