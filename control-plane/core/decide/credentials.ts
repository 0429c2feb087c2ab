/**
 * The fields of checks and groups that hold credentials. Only these are stored encrypted; all other
 * fields stay searchable. All headers, query parameters and metadata are encrypted, because their
 * names do not show which ones carry a credential.
 */
import type { EnvironmentVariable, KeyValuePair } from '@monitor/shared/contract/primitives.ts';

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

function inRequest(request: unknown, map: (value: string) => string): unknown {
  if (typeof request !== 'object' || request === null) return request;
  const mapped: Fields = { ...request };
  for (const name of ['headers', 'queryParameters', 'metadata']) {
    const pairs = mapped[name];
    if (!Array.isArray(pairs)) continue;
    mapped[name] = (pairs as KeyValuePair[]).map((pair) => ({ ...pair, value: map(pair.value) }));
  }
  const auth = mapped['basicAuth'] as { password?: unknown } | null | undefined;
  if (typeof auth?.password === 'string') {
    mapped['basicAuth'] = { ...auth, password: map(auth.password) };
  }
  if ('grpcConfig' in mapped) mapped['grpcConfig'] = inRequest(mapped['grpcConfig'], map);
  return mapped;
}

/** `locked`: secret variables stay encrypted while a check is changed, because nobody sees them. */
type Variables = 'locked' | 'encrypted';

/** The same fields with `map` applied to every credential that is not empty. */
export function mapCredentials<F extends object>(
  fields: F,
  replace: (value: string) => string,
  variables: Variables = 'locked',
): F {
  const map = (value: string): string => (value === '' ? value : replace(value));
  const mapped: Fields = { ...(fields as Fields) };
  for (const name of ['request', 'apiCheckDefaults']) {
    if (name in mapped) mapped[name] = inRequest(mapped[name], map);
  }
  const heartbeat = mapped['heartbeat'] as { pingToken?: unknown } | null | undefined;
  if (typeof heartbeat?.pingToken === 'string') {
    mapped['heartbeat'] = { ...heartbeat, pingToken: map(heartbeat.pingToken) };
  }
  const entries = mapped['environmentVariables'];
  if (Array.isArray(entries)) {
    mapped['environmentVariables'] = (entries as EnvironmentVariable[]).map((entry) => {
      const isMapped =
        variables === 'encrypted' ? isEncryptedVariable(entry) : entry.locked && !entry.secret;
      return isMapped && entry.value !== null ? { ...entry, value: map(entry.value) } : entry;
    });
  }
  return mapped as F;
}
