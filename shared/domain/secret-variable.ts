/** Names of variables that are always secret. Spec: Versioning, 6.1.2. */
export const secretName = /^(SERVICE|CHECKLY)_SECRET_/;

/**
 * True for a variable whose value must not leave the agent: declared as secret, or named
 * `SERVICE_SECRET_…` (compatibility: existing scripts use `CHECKLY_SECRET_…`).
 */
export function isSecretVariable({ key, secret }: { key: string; secret: boolean }): boolean {
  return secret || secretName.test(key);
}
