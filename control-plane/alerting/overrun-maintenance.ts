/** Notifies the owner of a maintenance that it overruns: its channels, once for each end it had. */
import { fromJson } from '../db/columns.ts';
import { lockRows } from '../db/lock.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Services } from '../core/services.ts';
import {
  noChange,
  occurrenceAt,
  plannedEnd,
  setReached,
  windowsFromRows,
} from '../maintenance/index.ts';
import { enqueueForChannel } from '../notifications/index.ts';
import { channelsById } from './subscribed-channels.ts';

/** Sends one. True when there may be more. */
export async function notifyOverrun({
  commits,
  clock,
  outbox,
  logger,
}: Services): Promise<boolean> {
  const hasOne = await commits.run(async (unit) => {
    const due = unit
      .selectFrom('maintenance_updates')
      .selectAll()
      .where('kind', '=', 'OVERRUN')
      .where('finished_at', 'is', null)
      .where('due_at', 'is not', null)
      .orderBy('seq')
      .limit(1);
    const notice = await lockRows(due, { skipLocked: true }).executeTakeFirst();
    if (notice === undefined) return false;
    const { account_id: accountId, window_id: windowId } = notice;
    const now = clock.now();
    const rows = await ownRows(unit, 'maintenance_windows', accountId)
      .where('id', '=', windowId)
      .execute();
    const [window] = await windowsFromRows(unit, accountId, rows);
    const occurrence = window && occurrenceAt(window, notice.starts_at);
    const ids = rows.flatMap((row) => fromJson<number[]>(row.channel_ids_json));
    const channels = occurrence === undefined ? [] : await channelsById(unit, accountId, ids);
    if (channels.length === 0) {
      logger.warn({ accountId, windowId }, 'maintenance overruns, and no channel is notified');
    }
    for (const { id: channelId } of channels) {
      if (window === undefined || occurrence === undefined) break;
      const { begunAt } = window.changes.get(notice.starts_at) ?? noChange;
      const facts = {
        ...({ kind: 'maintenance', at: now, windowId, name: window.name } as const),
        ...{ startedAt: begunAt ?? notice.starts_at, plannedEnd: plannedEnd(window, occurrence) },
        incidentKey: `maintenance-${notice.id}`,
      };
      const id = `${channelId}.${notice.id}`;
      await enqueueForChannel(unit, channelId, facts, { id, accountId, now });
    }
    await setReached(unit, accountId, notice.id, { finished_at: now });
    return true;
  });
  if (hasOne) outbox.wake();
  return hasOne;
}
