/** The private location of the machine on which the control plane runs, for the agent that it starts. */
import { recordAudit } from '../../audit/index.ts';
import { createLocationKey, revokeLocationKey } from '../../accounts/index.ts';
import { sha256Hex } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';
import { resultIdOfAttempt } from '@monitor/shared/domain/run-id.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { maxKeysPerLocation } from '@monitor/shared/contract/private-location.ts';
import { keysOf, lockLocation, type LocationRow } from './store.ts';
import { noResultKeys } from './result-keys.ts';

export const machineSlug = 'this-machine';

const actor = { kind: 'OPERATOR' as const, name: 'serve --with-agent' };

/**
 * Makes the location unless it is there, and gives a key of it: `known` where that still is one. The
 * oldest key makes way for a new one, as nobody but this command has keys of it: the id says that it made
 * the location. Throws for one of that name that people have made.
 */
export async function keyOfMachine(
  services: Pick<Services, 'db' | 'clock' | 'commits' | 'newId'>,
  accountId: string,
  known: string | null,
): Promise<{ rawKey: string; isNew: boolean }> {
  const { clock, newId } = services;
  const id = resultIdOfAttempt(`${accountId}|${machineSlug}`, 0, sha256Hex);
  return services.commits.run(async (unit) => {
    const deps = { db: unit, clock, newId };
    const audit = (operation: string, type: string, id: string) =>
      recordAudit(deps, {
        ...{ accountId, actor, address: null, operation, outcome: 'DONE' },
        resource: { type, id },
      });
    const made: LocationRow = {
      ...{ id, account_id: accountId, name: 'This machine', slug_name: machineSlug },
      ...{
        icon: 'location',
        proxy_url: null,
        ...noResultKeys,
        created_at: clock.now(),
        updated_at: null,
      },
    };
    const { numInsertedOrUpdatedRows: inserted } = await unit
      .insertInto('private_locations')
      .values(made)
      .onConflict((conflict) => conflict.columns(['account_id', 'slug_name']).doNothing())
      .executeTakeFirstOrThrow();
    if (inserted !== 0n) await audit('createPrivateLocation', 'private-locations', made.id);
    const row = await lockLocation(unit, accountId, id);
    if (row?.slug_name !== machineSlug) {
      throw new OperatorError(
        `people have made or renamed the private location "${machineSlug}": rename it so that it is free, or leave --with-agent out`,
      );
    }
    const keys = await keysOf(unit, row);
    if (known !== null && keys.some(({ key_hash: hash }) => hash === sha256Hex(known))) {
      return { rawKey: known, isNew: false };
    }
    for (const { id: oldest } of keys.slice(0, 1 + keys.length - maxKeysPerLocation)) {
      await revokeLocationKey(deps, { accountId, privateLocationId: id }, oldest);
    }
    const key = await createLocationKey(deps, accountId, machineSlug, id);
    await audit('createPrivateLocationKey', 'private-locations', id);
    return { rawKey: key.rawKey, isNew: true };
  });
}
