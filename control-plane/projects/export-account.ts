/**
 * Everything of an account as the body of a project: names in place of ids, and no value of a secret. What it gives
 * can be deployed to another account, and its names are those by which a deployment finds what an account has already.
 */
import { isFields } from '@monitor/shared/fields.ts';
import type {
  ProjectBody,
  ProjectResource,
  ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { fromFlag } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import {
  type Fields,
  type Kind,
  kinds,
  type Reading,
  type Stored,
  without,
} from './kinds/index.ts';
import { keyOf, mapReferences } from './references.ts';
import { findProject, type LinkRow, linksOf } from './store.ts';

/** What people call a resource. */
function titleOf({ type, address }: Kind, fields: Fields): string {
  const config = isFields(fields['config']) ? fields['config'] : {};
  const title =
    fields[address ?? 'name'] ?? config['name'] ?? config['address'] ?? config['channel'];
  return typeof title === 'string' ? title : `${type} ${String(fields['type'] ?? '')}`;
}

/** `Checkout API` becomes `checkout-api`; keys of variables stay as they are. */
function wordsOf(type: ResourceType, title: string): string {
  if (type === 'variable') return title;
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 80);
  return words === '' ? type : words;
}

type Refer = (type: ResourceType, id: unknown) => unknown;

const pageFields = Object.keys(statusPageRoutes.createStatusPage.body.shape);

/** Nobody reads a secret; a name in its place is written where the files are. */
function withoutSecrets(fields: Fields): Fields {
  const variables = fields['environmentVariables'];
  if (!Array.isArray(variables)) return fields;
  const hidden = (variables as Fields[]).map((each) =>
    each['secret'] === true ? { ...each, value: null } : each,
  );
  return { ...fields, environmentVariables: hidden };
}

function payloadOf({ type, write, references = {} }: Kind, fields: Fields, refer: Refer): Fields {
  const { cacheHash: _ofBundle, ...stored } = withoutSecrets(fields);
  const own =
    type === 'variable' ? write(stored) : type === 'status-page' ? ofPage(stored) : stored;
  const given = mapReferences(own, references, (found, of) =>
    refer(of, isFields(found) ? found['id'] : found),
  );
  return type === 'check-group' ? { v: 2, ...given } : given;
}

/** The body of a page; its cards go without their ids. */
function ofPage(stored: Fields): Fields {
  const body = pageFields.flatMap((name) => (name in stored ? [[name, stored[name]]] : []));
  const cards = (stored['cards'] as Fields[]).map(({ name, services }) => ({ name, services }));
  return { ...Object.fromEntries(body), cards };
}

/** Fields by which people know a resource come first, the others by their names. */
const first = ['name', 'key', 'checkType', 'type'];

function inOrder(value: unknown, isWhole = false): unknown {
  if (Array.isArray(value)) return value.map((each) => inOrder(each));
  if (!isFields(value)) return value;
  const rank = (name: string): number =>
    isWhole && first.includes(name) ? first.indexOf(name) : 9;
  const names = Object.keys(value).sort(
    (one, other) => rank(one) - rank(other) || (one < other ? -1 : 1),
  );
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name])]));
}

type Names = ReadonlyMap<string, string>;

const referBy =
  (names: Names): Refer =>
  (type, id) => {
    const ref = names.get(keyOf(type, String(id)));
    return ref === undefined ? id : { ref };
  };

/**
 * Names of the resources of a kind by their ids: what the project calls them, else their title; of several with one
 * title, in the order of their content, so that equal installations have equal names. `names` are those of the
 * kinds before, which the content refers to.
 */
export function logicalIdsOf(
  kind: Kind,
  stored: ReadonlyMap<string, Stored>,
  links: readonly LinkRow[],
  names: Names,
): Map<string, string> {
  const ids = new Map(
    links.flatMap((each) =>
      each.type === kind.type ? [[each.physical_id, each.logical_id] as const] : [],
    ),
  );
  const taken = new Set(ids.values());
  const contentOf = ({ fields }: Stored): string =>
    JSON.stringify(inOrder(payloadOf(kind, without(fields, kind.later), referBy(names))));
  const unnamed = [...stored]
    .filter(([id]) => !ids.has(id))
    .map(([id, each]) => {
      const words = wordsOf(kind.type, titleOf(kind, each.fields));
      return { id, words, content: contentOf(each) };
    });
  // Equal ones stay in the order of creation.
  unnamed.sort(
    (one, other) => Number(one.content > other.content) - Number(one.content < other.content),
  );
  for (const { id, words } of unnamed) {
    let free = words;
    for (let number = 2; taken.has(free); number += 1) free = `${words}-${number}`;
    taken.add(free);
    ids.set(id, free);
  }
  return ids;
}

const byId = (one: ProjectResource, other: ProjectResource): number =>
  one.logicalId < other.logicalId ? -1 : 1;

async function subscriptionsIn(
  { services: { db }, accountId }: Reading,
  refer: Refer,
): Promise<ProjectResource[]> {
  const rows = await ownRows(db, 'alert_subscriptions', accountId).orderBy('id').execute();
  return rows.flatMap((row): ProjectResource[] => {
    const [field, type, id] =
      row.check_id === null
        ? (['groupId', 'check-group', row.group_id] as const)
        : (['checkId', 'check', row.check_id] as const);
    const [of, channel] = [refer(type, id), refer('alert-channel', row.channel_id)];
    // The subscriber is a trial.
    if (!isFields(of) || !isFields(channel)) return [];
    return [
      {
        logicalId: `${type}-alert-channel-subscription#${String(of['ref'])}#${String(channel['ref'])}`,
        ...{ type: 'alert-channel-subscription', member: true },
        payload: { alertChannelId: channel, [field]: of, activated: fromFlag(row.activated) },
      },
    ];
  });
}

export async function exportAccount(
  unit: Reading,
  project: ProjectBody['project'],
): Promise<ProjectBody> {
  const names = new Map<string, string>();
  const refer = referBy(names);
  const resources: ProjectResource[] = [];
  const row = await findProject(unit.services.db, unit.accountId, project.logicalId);
  const links = row === undefined ? [] : await linksOf(unit.services.db, row);
  const read: { kind: Kind; stored: Map<string, Stored>; ids: Map<string, string> }[] = [];
  for (const kind of kinds) {
    const stored = await kind.read(unit, null);
    const ids = logicalIdsOf(kind, stored, links, names);
    for (const [id, logicalId] of ids) names.set(keyOf(kind.type, id), logicalId);
    read.push({ kind, stored, ids });
  }
  // Some refer to kinds after theirs.
  for (const { kind, stored, ids } of read) {
    const { type } = kind;
    const own = [...stored].map(([id, { fields }]): ProjectResource => {
      const payload = inOrder(payloadOf(kind, fields, refer), true) as Fields;
      return { logicalId: ids.get(id) ?? id, type, member: true, payload };
    });
    resources.push(...own.sort(byId));
  }
  resources.push(...(await subscriptionsIn(unit, refer)).sort(byId));
  return { project, sharedFiles: [], resources };
}
