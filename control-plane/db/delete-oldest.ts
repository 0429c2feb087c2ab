import { sql } from 'kysely';
import type { Database, Db } from './tables.ts';

/**
 * Deletes the oldest rows whose instant in a column is before another one. True when there may be more.
 * The columns have an index by age, but for `withdrawn_at`: few maintenance windows are withdrawn.
 */
export async function deleteOldest(
  db: Db,
  table: keyof Database,
  { key = 'seq', column }: { key?: 'seq' | 'id'; column: string },
  before: number,
  atOnce: number,
): Promise<boolean> {
  const oldest = sql<number>`(select ${sql.ref(key)} from ${sql.table(table)}
    where ${sql.ref(column)} < ${before} order by ${sql.ref(column)} limit ${atOnce})`;
  // One table stands for all: Kysely finds no type for a union of them.
  const { numDeletedRows } = await db
    .deleteFrom(table as 'roll_ups')
    .where(sql.ref<number>(key), 'in', oldest)
    .executeTakeFirst();
  return Number(numDeletedRows) >= atOnce;
}
