/** Handlers of account variables. */
import type { Selectable } from 'kysely';
import type { Role } from '@monitor/shared/contract/route.ts';
import type { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { invalidField, notFound, takenField } from '../../errors/api-error.ts';
import { fromFlag, toFlag } from '../../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import type { VariablesTable } from '../tables.ts';
import { isEncryptedVariable } from '../../core/decide/credentials.ts';
import { seesLockedValues } from '../../core/decide/hidden-values.ts';
import type { Handlers } from '../../http/implement.ts';
import { changeEnvironment } from '../environment-changed.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';
import type { Services } from '../../core/services.ts';

function toWire(row: Selectable<VariablesTable>, role: Role, secrets: SecretCipher) {
  const secret = fromFlag(row.secret);
  const locked = fromFlag(row.locked);
  const isHidden = secret || (locked && !seesLockedValues(role));
  const value = isHidden
    ? null
    : locked
      ? secrets.decryptStored(row.value, row.account_id)
      : row.value;
  return { key: row.key, value, locked, secret };
}

export function variableHandlers(services: Services): Handlers<typeof variableRoutes> {
  const { db, clock, secrets } = services;

  const find = (accountId: string, key: string) =>
    ownRows(db, 'variables', accountId).where('key', '=', key).executeTakeFirst();

  return {
    listVariables: async ({ query }, { principal, setTotal }) => {
      const variables = ownRows(db, 'variables', principal.accountId).orderBy('key');
      const { rows, total, offset } = await readPage(variables, query);
      setTotal(total, offset, rows.length);
      return rows.map((row) => toWire(row, principal.role, secrets));
    },

    createVariable: async ({ body }, { principal }) => {
      const { accountId } = principal;
      const row = await changeEnvironment(services, accountId, async (unit) => {
        return unit
          .insertInto('variables')
          .values({
            account_id: accountId,
            key: body.key,
            value: isEncryptedVariable(body) ? secrets.encrypt(body.value, accountId) : body.value,
            locked: toFlag(body.locked),
            secret: toFlag(body.secret),
            created_at: clock.now(),
            updated_at: null,
          })
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .executeTakeFirstOrThrow(() => takenField('key', body.key));
      });
      return toWire(row, principal.role, secrets);
    },

    getVariable: async ({ params }, { principal }) => {
      const row = await find(principal.accountId, params.key);
      if (row === undefined) throw notFound('variable', params.key);
      return toWire(row, principal.role, secrets);
    },

    updateVariable: async ({ params, body }, { principal }) => {
      const { accountId } = principal;
      const before = await find(accountId, params.key);
      if (before === undefined) throw notFound('variable', params.key);
      if (body.key !== undefined && body.key !== params.key) {
        throw invalidField('key', 'cannot change; delete the variable and create another');
      }
      const wasSecret = fromFlag(before.secret);
      const secret = wasSecret || (body.secret ?? false);
      const locked = body.locked ?? fromFlag(before.locked);
      const wasEncrypted = isEncryptedVariable({
        secret: wasSecret,
        locked: fromFlag(before.locked),
      });
      const plain =
        body.value ??
        (wasEncrypted ? secrets.decryptStored(before.value, accountId) : before.value);
      const after = {
        value: isEncryptedVariable({ secret, locked }) ? secrets.encrypt(plain, accountId) : plain,
        locked: toFlag(locked),
        secret: toFlag(secret),
        updated_at: clock.now(),
      };
      await changeEnvironment(services, accountId, (unit) =>
        updateOwnRows(unit, 'variables', accountId)
          .set(after)
          .where('key', '=', params.key)
          .execute(),
      );
      return toWire({ ...before, ...after }, principal.role, secrets);
    },

    deleteVariable: async ({ params }, { principal }) => {
      const { accountId } = principal;
      await changeEnvironment(services, accountId, async (unit) => {
        const { numDeletedRows } = await deleteOwnRows(unit, 'variables', accountId)
          .where('key', '=', params.key)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw notFound('variable', params.key);
      });
      return undefined;
    },
  };
}
