import type { Db } from '../db/tables.ts';
import { olderThan } from '../results/index.ts';

const eventsAtOnce = 500;

/** Deletes events before an instant, oldest first. True when there may be more. */
export async function pruneHeartbeatEvents(db: Db, before: number): Promise<boolean> {
  const rows = await db
    .selectFrom('heartbeat_events')
    .select(['seq', 'happened_at'])
    .orderBy('seq')
    .limit(eventsAtOnce)
    .execute();
  const last = olderThan(rows, before, (row) => row.happened_at).at(-1);
  if (last === undefined) return false;
  const { numDeletedRows } = await db
    .deleteFrom('heartbeat_events')
    .where('seq', '<=', last.seq)
    .executeTakeFirst();
  return Number(numDeletedRows) === eventsAtOnce;
}
