/** Test notifications, and notifications that are sent again. */
import type { Role } from '@monitor/shared/contract/route.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import { fromJson } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { type AlertFacts, enqueueAlert, enqueueForChannel } from '../notifications/index.ts';
import { findChannel } from './alert-channels/store.ts';
import { toNotification, type NotificationRow } from './alerts/store.ts';
import type { Services } from '../core/services.ts';

/** Adds a test notification with this id to the outbox. */
export async function enqueueTest(
  services: Services,
  accountId: string,
  channelId: number,
  id: string,
): Promise<void> {
  const { commits, clock, replicas } = services;
  await commits.run(async (unit) => {
    if ((await findChannel(unit, accountId, channelId)) === undefined) {
      throw notFound('alert channel', String(channelId));
    }
    const now = clock.now();
    const envelope = {
      id,
      accountId,
      now,
      ...(replicas.isAlone ? {} : { forReplica: replicas.id }),
    };
    await enqueueForChannel(unit, channelId, { kind: 'test', at: now }, envelope);
  });
}

async function getNotification(db: Db, accountId: string, id: string): Promise<NotificationRow> {
  return ownRows(db, 'alert_notifications', accountId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('alert notification', id));
}

/** Sends the content of an earlier notification again; gives the new record. */
export async function redeliver(
  services: Services,
  accountId: string,
  notificationId: string,
  role: Role,
): Promise<ReturnType<typeof toNotification>> {
  const { commits, clock, newId, secrets } = services;
  return commits.run(async (unit) => {
    const before = await getNotification(unit, accountId, notificationId);
    const channel = await findChannel(unit, accountId, before.alert_channel_id);
    if (channel === undefined) {
      throw new ApiError('CONFLICT', 'the channel of this notification does not exist any more');
    }
    if (before.facts_json === null) {
      throw new ApiError('CONFLICT', 'what this notification said was not kept');
    }
    const id = newId();
    await enqueueAlert(
      unit,
      { id: channel.id, type: channel.type, configJson: channel.config_json },
      fromJson<AlertFacts>(before.facts_json),
      { id, accountId, now: clock.now() },
    );
    return toNotification(await getNotification(unit, accountId, id), role, secrets);
  });
}
