/**
 * How modules move their instants after a gap, in the transaction that records it, so that no
 * deadline counts lost time. After a step back no stored instant lies in the future. `compose.ts`
 * registers the consumers.
 */
import { sql } from 'kysely';
import type { Database, Db } from '../db/tables.ts';
import type { Gap } from './decide/receivable-time.ts';

export type GapConsumer = (db: Db, gap: Gap) => Promise<void>;

/** Limits stored past instants to now after a step back. */
export async function clampInstants<T extends keyof Database & string>(
  db: Db,
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
