/**
 * Assembles checks for agents: the group is applied, variables of account, group and check are
 * merged and decrypted, ids are replaced with scripts and snippets, and certificates and runtime
 * are chosen. An agent has nothing to look up.
 */
import type {
  AssignedCertificate,
  AssignedCheck,
  LearnedScript,
} from '@monitor/shared/contract/agent-protocol.ts';
import type {
  CheckTypeDefinition,
  ClientCertificateChoice,
} from '@monitor/shared/contract/checks/check-type.ts';
import {
  checkTypes,
  findAgentType,
  type CheckType,
} from '@monitor/shared/contract/checks/index.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { chooseClientCertificate } from '@monitor/shared/domain/client-certificate.ts';
import { fromFlag } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { isEncryptedVariable, mapCredentials } from '../core/decide/credentials.ts';
import { assembledWork, type AccountWork } from './decide/assembled-work.ts';
import { accountSettingsOf } from '../accounts/index.ts';
import { groupFieldsOf, type GroupRow } from './check-groups/store.ts';
import { toAssigned, type CheckFields, type CheckRow } from './store.ts';
import type { Services } from '../core/services.ts';
import { effectiveFields, groupAmong, groupsOf } from './effective-check.ts';
import { baselinesOf } from './baselines.ts';
import { learnedScriptsOf } from './learned-scripts.ts';

/** The settings that checks inherit from an account, read once for many checks. */
interface Inheritance extends AccountWork {
  detectSecrets: boolean;
  groups: ReadonlyMap<number, GroupRow>;
  certificates: RowOf<'client_certificates'>[];
  learned: ReadonlyMap<string, LearnedScript>;
  baselines: Awaited<ReturnType<typeof baselinesOf>>;
}

/** Variables of the account; secret ones are still encrypted. */
export async function accountVariables(db: Db, accountId: string): Promise<EnvironmentVariable[]> {
  const rows = await ownRows(db, 'variables', accountId).orderBy('key').execute();
  return rows.map(({ key, value, locked, secret }) => ({
    key,
    value,
    locked: fromFlag(locked),
    secret: fromFlag(secret),
  }));
}

/** The location whose agents get the checks. */
interface Place {
  accountId: string;
  location: string;
}

async function inheritanceOf(
  { db }: Pick<Services, 'db'>,
  { accountId, location }: Place,
  rows: readonly CheckRow[],
): Promise<Inheritance> {
  const account = await db
    .selectFrom('accounts')
    .select(['runtime_id', 'settings_json'])
    .where('id', '=', accountId)
    .executeTakeFirst();
  const snippets = await ownRows(db, 'snippets', accountId).execute();
  return {
    variables: await accountVariables(db, accountId),
    runtimeId: account?.runtime_id ?? null,
    detectSecrets: accountSettingsOf(account?.settings_json ?? '{}').secretDetection,
    groups: await groupsOf(db, accountId, rows),
    snippets: new Map(snippets.map((snippet) => [snippet.id, snippet])),
    certificates: await ownRows(db, 'client_certificates', accountId)
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .execute(),
    baselines: await baselinesOf(db, { accountId, location }, rows),
    learned: await learnedScriptsOf(
      db,
      { accountId, location },
      rows.filter((row) => findAgentType(row.type)?.learnsScripts === true).map((row) => row.id),
    ),
  };
}

/**
 * The certificates for the host of a URL, or all of them when a template names the host. An http
 * URL gets the certificates of the https URL on the same host, because of redirects.
 */
function certificatesOfUrl<C extends { host: string }>(url: string, certificates: C[]): C[] {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '{{';
  if (authority.includes('{{') || !URL.canParse(url)) return certificates;
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isSecure = protocol === 'https:';
  const chosen = chooseClientCertificate(certificates, host, isSecure ? Number(port || 443) : 443);
  return chosen === undefined ? [] : [chosen];
}

function chosenCertificates<C extends { id: string; host: string }>(
  choice: ClientCertificateChoice,
  certificates: C[],
): C[] {
  if (choice === 'none') return [];
  if (choice === 'all') return certificates;
  if ('url' in choice) {
    return /^(https?:|\{\{)/i.test(choice.url) ? certificatesOfUrl(choice.url, certificates) : [];
  }
  const chosen =
    'id' in choice
      ? certificates.find(({ id }) => id === choice.id)
      : chooseClientCertificate(certificates, choice.host, choice.port);
  return chosen === undefined ? [] : [chosen];
}

/** Assembles checks of one account for agents of one location. Throws when a secret cannot be decrypted. */
export async function checkAssembly(
  services: Pick<Services, 'db' | 'secrets'>,
  place: Place,
  rows: readonly CheckRow[],
): Promise<(row: CheckRow, scheduleFrom: number, proxyUrl: string | null) => AssignedCheck> {
  const { accountId } = place;
  const inheritance = await inheritanceOf(services, place, rows);
  const { secrets } = services;
  const open = ({ value, secret, locked }: EnvironmentVariable): string =>
    isEncryptedVariable({ secret, locked })
      ? secrets.decryptStored(value ?? '', accountId)
      : (value ?? '');

  const certificatesFor = (type: CheckTypeDefinition, fields: CheckFields): AssignedCertificate[] =>
    chosenCertificates(type.clientCertificates(fields), inheritance.certificates).map((row) => ({
      host: row.host,
      cert: row.cert,
      ca: row.ca,
      key: secrets.decrypt(row.key_sealed, accountId),
      passphrase:
        row.passphrase_sealed === null ? null : secrets.decrypt(row.passphrase_sealed, accountId),
    }));

  return (row, scheduleFrom, proxyUrl) => {
    const type: CheckTypeDefinition = checkTypes[row.type as CheckType];
    const group = groupAmong(row, inheritance.groups);
    const baselines = inheritance.baselines[row.id];
    const fields = effectiveFields(row, group);
    return {
      ...toAssigned(
        row,
        mapCredentials(fields, (value) => secrets.decryptStored(value, accountId)),
        scheduleFrom,
        proxyUrl,
      ),
      ...assembledWork(
        { type, fields, group: group === undefined ? null : groupFieldsOf(group) },
        inheritance,
        open,
      ),
      clientCertificates: certificatesFor(type, fields),
      detectSecrets: inheritance.detectSecrets,
      learnedScript: inheritance.learned.get(row.id) ?? null,
      ...(baselines === undefined ? {} : { baselines }),
      pauses: [],
    };
  };
}
