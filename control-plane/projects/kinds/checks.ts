/** Checks and groups. */
import { isDeepStrictEqual } from 'node:util';
import { isFields } from '@monitor/shared/fields.ts';
import { alertSettings, type RetryStrategy } from '@monitor/shared/contract/check.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { fieldsOfAnyType } from '@monitor/shared/contract/check-routes.ts';
import { checkTypes, findCheckType, isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { roleOf } from '@monitor/shared/contract/route.ts';
import {
  createCheck,
  createGroup,
  deleteCheck,
  deleteGroup,
  fieldsOf,
  groupFieldsOf,
  updateCheck,
  updateGroup,
  withKeptPolicy,
} from '../../checks/index.ts';
import { mapCredentials } from '../../core/decide/credentials.ts';
import { withStored } from '../../core/decide/hidden-values.ts';
import { ownRowsAmong } from '../../db/own-rows.ts';
import { undo } from '../../deletions/index.ts';
import { invalidField } from '../../errors/api-error.ts';
import { type ReferencePaths, type References, refIn } from '../references.ts';
import {
  type Fields,
  isEqual,
  type Kind,
  parseBy,
  refuseSubscriptions,
  related,
  resolved,
  without,
} from './kind.ts';

const ofBoth: ReferencePaths = {
  ...{ setupSnippetId: 'snippet', tearDownSnippetId: 'snippet' },
  'alertSettings.escalationPolicyId': 'escalation-policy',
};
const ofChecks: ReferencePaths = {
  ...ofBoth,
  groupId: 'check-group',
  'triggerIncident.serviceId': 'status-page-service',
};

/** Private locations by name, by reference, and by assignment. */
function locationsIn(payload: Fields, references: References, slugs: readonly string[]): Fields {
  const given = payload['privateLocations'];
  if (slugs.length === 0 && !Array.isArray(given)) return {};
  const named = (Array.isArray(given) ? given : []).map((each: unknown, index): unknown =>
    refIn(each) === null
      ? each
      : references.target(each, 'private-location', `privateLocations.${index}`).slugName,
  );
  return { privateLocations: [...new Set([...named, ...slugs])] };
}

/** A secret stays one, and null keeps a value. */
function withKeptVariables(stored: Fields, body: Fields): Fields {
  const given = body['environmentVariables'];
  const before = stored['environmentVariables'];
  if (!Array.isArray(given) || !Array.isArray(before)) return body;
  const environmentVariables = withStored(
    given as EnvironmentVariable[],
    before as EnvironmentVariable[],
  ).map(({ variable, old }) => {
    if (old === undefined) return variable;
    return {
      ...variable,
      ...{ secret: variable.secret || old.secret, value: variable.value ?? old.value },
    };
  });
  return { ...body, environmentVariables };
}

/** Private locations are assigned by resources of their own. */
function withoutAssigned({ privateLocations, ...stored }: Fields): Fields {
  return Array.isArray(privateLocations) ? stored : { ...stored, privateLocations };
}

/** Clients refuse an empty list of conditions. */
function withoutEmptyConditions(stored: Fields): Fields {
  const { retryStrategy } = stored;
  if (typeof retryStrategy !== 'object' || retryStrategy === null) return stored;
  const { onlyOn, ...rest } = retryStrategy as RetryStrategy;
  return onlyOn.length > 0 ? stored : { ...stored, retryStrategy: rest };
}

const plainAlertSettings: unknown = JSON.parse(JSON.stringify(alertSettings.parse({})));

const withoutNoPolicy = (settings: unknown): unknown =>
  isFields(settings) && settings['escalationPolicyId'] === null
    ? without(settings, ['escalationPolicyId'])
    : settings;

/** Clients take settings of a check for its own, which win over those of the account. */
function withoutPlainAlertSettings(stored: Fields): Fields {
  const { alertSettings: given, ...rest } = stored;
  const isPlain = isDeepStrictEqual(withoutNoPolicy(given), plainAlertSettings);
  return stored['useGlobalAlertSettings'] === true && isPlain ? rest : stored;
}

/** The settings that checks and groups share, as a payload has them. */
const asPayload = (stored: Fields): Fields =>
  withoutSecrets(withoutAssigned(withoutEmptyConditions(stored)));

/** Nobody sees secrets; null keeps them. */
function withoutSecrets(stored: Fields): Fields {
  const variables = stored['environmentVariables'];
  if (!Array.isArray(variables)) return stored;
  const environmentVariables = (variables as EnvironmentVariable[]).map((each) =>
    each.secret ? { ...each, value: null } : each,
  );
  return { ...stored, environmentVariables };
}

function definitionOf(checkType: unknown): CheckTypeDefinition {
  const definition = typeof checkType === 'string' ? findCheckType(checkType) : undefined;
  if (definition !== undefined) return definition;
  throw invalidField('checkType', `must be one of ${Object.keys(checkTypes).join(', ')}`);
}

function heartbeatAsGiven(stored: unknown, given: unknown): unknown {
  const { pingToken, ...rest } = stored as Fields;
  return (given as Fields)['pingToken'] === undefined ? rest : { ...rest, pingToken };
}

const snippetIds = ['setupSnippetId', 'tearDownSnippetId'];

const policyOf = ({ alertSettings: settings }: Fields): unknown =>
  isFields(settings) ? settings['escalationPolicyId'] : undefined;

/**
 * Existing clients cannot name an escalation policy: where people did, settings without one leave it, and a payload
 * without settings leaves all of them, since it could only switch the policy off.
 */
function settlePolicy(
  changes: Fields,
  { stored, payload, isComplete }: { stored: Fields; payload: Fields; isComplete: boolean },
): Fields {
  if (policyOf(stored) == null || policyOf(payload) !== undefined) return changes;
  const { alertSettings, useGlobalAlertSettings: _global, ...rest } = changes;
  if (!isComplete) return isFields(payload['alertSettings']) ? changes : rest;
  if (!isFields(alertSettings)) return changes;
  return { ...changes, alertSettings: { ...alertSettings, escalationPolicyId: null } };
}

/** A body as an update stores it. */
function withStoredPolicy(stored: Fields, body: Fields): Fields {
  if (!('alertSettings' in body)) return body;
  return {
    ...body,
    alertSettings: withKeptPolicy(body['alertSettings'], stored['alertSettings']),
  };
}

export const checks: Kind = {
  type: 'check',
  references: ofChecks,
  role: 'READ_WRITE',
  keptUnlessGiven: [
    ...snippetIds,
    ...['signature', 'quarantinedTests', 'shards', 'screenshotMasks', 'intent'],
    ...['aiAutoRepairEnabled', 'groupOrder'],
  ],
  ofOperation: ['signature', 'quarantinedTests'],
  settle: settlePolicy,
  parse(payload, references, slugs) {
    // Clients compute it from other files than the bundle, and agents would refuse the bundle for it.
    const { checkType, cacheHash: _ofClient, ...given } = payload;
    const definition = definitionOf(checkType);
    refuseSubscriptions(given, 'alertChannelSubscriptions');
    const named: Fields = {
      ...given,
      ...(isPinged(definition.type) ? {} : locationsIn(given, references, slugs)),
      dependencies: references.files(given['dependencies'], 'dependencies'),
    };
    const body = parseBy(
      definition.create,
      resolved(named, ofChecks, references),
      [fieldsOfAnyType],
      references,
    );
    return { checkType: definition.type, ...body };
  },
  async read(unit, ids) {
    const { services, accountId } = unit;
    const rows = await ownRowsAmong(services.db, 'checks', accountId, { column: 'id', ids });
    const decrypt = (value: string): string => services.secrets.decryptStored(value, accountId);
    // One whose deletion is held is known by its id: a deployment takes it back.
    const lasting = rows.filter(({ is_trial: isTrial }) => isTrial === 0 || (isTrial === 2 && ids));
    return new Map(
      lasting.map((row) => {
        const fields = mapCredentials(fieldsOf(row), decrypt, 'encrypted');
        const held = row.is_trial === 2 ? { isHeld: true } : {};
        return [row.id, { handle: row.id, fields: { checkType: row.type, ...fields, ...held } }];
      }),
    );
  },
  async create({ services, accountId, runsLater }, { checkType, ...body }) {
    const row = await createCheck(...[services, accountId, definitionOf(checkType), body, false], {
      runsLater,
    });
    return row.id;
  },
  async update({ services, accountId }, { handle, fields }, { checkType, ...body }) {
    const { alertChannelSubscriptions: _own, ...changes } = body;
    if (fields['isHeld'] === true) await undo(services, accountId, ['path', `v1/checks/${handle}`]);
    return updateCheck(services, accountId, definitionOf(checkType), handle, changes);
  },
  remove: ({ services, accountId }, { handle }) => deleteCheck(services, accountId, handle),
  write({ heartbeat, ...stored }) {
    const { pingToken: _kept, ...settings } = (heartbeat ?? {}) as Fields;
    const isHeartbeat = isPinged(String(stored['checkType']));
    return {
      ...asPayload(withoutPlainAlertSettings(stored)),
      ...(heartbeat !== undefined && { heartbeat: isHeartbeat ? settings : heartbeat }),
    };
  },
  isSame(stored, { alertChannelSubscriptions: _own, ...given }) {
    if (stored['isHeld'] === true) return false;
    const body = withStoredPolicy(stored, withKeptVariables(stored, given));
    if (!isPinged(String(body['checkType']))) return isEqual(stored, body);
    const heartbeat = heartbeatAsGiven(stored['heartbeat'], body['heartbeat']);
    return isEqual({ ...stored, heartbeat }, body);
  },
  isOther: (stored, body) => stored['checkType'] !== body['checkType'],
};

export const groups: Kind = {
  type: 'check-group',
  references: ofBoth,
  keptUnlessGiven: snippetIds,
  settle: settlePolicy,
  role: roleOf(checkGroupRoutes.createCheckGroup),
  parse(payload, references, slugs) {
    const { v, ...given } = payload;
    refuseSubscriptions(given, 'alertChannelSubscriptions');
    const { createCheckGroup: v2, createCheckGroupV1: v1 } = checkGroupRoutes;
    const named = { ...given, ...locationsIn(given, references, slugs) };
    const { body } = v === 2 ? v2 : v1;
    return parseBy(body, resolved(named, ofBoth, references), related(v2), references);
  },
  async read(unit, ids) {
    const { services, accountId } = unit;
    const among = { column: 'id', isNumber: true, ids };
    const rows = await ownRowsAmong(services.db, 'check_groups', accountId, among);
    const decrypt = (value: string): string => services.secrets.decryptStored(value, accountId);
    return new Map(
      rows.map((row) => {
        const fields = mapCredentials(groupFieldsOf(row), decrypt, 'encrypted');
        return [String(row.id), { handle: String(row.id), fields: { ...fields } }];
      }),
    );
  },
  async create({ services, accountId }, body) {
    return (await createGroup(services, accountId, body as never, false)).id;
  },
  update({ services, accountId }, { handle }, body) {
    const { alertChannelSubscriptions: _own, ...changes } = body;
    return updateGroup(services, accountId, Number(handle), changes as never);
  },
  remove: ({ services, accountId }, { handle }) => deleteGroup(services, accountId, Number(handle)),
  write: (stored) => ({ v: 2, ...asPayload(stored) }),
  isSame: (stored, { alertChannelSubscriptions: _own, ...body }) =>
    isEqual(stored, withStoredPolicy(stored, withKeptVariables(stored, body))),
};
