/** Variables of an account. Values of secret and of locked ones are stored encrypted. */
import type { z } from 'zod';
import type { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { isEncryptedVariable } from '../../core/decide/credentials.ts';
import { seesLockedValues } from '../../core/decide/hidden-values.ts';
import type { Services } from '../../core/services.ts';
import { fromFlag, toFlag } from '../../db/columns.ts';
import { invalidField, takenField } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { entryHandlers, listPages, resourceOf } from '../../resources/index.ts';
import { changeEnvironment } from '../environment-changed.ts';

type VariableFields = z.output<typeof variableRoutes.createVariable.body>;

export function variablesOf(services: Services) {
  const { secrets } = services;
  return resourceOf(services, {
    ...({ table: 'variables', noun: 'variable', key: 'key' } as const),
    fieldsOf(row, changes): VariableFields {
      const kept = { locked: fromFlag(row.locked), secret: fromFlag(row.secret) };
      const plain = isEncryptedVariable(kept)
        ? (changes?.value ?? secrets.decryptStored(row.value, row.account_id))
        : row.value;
      return { key: row.key, value: plain, ...kept };
    },
    toColumns({ key, value, locked, ...fields }: VariableFields, { accountId, before }) {
      if (before !== null && key !== before.key) {
        throw invalidField('key', 'cannot change; delete the variable and create another');
      }
      const secret = fields.secret || (before !== null && fromFlag(before.secret));
      return {
        ...{ key, locked: toFlag(locked), secret: toFlag(secret) },
        value: isEncryptedVariable({ secret, locked }) ? secrets.encrypt(value, accountId) : value,
      };
    },
    taken: ({ key }) => takenField('key', key),
    // Nobody sees a secret, so none has to be decrypted.
    present: (rows, { role }) =>
      rows.map((row) => {
        const [secret, locked] = [fromFlag(row.secret), fromFlag(row.locked)];
        const isHidden = secret || (locked && !seesLockedValues(role));
        const value = !locked
          ? row.value
          : isHidden
            ? null
            : secrets.decryptStored(row.value, row.account_id);
        return { key: row.key, value: isHidden ? null : value, locked, secret };
      }),
    commit: (accountId, work) => changeEnvironment(services, accountId, work),
  });
}

export function variableHandlers(services: Services): Handlers<typeof variableRoutes> {
  const variables = variablesOf(services);
  return { listVariables: listPages(variables), ...entryHandlers('Variable', 'key', variables) };
}
