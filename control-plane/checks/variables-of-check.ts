/** Variables for notifications about a check: those of the account, its group and the check. */
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { isSecretVariable } from '@monitor/shared/domain/secret-variable.ts';
import { isEncryptedVariable } from '../core/decide/credentials.ts';
import { mergeVariables } from './decide/group-settings.ts';
import { groupFieldsOf } from './check-groups/store.ts';
import { fieldsOf, findCheck } from './store.ts';
import type { Services } from '../core/services.ts';
import { accountVariables } from './assemble-check.ts';
import { groupOf } from './effective-check.ts';

export interface OpenedVariable {
  key: string;
  value: string;
  /** Locked or secret: templates may use the value, but nobody sees it. */
  isHidden: boolean;
}

/** Variables of the account only when `checkId` is null or the check was deleted. */
export async function variablesOfCheck(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  accountId: string,
  checkId: string | null,
): Promise<OpenedVariable[]> {
  const row = checkId === null ? undefined : await findCheck(db, accountId, checkId);
  const group = row === undefined ? undefined : await groupOf(db, row);
  const merged = mergeVariables(
    await accountVariables(db, accountId),
    group === undefined ? null : groupFieldsOf(group).environmentVariables,
    row === undefined
      ? null
      : (fieldsOf(row)['environmentVariables'] as EnvironmentVariable[] | null | undefined),
  );
  return merged.map(({ key, value, locked, secret }) => ({
    key,
    value: isEncryptedVariable({ secret, locked })
      ? secrets.decryptStored(value ?? '', accountId)
      : (value ?? ''),
    isHidden: locked || isSecretVariable({ key, secret }),
  }));
}
