/** Which values a role may see. Nobody sees secrets; roles that may write see locked values. */
import type { EnvironmentVariable, KeyValuePair } from '@monitor/shared/contract/primitives.ts';
import { includesRole, type Role } from '@monitor/shared/contract/route.ts';

/** True when a role sees the values of locked variables, headers and query parameters. */
export function seesLockedValues(role: Role): boolean {
  return includesRole(role, 'READ_WRITE');
}

/** Variables for a role; hidden values are null. */
export function presentVariables<V extends EnvironmentVariable>(
  variables: readonly V[] | null,
  role: Role,
): V[] | null {
  if (variables === null) return null;
  const seesLocked = seesLockedValues(role);
  return variables.map((variable) =>
    variable.secret || (variable.locked && !seesLocked) ? { ...variable, value: null } : variable,
  );
}

/** Names of headers and query parameters that hold credentials, whether locked or not. */
const credentialName =
  /auth|cookie|token|secret|passw|signature|credential|session|(api|access|private|subscription|functions|master|^)[-_]?key$/i;

/** Headers or query parameters for a role; hidden values are empty. */
export function presentPairs<P extends KeyValuePair>(pairs: readonly P[], role: Role): P[] {
  if (seesLockedValues(role)) return [...pairs];
  return pairs.map((pair) =>
    pair.locked || credentialName.test(pair.key) ? { ...pair, value: '' } : pair,
  );
}

type Fields = Record<string, unknown>;

/** Credential fields, whether locked or not. */
const credentials = ['webhookSecret', 'serviceKey', 'apiKey'];

/**
 * A request, the defaults of a group, or the configuration of a channel for a role. Locked headers
 * and query parameters, passwords and keys are empty for roles that may not write.
 */
export function presentCredentials(holder: unknown, role: Role): unknown {
  if (seesLockedValues(role) || typeof holder !== 'object' || holder === null) return holder;
  const shown: Fields = { ...holder };
  for (const name of ['headers', 'queryParameters', 'metadata']) {
    const pairs = shown[name];
    if (Array.isArray(pairs)) shown[name] = presentPairs(pairs as KeyValuePair[], role);
  }
  for (const name of credentials) if (typeof shown[name] === 'string') shown[name] = '';
  const auth = shown['basicAuth'];
  if (typeof auth === 'object' && auth !== null) shown['basicAuth'] = { ...auth, password: '' };
  if ('grpcConfig' in shown) shown['grpcConfig'] = presentCredentials(shown['grpcConfig'], role);
  if (typeof shown['url'] === 'string') shown['url'] = presentUrl(shown['url'], role);
  return shown;
}

/**
 * A URL for a role. For roles that may not write, it has no user and password, and no values of
 * query parameters that hold credentials.
 */
export function presentUrl(url: string | null, role: Role): string | null {
  if (seesLockedValues(role) || url === null) return url;
  return url
    .replace(/\/\/[^@/]*@/, '//')
    .replace(/([?&])([^=&#]+)=[^&#]*/g, (pair, before: string, name: string) =>
      credentialName.test(name) ? `${before}${name}=` : pair,
    );
}

/**
 * The configuration of an alert channel for a role. The URL of an incoming webhook is itself a
 * credential, so roles that may not write see only its host, and no values of headers and query
 * parameters.
 */
export function presentChannelConfig(config: unknown, role: Role): Fields {
  const shown = presentCredentials(config, role) as Fields;
  if (seesLockedValues(role)) return shown;
  for (const name of ['headers', 'queryParameters']) {
    const pairs = shown[name];
    if (!Array.isArray(pairs)) continue;
    shown[name] = (pairs as KeyValuePair[]).map((pair) => ({ ...pair, value: '' }));
  }
  const { url } = shown;
  if (typeof url !== 'string') return shown;
  return { ...shown, url: url.replace(/^(https?:\/\/[^/?#]*).*$/is, '$1/') };
}

/** The settings of a heartbeat for a role: the ping URL is a credential. */
export function presentHeartbeat<S extends { pingToken: string; pingUrl: string }>(
  settings: S,
  role: Role,
): S {
  return seesLockedValues(role) ? settings : { ...settings, pingToken: '', pingUrl: '' };
}

/** The token of a trigger for a role; hidden from roles that may not run checks. */
export function presentTriggerToken(token: string, role: Role): string {
  return includesRole(role, 'READ_RUN') ? token : '';
}

/**
 * Each given variable with the stored one that it replaces. Clients may repeat a key, so the second entry
 * of a key replaces the second stored one. When entries of a key were removed, the last ones stay: runs get
 * the last one.
 */
export function withStored(
  given: readonly EnvironmentVariable[],
  before: readonly EnvironmentVariable[],
): { variable: EnvironmentVariable; old: EnvironmentVariable | undefined }[] {
  const byKey = Map.groupBy(before, ({ key }) => key);
  for (const [key, { length }] of Map.groupBy(given, (variable) => variable.key)) {
    byKey.set(key, byKey.get(key)?.slice(-length) ?? []);
  }
  return given.map((variable) => ({ variable, old: byKey.get(variable.key)?.shift() }));
}

/**
 * Variables to store. Null keeps the stored value. A secret stays a secret, because a change back would
 * reveal it. `encrypt` makes the stored text of a secret.
 */
export function variablesToStore(
  given: readonly EnvironmentVariable[] | null,
  before: readonly EnvironmentVariable[] | null,
  encrypt: (value: string) => string,
): EnvironmentVariable[] | null {
  if (given === null) return null;
  return withStored(given, before ?? []).map(({ variable, old }) => {
    const secret = variable.secret || old?.secret === true;
    if (variable.value === null && old?.value != null && old.secret === secret) {
      return { ...variable, secret, value: old.value };
    }
    const value = variable.value ?? (old?.secret === false ? old.value : null) ?? '';
    return { ...variable, secret, value: secret ? encrypt(value) : value };
  });
}
