/** Devices of people that get notifications by Web Push, and the keys of this installation for it. */
import type { z } from 'zod';
import type { pushSubscription } from '@monitor/shared/contract/device.ts';
import { recordAudit } from '../audit/index.ts';
import { encryptedFacts } from '../core/encrypted-facts.ts';
import { sha256Hex } from '../core/keys.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import type { Services } from '../core/services.ts';
import { fromJson } from '../db/columns.ts';
import { addFact, readFact } from '../db/installation.ts';
import { keepRows } from '../db/lock.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { Attempt } from './attempt.ts';
import type { AlertFacts } from './facts.ts';
import { enqueueMessages, type QueuedMessage } from './outbox.ts';

export type DeviceRow = RowOf<'push_devices'>;
export type PushSubscription = z.output<typeof pushSubscription>;

const maxDevices = 20;

/** Loaded with the first device: a bundle names nothing but the default export of this package. */
export const webPush = async () => (await import('web-push')).default;

interface PushKeys {
  publicKey: string;
  privateKey: string;
}

/** Made once per installation. With new ones, after the encryption key was lost, devices are turned on again. */
export async function pushKeys({
  db,
  secrets,
}: Pick<Services, 'db' | 'secrets'>): Promise<PushKeys> {
  const { push: fact } = encryptedFacts;
  const read = (value: string) => fromJson<PushKeys>(secrets.decrypt(value, ''));
  const known = await readFact(db, fact);
  if (known !== undefined) return read(known);
  const made = JSON.stringify((await webPush()).generateVAPIDKeys());
  return read(await addFact(db, fact, secrets.encrypt(made, '')));
}

/** Null for one that cannot be read any more. */
export function subscriptionOf(secrets: SecretCipher, device: DeviceRow): PushSubscription | null {
  try {
    return fromJson(secrets.decrypt(device.subscription_encrypted, device.account_id));
  } catch {
    return null;
  }
}

interface Owner {
  accountId: string;
  personId: string;
}

export function listDevices(db: Db, { accountId, personId }: Owner): Promise<DeviceRow[]> {
  return ownRows(db, 'push_devices', accountId)
    .where('person_id', '=', personId)
    .orderBy('id')
    .execute();
}

/** Says in the audit log of its account why a device was removed, where its person did not do it. */
function recordRemoval(
  services: Pick<Services, 'db' | 'clock' | 'newId'>,
  { id, account_id: accountId, name }: Pick<DeviceRow, 'id' | 'account_id' | 'name'>,
  by: string,
): Promise<void> {
  return recordAudit(services, {
    ...{ accountId, actor: { kind: 'NOBODY', name: by }, address: null },
    ...{ operation: 'removeMyDevice', outcome: 'DONE' },
    resource: { type: 'devices', id: String(id) },
    before: { name },
  });
}

/** Adds a device of a person who is locked, or changes it. What another person had in this browser ends. */
export async function addDevice(
  services: Pick<Services, 'db' | 'clock' | 'secrets' | 'newId'>,
  { accountId, personId, sessionId }: Owner & { sessionId: string },
  { name, subscription }: { name: string; subscription: PushSubscription },
): Promise<DeviceRow> {
  const { db: unit, clock, secrets } = services;
  const endpointHash = sha256Hex(subscription.endpoint);
  const ended = await unit
    .deleteFrom('push_devices')
    .where('endpoint_hash', '=', endpointHash)
    .where('person_id', '<>', personId)
    .returning(['id', 'account_id', 'name'])
    .execute();
  for (const row of ended) await recordRemoval(services, row, 'another person in the same browser');
  const others = (await listDevices(unit, { accountId, personId })).filter(
    (row) => row.endpoint_hash !== endpointHash,
  );
  if (others.length >= maxDevices) {
    throw new ApiError('CONFLICT', `you have ${maxDevices} devices; remove one first`);
  }
  const changes = {
    session_id: sessionId,
    name,
    subscription_encrypted: secrets.encrypt(JSON.stringify(subscription), accountId),
  };
  return unit
    .insertInto('push_devices')
    .values({
      ...{ account_id: accountId, person_id: personId, endpoint_hash: endpointHash },
      ...{ ...changes, created_at: clock.now() },
    })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'person_id', 'endpoint_hash']).doUpdateSet(changes),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** What waits for it is deleted, too. */
export async function removeDevice(
  db: Db,
  { accountId, personId }: Owner,
  id: number,
): Promise<void> {
  const { numDeletedRows } = await deleteOwnRows(db, 'push_devices', accountId)
    .where('person_id', '=', personId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw notFound('device', String(id));
}

/** Adds a test with this id to the outbox, in a transaction of its own. */
export async function enqueueDeviceTest(
  { commits, clock, replicas }: Pick<Services, 'commits' | 'clock' | 'replicas'>,
  { accountId, personId }: Owner,
  { id, deviceId }: { id: string; deviceId: number },
): Promise<void> {
  const now = clock.now();
  const facts = { kind: 'test' as const, isOfDevice: true as const, at: now };
  const forReplica = replicas.isAlone ? null : replicas.id;
  await commits.run(async (unit) => {
    // It is not removed before the test refers to it.
    const device = await keepRows(
      ownRows(unit, 'push_devices', accountId)
        .where('person_id', '=', personId)
        .where('id', '=', deviceId),
    ).executeTakeFirst();
    if (device === undefined) throw notFound('device', String(deviceId));
    const test = { id, orderingKey: id, deviceId, facts };
    await enqueueMessages(unit, accountId, [test], now, forReplica);
  });
}

/** An alert for all devices of these people; `idFor` gives the id for a recipient. */
export async function pushesTo(
  db: Db,
  accountId: string,
  people: readonly { id: string }[],
  facts: AlertFacts,
  idFor: (to: string) => string,
): Promise<QueuedMessage[]> {
  if (people.length === 0) return [];
  const ids = people.map(({ id }) => id);
  const devices = await ownRows(db, 'push_devices', accountId)
    .where('person_id', 'in', ids)
    .orderBy('id')
    .execute();
  return devices.map(({ id }) => ({
    id: idFor(`device ${id}`),
    orderingKey: `${facts.check.id}/device ${id}`,
    deviceId: id,
    facts,
  }));
}

/** In the transaction that records the outcome. A device that its push service does not know any more is removed. */
export async function noteSent(
  services: Pick<Services, 'db' | 'clock' | 'newId'>,
  { account_id: accountId, device_id: id }: { account_id: string; device_id: number },
  attempt: Attempt,
): Promise<void> {
  const { db: unit, clock } = services;
  if (attempt.outcome === 'delivered') {
    await updateOwnRows(unit, 'push_devices', accountId)
      .set({ last_success_at: clock.now() })
      .where('id', '=', id)
      .execute();
  }
  if (attempt.outcome !== 'failed' || attempt.goneBy === undefined) return;
  const gone = await deleteOwnRows(unit, 'push_devices', accountId)
    .where('id', '=', id)
    .returning(['id', 'account_id', 'name'])
    .executeTakeFirst();
  if (gone !== undefined) await recordRemoval(services, gone, attempt.goneBy);
}
