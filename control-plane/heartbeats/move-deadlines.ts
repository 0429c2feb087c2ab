import { sql } from 'kysely';
import { smallerOf } from '../db/expressions.ts';
import type { Db, RowOf } from '../db/tables.ts';
import {
  type Gap,
  type GapConsumer,
  losesRequests,
  lostSince,
  readGaps,
  shiftOf,
} from '../reception/index.ts';
import type { Outage } from '../replicas/index.ts';
import { excusedUntil, maxPeriods } from './decide/heartbeat.ts';
import { heartbeatOf } from './heartbeat-of.ts';

/**
 * A ping that was due by the end of the gap may be lost, and its job sends the next one only when
 * it is due again: such a monitor waits until then.
 */
async function excusePings(db: Db, gap: Gap): Promise<void> {
  const { to } = gap;
  const rows = await db
    .selectFrom('heartbeats')
    .selectAll()
    .where('fails_at', 'is not', null)
    .where(sql<boolean>`fails_at < ${to} + period_ms + grace_ms`)
    .where(sql<boolean>`expected_at - ${smallerOf(sql`5000`, sql`period_ms / 10`)} <= ${to}`)
    .execute();
  if (rows.length === 0) return;
  const gaps = await readGaps(db);
  for (const row of rows) {
    const lastAt = row.last_ping_at ?? to;
    const wholeMs = row.period_ms + row.grace_ms;
    if (to - lastAt - lostSince(lastAt, gaps) >= maxPeriods * wholeMs) continue;
    await db
      .updateTable('heartbeats')
      .set({ fails_at: Math.max(row.fails_at ?? 0, heartbeatOf(row).dueAfter(to) + row.grace_ms) })
      .where('check_id', '=', row.check_id)
      .execute();
  }
}

/**
 * Puts the deadline of a monitor off when its ping may have been lost by another replica. True when it
 * did.
 */
export async function excuseByOthers(
  db: Db,
  row: RowOf<'heartbeats'>,
  outages: readonly Outage[],
  now: number,
): Promise<boolean> {
  const failsAt = excusedUntil(heartbeatOf(row), outages, now);
  if (failsAt === null) return false;
  await db
    .updateTable('heartbeats')
    .set({ fails_at: failsAt })
    .where('check_id', '=', row.check_id)
    .execute();
  return true;
}

/** Moves the deadlines of monitors after a gap. */
export const moveHeartbeats: GapConsumer = async (db, gap) => {
  const { from, to, lostMs, stepMs } = gap;
  await db
    .updateTable('heartbeats')
    .set((set) => ({
      last_ping_at: set('last_ping_at', '+', stepMs),
      expected_at: set('expected_at', '+', stepMs),
      started_at: set('started_at', '+', stepMs),
      fails_at: set('fails_at', '+', shiftOf(gap)),
    }))
    .where('fails_at', 'is not', null)
    .execute();
  if (lostMs === 0) return;
  if (losesRequests(gap)) await excusePings(db, gap);
  // A ping that was sent in the gap and is read afterwards counts as on time.
  await db
    .updateTable('heartbeats')
    .set({ expected_at: to })
    .where('fails_at', 'is not', null)
    .where('expected_at', '>', from)
    .where('expected_at', '<', to)
    .execute();
};
