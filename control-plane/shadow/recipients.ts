/** Who gets the daily report. */
import { includesRole } from '@monitor/shared/contract/route.ts';
import type { AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import { refuseUnknownIds } from '../core/ids-in-fields.ts';
import { fromJson } from '../db/columns.ts';
import { eachNumberOf } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { invalidField } from '../errors/api-error.ts';
import { keepsOpen } from '../notifications/index.ts';
import { listMembers } from '../people/index.ts';

const channelsAmong = (db: Db, accountId: string, ids: readonly number[]) =>
  ownRows(db, 'alert_channels', accountId)
    .where('id', 'in', eachNumberOf(ids))
    .orderBy('id')
    .execute();

/** Throws 400 for a channel that the account does not have, or that would page somebody each day. */
export async function refuseChannels(
  db: Db,
  accountId: string,
  alertChannelIds: readonly number[],
): Promise<void> {
  const field = 'alertChannelIds';
  await refuseUnknownIds(db, accountId, { [field]: 'alert_channels' }, { alertChannelIds });
  const channels = await channelsAmong(db, accountId, alertChannelIds);
  const paging = channels.find(({ type }) => keepsOpen(type as AlertChannelType));
  if (paging === undefined) return;
  throw invalidField(
    field,
    `has ${paging.id}, and ${paging.type} opens an incident that nothing closes`,
  );
}

/** The channels that were named, as far as they exist; else the administrators. */
export async function recipientsOf(
  db: Db,
  { account_id: accountId, channel_ids_json }: RowOf<'shadows'>,
) {
  const ids = fromJson<number[]>(channel_ids_json);
  const channels = await channelsAmong(db, accountId, ids);
  if (channels.length > 0) return { channels, people: [] };
  const members = await listMembers(db, accountId);
  return { channels, people: members.filter(({ role }) => includesRole(role, 'ADMIN')) };
}
