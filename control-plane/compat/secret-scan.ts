/** Scans what an account has stored for credentials that others can read. */
import { setImmediate as turn } from 'node:timers/promises';
import type { z } from 'zod';
import { channelConfigs } from '@monitor/shared/contract/alert-channel.ts';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import type { secretFinding, secretScanRoutes } from '@monitor/shared/contract/secret-scan.ts';
import { credentialsOf } from '@monitor/shared/credentials/credential-at.ts';
import { isNamedCredential } from '@monitor/shared/credentials/named-values.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { knownFields, mapSensitive } from '@monitor/shared/known-fields.ts';
import { decryptedFields, groupFieldsOf } from '../checks/index.ts';
import { mapCredentials } from '../core/decide/credentials.ts';
import type { Services } from '../core/services.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Handlers } from '../http/handlers.ts';
import { ownersOf } from '../projects/index.ts';

type Finding = z.input<typeof secretFinding>;
type Place = Pick<Finding, 'fieldPath' | 'fieldKey' | 'valuePreview'>;
type Entity = Pick<Finding, 'entityType' | 'entityId' | 'entityName' | 'checkType'>;

/** A shorter one is not shown at all. */
const previewedLength = 16;
const previewLength = 3;
/** In an answer; more are counted. */
const maxFindings = 1_000;

const previewOf = (value: string): string | null =>
  value.length < previewedLength ? null : `${value.slice(0, previewLength)}…`;

/** A value that is filled in when a check runs stands nowhere. */
const isTemplate = (value: string): boolean => /^\{\{[^{}]*\}\}$/.test(value.trim());

function* placesIn(value: unknown, path: string, name: string | null): Generator<Place, void> {
  if (typeof value === 'string') {
    if (isTemplate(value)) return;
    const found = name !== null && isNamedCredential(name, value) ? [value] : credentialsOf(value);
    for (const one of new Set(found)) {
      yield { fieldPath: path, fieldKey: null, valuePreview: previewOf(one) };
    }
  } else if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) yield* placesIn(each, `${path}[${index}]`, null);
  } else if (isFields(value)) {
    if (value['secret'] === true || value['locked'] === true) return;
    const { key } = value;
    for (const [field, each] of Object.entries(value)) {
      const isOfKey = field === 'value' && typeof key === 'string';
      const within = path === '' ? field : `${path}.${field}`;
      for (const place of placesIn(each, within, isOfKey ? key : field)) {
        yield isOfKey ? { ...place, fieldKey: key } : place;
      }
    }
  }
}

const configs = knownFields(...Object.values(channelConfigs));
/** The credentials that a channel is made of are encrypted, and have no better place. */
const withoutOwnSecrets = (config: unknown): unknown =>
  mapSensitive(configs, config, (is, value) =>
    is === 'secret' || is === 'capability' ? '' : value,
  );

/** What is scanned of an account, one entity after the other. */
async function* entitiesOf(
  services: Services,
  accountId: string,
): AsyncGenerator<[Entity, type: ResourceType, value: unknown], void> {
  const { db, secrets } = services;
  const decrypt = (value: string) => secrets.decryptStored(value, accountId);
  const checks = await ownRows(db, 'checks', accountId)
    .where('is_trial', '=', 0)
    .orderBy('id')
    .execute();
  for (const row of checks) {
    const of = { entityType: 'CHECK', entityId: row.id, entityName: row.name } as const;
    const checkType = row.type as Entity['checkType'];
    yield [{ ...of, checkType }, 'check', decryptedFields(services, row)];
  }
  for (const row of await ownRows(db, 'check_groups', accountId).orderBy('id').execute()) {
    const of = {
      entityType: 'CHECK_GROUP',
      entityId: String(row.id),
      entityName: row.name,
    } as const;
    yield [{ ...of, checkType: null }, 'check-group', mapCredentials(groupFieldsOf(row), decrypt)];
  }
  for (const row of await ownRows(db, 'snippets', accountId).orderBy('id').execute()) {
    const of = { entityType: 'SNIPPET', entityId: String(row.id), entityName: row.name } as const;
    yield [{ ...of, checkType: null }, 'snippet', { script: row.script }];
  }
  for (const row of await ownRows(db, 'alert_channels', accountId).orderBy('id').execute()) {
    const of = { entityType: 'ALERT_CHANNEL', entityId: String(row.id), entityName: null } as const;
    const config = withoutOwnSecrets(fromJson(decrypt(row.config_json)));
    yield [{ ...of, checkType: null }, 'alert-channel', { config }];
  }
  for (const row of await ownRows(db, 'variables', accountId).orderBy('key').execute()) {
    const { key, value } = row;
    const of = { entityType: 'ENVIRONMENT_VARIABLE', entityId: key, entityName: key } as const;
    const variable = { key, value, secret: fromFlag(row.secret), locked: fromFlag(row.locked) };
    yield [{ ...of, checkType: null }, 'variable', variable];
  }
}

export function secretScanHandlers(services: Services): Handlers<typeof secretScanRoutes> {
  return {
    scanSecrets: async (_input, { principal: { accountId }, signal, setTotal }) => {
      const findings: (Finding & { type: ResourceType })[] = [];
      let total = 0;
      for await (const [entity, type, value] of entitiesOf(services, accountId)) {
        if (signal.aborted) break;
        for (const place of placesIn(value, '', null)) {
          total += 1;
          if (total > maxFindings) continue;
          findings.push({ ...entity, ...place, type, project: null, logicalId: null });
        }
        // Scripts are long, and others wait.
        await turn();
      }
      setTotal(total, 0, findings.length);
      const byType = Map.groupBy(findings, ({ type }) => type);
      const answers: Finding[] = [];
      for (const [resource, ofType] of byType) {
        const ids = ofType.map(({ entityId }) => entityId);
        const owners = await ownersOf(services.db, accountId, resource, ids);
        for (const { type: _type, ...finding } of ofType) {
          const { project = null, binding = null } = owners.get(finding.entityId) ?? {};
          answers.push({
            ...finding,
            project: project && { logicalId: project.logicalId, name: project.name },
            logicalId: binding?.logicalId ?? null,
          });
        }
      }
      return answers;
    },
  };
}
