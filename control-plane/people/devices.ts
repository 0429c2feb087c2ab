/** Handlers of the devices of a person that get notifications. */
import { createECDH } from 'node:crypto';
import type { z } from 'zod';
import type { device, deviceRoutes } from '@monitor/shared/contract/device.ts';
import type { Services } from '../core/services.ts';
import { toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { inTransaction } from '../db/unit.ts';
import { invalidField } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { Handlers } from '../http/handlers.ts';
import {
  addDevice,
  type DeviceRow,
  enqueueDeviceTest,
  listDevices,
  outcomeOfTest,
  pushKeys,
  removeDevice,
} from '../notifications/index.ts';
import { personOf } from './handlers.ts';
import { requireSession } from './still-proved.ts';

const toDevice = (row: DeviceRow, sessionId: string): z.input<typeof device> => ({
  ...{ id: row.id, name: row.name, endpointHash: row.endpoint_hash },
  isOfThisSession: row.session_id === sessionId,
  lastSuccessAt: toTimestampOrNull(row.last_success_at),
  created_at: toTimestamp(row.created_at),
});

/** Nothing could be encrypted for a key that is no point of the curve. */
function isPublicKey(text: string): boolean {
  try {
    const ours = createECDH('prime256v1');
    ours.generateKeys();
    ours.computeSecret(text, 'base64url');
    return true;
  } catch {
    return false;
  }
}

export function deviceHandlers(services: Services): Handlers<typeof deviceRoutes> {
  const { db } = services;
  const ownerOf = (principal: ApiPrincipal) => ({
    accountId: principal.accountId,
    ...personOf(principal),
  });
  return {
    getMyDevices: async (_input, { principal }) => {
      const owner = ownerOf(principal);
      const rows = await listDevices(db, owner);
      const devices = rows.map((row) => toDevice(row, owner.sessionId));
      return { publicKey: (await pushKeys(services)).publicKey, devices };
    },

    addMyDevice: async ({ body }, { principal }) => {
      const owner = ownerOf(principal);
      const { endpoint, keys } = body.subscription;
      const { username, password } = new URL(endpoint);
      if (username + password !== '') {
        throw invalidField('subscription.endpoint', 'must not have a user');
      }
      if (!isPublicKey(keys.p256dh)) {
        throw invalidField('subscription.keys.p256dh', 'is no public key of P-256');
      }
      const row = await inTransaction(db, async (unit) => {
        await requireSession(unit, owner);
        return addDevice({ ...services, db: unit }, owner, body);
      });
      return toDevice(row, owner.sessionId);
    },

    testMyDevice: ({ params }, { principal, signal }) =>
      outcomeOfTest(services, signal, (id) =>
        enqueueDeviceTest(services, ownerOf(principal), { id, deviceId: params.id }),
      ),

    removeMyDevice: async ({ params }, { principal }) => {
      // Its messages go with it, which the sender may hold: a transaction is repeated then.
      await inTransaction(db, (unit) => removeDevice(unit, ownerOf(principal), params.id));
      return undefined;
    },
  };
}
