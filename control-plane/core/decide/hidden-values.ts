/** Which values a role may see. Nobody sees secrets; roles that may write see locked values. */
import { channelConfigs } from '@monitor/shared/contract/alert-channel.ts';
import { apiCheckDefaults } from '@monitor/shared/contract/check-group.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { EnvironmentVariable, KeyValuePair } from '@monitor/shared/contract/primitives.ts';
import { includesRole, type Role } from '@monitor/shared/contract/route.ts';
import { type KnownFields, knownFields, mapSensitive } from '@monitor/shared/known-fields.ts';

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

type Fields = Record<string, unknown>;

const requests = knownFields(
  ...Object.values(checkTypes).flatMap(({ create }) =>
    'request' in create.shape ? [create.shape.request] : [],
  ),
  apiCheckDefaults,
);
const configs = knownFields(...Object.values(channelConfigs));

/**
 * Fields of a body for a role. For roles that may not write, locked pairs, passwords and keys are empty; of a URL
 * that is itself a credential only the host is left.
 */
export function presentFields<T>(known: KnownFields, fields: T, role: Role): T {
  if (seesLockedValues(role)) return fields;
  return mapSensitive(known, fields, (is, value) => {
    if (is === 'variable') return presentVariables([value as EnvironmentVariable], role)?.[0];
    if (typeof value === 'string') {
      if (is === 'secret') return '';
      if (is === 'address') return presentUrl(value, role);
      return value.replace(/\/\/[^@/]*@/, '//').replace(/^(https?:\/\/[^/?#]*).*$/is, '$1/');
    }
    const pair = value as KeyValuePair;
    const isHidden = is === 'hiddenPair' || pair.locked || credentialName.test(pair.key);
    return isHidden ? { ...pair, value: '' } : pair;
  });
}

/** A request, or the defaults of a group, for a role. */
export const presentCredentials = (holder: unknown, role: Role): unknown =>
  presentFields(requests, holder, role);

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

/** The configuration of an alert channel for a role. */
export const presentChannelConfig = (config: unknown, role: Role): Fields =>
  presentFields(configs, config, role) as Fields;

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
