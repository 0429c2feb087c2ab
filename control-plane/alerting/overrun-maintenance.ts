/** Notifies the owner of a maintenance that it overruns: its channels, once for each end it had. */
import { fromJson } from '../db/columns.ts';
import { lockRows } from '../db/lock.ts';
import type { Services } from '../core/services.ts';
import { setReached } from '../maintenance/index.ts';
import { enqueueForChannel } from '../notifications/index.ts';
import { channelsById } from './subscribed-channels.ts';

/** Sends one. True when there may be more. */
export async function notifyOverrun({ commits, clock, outbox }: Services): Promise<boolean> {
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
    const window = await unit
      .selectFrom('maintenance_windows')
      .select(['name', 'channel_ids_json'])
      .where('account_id', '=', accountId)
      .where('id', '=', windowId)
      .executeTakeFirstOrThrow();
    const ids = fromJson<number[]>(window.channel_ids_json);
    for (const { id: channelId } of await channelsById(unit, accountId, ids)) {
      const facts = {
        ...({ kind: 'maintenance', at: now, windowId, name: window.name } as const),
        ...{ startedAt: notice.starts_at, plannedEnd: notice.created_at },
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
