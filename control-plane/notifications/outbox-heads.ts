/**
 * Which row of an ordering key comes next: only the oldest one may be sent. A transaction that adds
 * or deletes rows of a key holds its lock until its end: otherwise a new row could see a
 * head whose deletion does not see it, and would wait for ever. Keys are the last locks that a
 * transaction takes.
 */
import { sql, type RawBuilder } from 'kysely';
import { lockKeys } from '../db/lock.ts';
import type { Db } from '../db/tables.ts';

/** Takes the locks of ordering keys. */
export async function lockOrderingKeys(db: Db, keys: readonly string[]): Promise<void> {
  await lockKeys(
    db,
    keys.map((key) => `outbox ${key}`),
  );
}

/** 1 for a new row of a key without other rows, otherwise 0. */
export function comesNext(orderingKey: string | null): RawBuilder<number> | number {
  if (orderingKey === null) return 1;
  return sql<number>`(
    select case when count(*) = 0 then 1 else 0 end from outbox as ahead
    where ahead.ordering_key = ${orderingKey}
  )`;
}

/** After the head of a key was deleted. The lock of the key is held. */
export async function moveUp(db: Db, orderingKey: string): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ comes_next: 1 })
    .where('seq', '=', (of) =>
      of
        .selectFrom('outbox as waiting')
        .select((select) => select.fn.min<number>('waiting.seq').as('seq'))
        .where('waiting.ordering_key', '=', orderingKey),
    )
    .execute();
}
