/**
 * Applies the settings of a group to a check. A group overrides the check with every field that is
 * not null, `FALLBACK` or empty. Spec: Check group.
 */
import type { CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';

type Fields = Record<string, unknown>;

interface Pair {
  key: string;
}

/** Both lists; an entry of the check replaces the group's entry with the same key. */
function union<P extends Pair>(
  group: readonly P[],
  check: readonly P[],
  normalise: (key: string) => string,
): P[] {
  const own = new Set(check.map(({ key }) => normalise(key)));
  return [...group.filter(({ key }) => !own.has(normalise(key))), ...check];
}

const asIs = (key: string): string => key;
const lowerCase = (key: string): string => key.toLowerCase();

/**
 * The environment of a run: account, then group, then check. A later entry replaces an earlier one
 * with the same key.
 */
export function mergeVariables(
  ...layers: readonly (readonly EnvironmentVariable[] | null | undefined)[]
): EnvironmentVariable[] {
  return layers.reduce<EnvironmentVariable[]>(
    (below, layer) => union(below, layer ?? [], asIs),
    [],
  );
}

/** Applies a group's defaults for API requests to a request with headers. */
function withRequestDefaults(request: unknown, group: CheckGroupFields): unknown {
  const defaults = group.apiCheckDefaults;
  if (typeof request !== 'object' || request === null || !('headers' in request)) return request;
  if (defaults === null) return request;
  const own = request as {
    headers: typeof defaults.headers;
    queryParameters: typeof defaults.queryParameters;
    assertions: typeof defaults.assertions;
    basicAuth: typeof defaults.basicAuth;
  };
  const groupAuth = defaults.basicAuth?.username ? defaults.basicAuth : null;
  return {
    ...own,
    headers: union(defaults.headers, own.headers, lowerCase),
    queryParameters: union(defaults.queryParameters, own.queryParameters, asIs),
    assertions: [...own.assertions, ...defaults.assertions],
    basicAuth: own.basicAuth ?? groupAuth,
  };
}

function retries({ retryStrategy }: CheckGroupFields): Fields {
  if (retryStrategy === 'FALLBACK') return {};
  return retryStrategy === null ? { retryStrategy, doubleCheck: false } : { retryStrategy };
}

/** Alert settings of a group replace those of the account, even when the group does not say so. */
function alerting({ alertSettings, useGlobalAlertSettings }: CheckGroupFields): Fields {
  const usesGlobal = useGlobalAlertSettings ?? (alertSettings === null ? null : false);
  return {
    ...(alertSettings === null ? {} : { alertSettings }),
    ...(usesGlobal === null ? {} : { useGlobalAlertSettings: usesGlobal }),
  };
}

/**
 * The fields of a check with its group applied. Locations are the group's when it has any. The
 * check is active only if both are, and muted if either is. `runtimeId` is the check's own if it
 * has one.
 */
export function applyGroup<F extends Fields>(check: F, group: CheckGroupFields | null): F {
  if (group === null) return check;
  const hasLocations =
    (group.locations?.length ?? 0) > 0 || (group.privateLocations?.length ?? 0) > 0;
  const common = {
    ...check,
    activated: check['activated'] === true && group.activated,
    muted: check['muted'] === true || group.muted,
    ...alerting(group),
  };
  if (!('frequency' in check)) return common;
  return {
    ...common,
    ...(hasLocations
      ? { locations: group.locations ?? [], privateLocations: group.privateLocations ?? [] }
      : {}),
    ...(group.runParallel === true ? { runParallel: true } : {}),
    ...retries(group),
    runtimeId: check['runtimeId'] ?? group.runtimeId,
    ...('environmentVariables' in check
      ? {
          environmentVariables: mergeVariables(
            group.environmentVariables,
            check['environmentVariables'] as EnvironmentVariable[] | null,
          ),
        }
      : {}),
    ...('request' in check ? { request: withRequestDefaults(check['request'], group) } : {}),
  };
}
