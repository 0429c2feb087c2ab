/**
 * The credentials of checks and groups, as their schemas mark them. Only these are stored encrypted; all other
 * fields stay searchable. All headers, query parameters and metadata are encrypted, because their
 * names do not show which ones carry a credential.
 */
import { createCheckGroupBody } from '@monitor/shared/contract/check-group.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { knownFields, mapSensitive } from '@monitor/shared/known-fields.ts';

type Fields = Record<string, unknown>;

/** True for variables whose stored values are encrypted. */
export function isEncryptedVariable({ secret, locked }: { secret: boolean; locked: boolean }) {
  return secret || locked;
}

/** Keys, of which each may carry `rawKey`, with `map` applied to it. */
export function mapRawKeys(keys: readonly Fields[], map: (rawKey: string) => string): Fields[] {
  return keys.map((key) =>
    typeof key['rawKey'] === 'string' ? { ...key, rawKey: map(key['rawKey']) } : key,
  );
}

/** The fields of checks of all types and of groups; one that any of them marks is a credential in each. */
const fieldsOfAny = knownFields(
  ...Object.values(checkTypes).map(({ create }) => create),
  createCheckGroupBody,
);

/** `locked`: secret variables stay encrypted while a check is changed, because nobody sees them. */
type Variables = 'locked' | 'encrypted';

/** The same fields with `map` applied to every credential that is not empty. */
export function mapCredentials<F extends object>(
  fields: F,
  replace: (value: string) => string,
  variables: Variables = 'locked',
): F {
  const map = (value: unknown): unknown =>
    typeof value === 'string' && value !== '' ? replace(value) : value;
  return mapSensitive(fieldsOfAny, fields, (is, value) => {
    // Addresses stay searchable.
    if (is === 'address' || is === 'capability') return value;
    if (is === 'secret') return map(value);
    const entry = value as EnvironmentVariable;
    const isMapped =
      is !== 'variable' ||
      (variables === 'encrypted' ? isEncryptedVariable(entry) : entry.locked && !entry.secret);
    return isMapped ? { ...entry, value: map(entry.value) } : entry;
  });
}
