/**
 * Resources that only connect others. A subscription is a row between a channel and a check or group. An
 * assignment is no row of its own: it is part of the settings of the check or group.
 */
import { z } from 'zod';
import { channelSubscription } from '@monitor/shared/contract/alert-channel.ts';
import type {
  ProjectResource,
  ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { knownFields } from '@monitor/shared/known-fields.ts';
import { writeSubscription } from '../checks/index.ts';
import { fromFlag } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import { invalidField } from '../errors/api-error.ts';
import { validate } from '../http/validate.ts';
import { type References, refIn } from './references.ts';

type Fields = Record<string, unknown>;

/** Who subscribes, or is assigned. */
function targetOf(payload: Fields): { type: 'check' | 'check-group'; field: string } {
  return payload['checkId'] == null
    ? { type: 'check-group', field: 'groupId' }
    : { type: 'check', field: 'checkId' };
}

export interface Subscription {
  channelId: number;
  checkId: string | null;
  groupId: number | null;
  activated: boolean;
}

export function parseSubscription(payload: Fields, references: References): Subscription {
  const { type, field } = targetOf(payload);
  const channel = references.target(payload['alertChannelId'], 'alert-channel', 'alertChannelId');
  const { physicalId } = references.target(payload[field], type, field);
  const id = type === 'check' ? physicalId : Number(physicalId);
  const body = validate(
    channelSubscription,
    { checkId: null, groupId: null, activated: payload['activated'] ?? true, [field]: id },
    'payload',
  );
  return { channelId: Number(channel.physicalId), ...body };
}

/** The physical id of a subscription: what it connects. Its row is replaced by changes of either. */
export function nameOf({ channelId, checkId, groupId }: Omit<Subscription, 'activated'>): string {
  return `${channelId} ${checkId === null ? `group ${groupId}` : `check ${checkId}`}`;
}

export function subscriptionNamed(name: string): Omit<Subscription, 'activated'> {
  const [channelId, kind, id = ''] = name.split(' ');
  return {
    channelId: Number(channelId),
    checkId: kind === 'check' ? id : null,
    groupId: kind === 'group' ? Number(id) : null,
  };
}

/** Whether each subscription of these channels is activated, by name. */
export async function subscriptionsOf(
  db: Db,
  accountId: string,
  channelIds: readonly number[],
): Promise<Map<string, boolean>> {
  if (channelIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('alert_subscriptions')
    .select(['channel_id', 'check_id', 'group_id', 'activated'])
    .where('account_id', '=', accountId)
    .where('channel_id', 'in', [...new Set(channelIds)])
    .execute();
  return new Map(
    rows.map((row) => [
      nameOf({ channelId: row.channel_id, checkId: row.check_id, groupId: row.group_id }),
      fromFlag(row.activated),
    ]),
  );
}

export function subscribe(
  db: Db,
  accountId: string,
  { channelId, ...subscription }: Subscription,
): Promise<void> {
  return writeSubscription(db, accountId, channelId, subscription);
}

const any = z.unknown();
/** The fields of what only connects others. */
export const relationFields = knownFields(
  z.object({
    alertChannelId: any,
    privateLocationId: any,
    checkId: any,
    groupId: any,
    activated: any,
  }),
);

export interface Assignment {
  type: 'check' | 'check-group';
  logicalId: string;
}

export const isAssignment = ({ type }: ProjectResource): boolean =>
  type === 'private-location-check-assignment' || type === 'private-location-group-assignment';

/** The check or group that an assignment is part of; `names` are those that the project owns, by id. */
export function parseAssignment(
  { type, payload }: ProjectResource,
  names: (type: ResourceType, physicalId: string) => string | undefined,
): Assignment {
  const of = type === 'private-location-group-assignment' ? 'check-group' : 'check';
  const field = of === 'check' ? 'checkId' : 'groupId';
  const given = payload?.[field];
  const logicalId = refIn(given) ?? names(of, String(given));
  if (logicalId !== undefined) return { type: of, logicalId };
  throw invalidField(field, 'must be a reference such as {"ref": "name"}');
}

export function slugOf({ payload }: ProjectResource, references: References): string {
  const field = 'privateLocationId';
  return references.target(payload?.[field], 'private-location', field).slugName ?? '';
}
