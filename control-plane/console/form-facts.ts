/**
 * The forms of the console, from the contract: what each asks for, with limits, defaults and help.
 * Served as JSON, as `form-facts.js`, with the first form.
 */
import { z } from 'zod';
import { accountRoutes, apiKeyRoutes } from '@monitor/shared/contract/account.ts';
import { alertChannelRoutes } from '@monitor/shared/contract/alert-channel.ts';
import { grammarOf } from '@monitor/shared/contract/assertion.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { checkRoutes, checkTypeRoutes } from '@monitor/shared/contract/check-routes.ts';
import { inSentence } from '@monitor/shared/contract/checks/check-type.ts';
import { clientCertificateRoutes } from '@monitor/shared/contract/client-certificate.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { incidentDraftRoutes } from '@monitor/shared/contract/incident-draft.ts';
import { incidentRoutes } from '@monitor/shared/contract/incident.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import { roleOf, type Role, type Route } from '@monitor/shared/contract/route.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import { inputSchema, isJson, type Json } from '@monitor/shared/json-schema.ts';
import { beginnings, sectionsOf, type Section } from './form-layouts.ts';
import {
  entryWords,
  folded,
  helps,
  labels,
  optionWords,
  units,
  verbatim,
  widgets,
} from './form-words.ts';

/** One value that a form asks for. */
export interface Field {
  kind: 'text' | 'number' | 'flag' | 'choice' | 'list' | 'group' | 'variant' | 'json';
  label: string;
  help?: string | undefined;
  isRequired: boolean;
  /** Whether the value may be null: the field can be switched off. */
  isNullable: boolean;
  /** Words that stand in place of a value. */
  words?: string[];
  /** The value of a new entry; absent for none. */
  initial?: unknown;
  example?: string;
  min?: number;
  max?: number;
  isWhole?: boolean;
  /** Beside a number or a choice: `ms`. */
  unit?: string;
  options?: (string | number)[];
  /** Words for options that their codes do not explain. */
  optionWords?: Readonly<Record<string, string>>;
  item?: Field;
  /** One of a list, in words. */
  entry?: string;
  fields?: Record<string, Field>;
  /** `variant`: one group of fields for each value of the field `by`. */
  by?: string;
  variants?: Record<string, Record<string, Field>>;
  /** The options are codes, not words. */
  isVerbatim?: boolean;
  /** Shown on demand, below the others of its group. */
  isFolded?: boolean;
  /** Another input than that of its kind: see `forms/widgets.tsx`. */
  widget?: string;
  /** The comparisons and properties of each source of assertions. */
  grammar?: ReturnType<typeof grammarOf>;
}

export interface Form {
  title: string;
  /** The title within a sentence. */
  noun: string;
  /** Paths as `call` takes them; `{id}` stands for the id of an entry. */
  create: string;
  /** What is said beside the path: a form names its alert channels itself. */
  createQuery: Record<string, string>;
  /** The path of the list; that of version 1 where an entry is made by version 2. */
  list: string;
  read: string | null;
  update: { method: string; path: string } | null;
  remove: string | null;
  /** The field that identifies an entry. */
  id: string;
  /** Fields that an update always carries. */
  needed: string[];
  /** What a new entry carries without being asked for: required fields without effect. */
  always: Record<string, unknown>;
  /** Fields that only a new entry has. */
  onlyNew: string[];
  role: Role;
  fields: Record<string, Field>;
  sections: Section[];
}

/** `alertChannel` is "Alert channel". */
function inWords(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const labelOf = (name: string, path: string): string =>
  labels[path] ?? labels[name] ?? inWords(name);

/** The part of a union that is asked for; the rest are switches: null, and single words. */
function asked(schema: Json): { schema: Json; isNullable: boolean; words: string[] } {
  if (Array.isArray(schema['type'])) {
    const [type] = schema['type'].filter((one) => one !== 'null') as string[];
    return { schema: { ...schema, type }, isNullable: schema['type'].includes('null'), words: [] };
  }
  const { anyOf, ...beside } = schema;
  if (!Array.isArray(anyOf)) return { schema, isNullable: false, words: [] };
  const parts = (anyOf as Json[]).flatMap(
    (part) => (part['anyOf'] as Json[] | undefined) ?? [part],
  );
  const words = parts.map((part) => part['const']).filter((word) => typeof word === 'string');
  const main = parts.find((part) => part['type'] !== 'null' && part['const'] === undefined);
  return {
    schema: { ...main, ...beside },
    isNullable: parts.some((part) => part['type'] === 'null'),
    words,
  };
}

function kindOf({ type, properties, items, ...schema }: Json): Field['kind'] {
  if (Array.isArray(schema['enum'])) return 'choice';
  if (isJson(properties) && Object.keys(properties).length > 0) return 'group';
  if (type === 'array' && items !== undefined) return 'list';
  if (type === 'boolean') return 'flag';
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'string' ? 'text' : 'json';
}

function boundsOf(schema: Json): Pick<Field, 'min' | 'max'> {
  const min = schema['minimum'] ?? schema['minLength'] ?? schema['minItems'];
  const max = schema['maximum'] ?? schema['maxLength'] ?? schema['maxItems'];
  return {
    ...(typeof min === 'number' && { min }),
    ...(typeof max === 'number' && { max }),
  };
}

function fieldsOf(schema: Json, path: string): Record<string, Field> {
  const required = (schema['required'] ?? []) as string[];
  return Object.fromEntries(
    Object.entries(schema['properties'] as Record<string, Json>)
      // A constant is nothing to ask for.
      .filter(([, inner]) => inner['deprecated'] !== true && inner['const'] === undefined)
      .map(([name, inner]) => {
        const at = path === '' ? name : `${path}.${name}`;
        return [name, fieldOf(inner, name, at, required.includes(name))];
      }),
  );
}

function fieldOf(given: Json, name: string, path: string, isRequired: boolean): Field {
  const { schema, isNullable, words } = asked(given);
  const kind = kindOf(schema);
  const widget = widgets[path] ?? widgets[name];
  const { description, example } = schema;
  const initial = path in beginnings ? beginnings[path] : schema['default'];
  const help = helps[path] ?? helps[name] ?? description;
  const unit = units[path] ?? units[name];
  const spoken = optionWords[path] ?? optionWords[name];
  const entry = entryWords[name];
  return {
    kind,
    label: labelOf(name, path),
    ...(typeof help === 'string' && help !== '' && { help: help.replaceAll('`', '') }),
    ...(unit !== undefined && { unit }),
    ...(spoken !== undefined && { optionWords: spoken }),
    isRequired,
    isNullable,
    ...(words.length > 0 && { words }),
    ...(initial !== undefined && { initial }),
    ...(typeof example === 'string' && { example }),
    ...boundsOf(schema),
    ...(schema['type'] === 'integer' && { isWhole: true }),
    ...(kind === 'choice' && { options: schema['enum'] as string[] }),
    ...(kind === 'list' && { item: fieldOf(schema['items'] as Json, name, path, true) }),
    ...(kind === 'list' && entry !== undefined && { entry }),
    ...(kind === 'group' && { fields: fieldsOf(schema, path) }),
    ...(widget !== undefined && { widget }),
    ...(folded.has(name) && { isFolded: true }),
    ...(kind === 'choice' && verbatim.has(name) && { isVerbatim: true }),
    ...(isJson(schema['grammar']) && { grammar: schema['grammar'] as Field['grammar'] }),
  };
}

function only<T>(record: Record<string, T>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(names.map((name) => [name, record[name] as T]));
}

/** The fields of a body; those of a union stand in groups by the value of its first field. */
function bodyFields(body: z.ZodType): Record<string, Field> {
  const schema = inputSchema(body, ({ zodSchema, jsonSchema }) => {
    const grammar = grammarOf(zodSchema);
    if (grammar !== undefined) Object.assign(jsonSchema, { grammar });
  });
  const branches = (schema['oneOf'] ?? schema['anyOf']) as Json[] | undefined;
  if (branches === undefined) return fieldsOf(schema, '');
  const [first] = branches as [Json];
  const { config, ...common } = fieldsOf(first, '') as Record<'config', Field>;
  const type: Field = { kind: 'choice', label: 'Type', isRequired: true, isNullable: false };
  const variants = Object.fromEntries(
    branches.map((branch) => {
      const of = (branch['properties'] as { type: { const: string } }).type.const;
      return [of, fieldsOf((branch['properties'] as { config: Json }).config, 'config')];
    }),
  );
  return {
    type: { ...type, options: Object.keys(variants) },
    config: { ...config, kind: 'variant', by: 'type', variants },
    ...common,
  };
}

function pathOf({ path }: Route): string {
  return path.slice(1).replace(/\{\w+\}$/, '{id}');
}

interface Resource {
  title: string;
  create: Route;
  read?: Route;
  update?: Route;
  remove?: Route;
  id?: string;
  /** That of a check. */
  type?: string;
  /** Leaves out what has no effect, or is done in another place. */
  without?: readonly string[];
  sample?: Readonly<Record<string, unknown>>;
}

/** The operations of a resource by its name, which is also its title. */
function formBy<Name extends string>(
  name: Name,
  routes: Record<`create${Name}` | `get${Name}` | `delete${Name}`, Route>,
  more: Partial<Resource> = {},
): Resource {
  const named: Readonly<Record<string, Route | undefined>> = { ...routes };
  const { create, read, update, remove } = {
    ...{ create: named[`create${name}`], read: named[`get${name}`] },
    ...{ update: named[`update${name}`], remove: named[`delete${name}`] },
  };
  if (create === undefined || read === undefined || remove === undefined) throw new Error(name);
  return { title: inWords(name), create, read, ...(update && { update }), remove, ...more };
}

/** The fields of groups that are always there stand by themselves in a layout. */
export function paths(fields: Record<string, Field>, at = ''): string[] {
  return Object.entries(fields).flatMap(
    ([name, { kind, fields: inner, isRequired, isNullable }]) =>
      kind === 'group' && inner !== undefined && isRequired && !isNullable
        ? paths(inner, `${at}${name}.`)
        : [at + name],
  );
}

function formOf(name: string, resource: Resource): Form {
  const { title, create, read, update, remove, id = 'id', type } = resource;
  const { without = [], sample = {} } = resource;
  const all = bodyFields(create.body ?? z.object({}));
  const fields = only(
    all,
    Object.keys(all).filter((field) => !without.includes(field)),
  );
  const changed = update?.body === undefined ? {} : bodyFields(update.body);
  return {
    title,
    noun: inSentence(title),
    create: pathOf(create),
    createQuery: 'alertChannelSubscriptions' in fields ? { autoAssignAlerts: 'false' } : {},
    list: pathOf(create).replace('v2/', 'v1/'),
    read: read === undefined ? null : pathOf(read),
    update: update === undefined ? null : { method: update.method, path: pathOf(update) },
    remove: remove === undefined ? null : pathOf(remove),
    id,
    needed: Object.keys(changed).filter((field) => changed[field]?.isRequired === true),
    always: Object.fromEntries(
      without
        .filter((field) => all[field]?.isRequired === true)
        .map((field) => [field, sample[field]]),
    ),
    onlyNew: update === undefined ? [] : Object.keys(fields).filter((field) => !(field in changed)),
    role: roleOf(create),
    fields,
    sections: sectionsOf(name, type, type === undefined ? Object.keys(fields) : paths(fields)),
  };
}

/** Fields that monitors accept for existing clients, and that change nothing about their runs. */
const withoutEffect = [
  'heartbeat',
  'script',
  'scriptPath',
  'sslCheckDomain',
  'environmentVariables',
  'setupSnippetId',
  'tearDownSnippetId',
  'localSetupScript',
  'localTearDownScript',
];

const checks = Object.fromEntries(
  checkTypeRoutes.map(({ definition, create, update }) => {
    const { type, title, runtime, isRetried, definitionKeys } = definition;
    const hasEffect = (field: string): boolean =>
      definitionKeys.includes(field) ||
      (runtime !== 'never' && !['heartbeat', 'script', 'sslCheckDomain'].includes(field));
    return [
      `check-${type}`,
      formOf('check', {
        title,
        type,
        create,
        read: checkRoutes.getCheck,
        // The path of all types is that of `getCheck`, so an update can name what it was read as.
        update: { ...checkRoutes.updateCheck, body: update.body },
        remove: checkRoutes.deleteCheck,
        sample: definition.sample,
        without: [
          ...withoutEffect.filter((field) => !hasEffect(field)),
          'scriptPath',
          'cacheHash',
          'playwrightConfig',
          'snapshots',
          'signature',
          ...(runtime === 'never' ? ['runtimeId'] : []),
          ...(isRetried ? [] : ['retryStrategy']),
        ],
      }),
    ];
  }),
);

export const forms: Readonly<Record<string, Form>> = {
  ...checks,
  ...Object.fromEntries(
    Object.entries({
      group: formBy('CheckGroup', checkGroupRoutes, {
        title: 'Group',
        without: ['browserCheckDefaults'],
      }),
      variable: formBy('Variable', variableRoutes, { id: 'key' }),
      snippet: formBy('Snippet', snippetRoutes),
      channel: formBy('AlertChannel', alertChannelRoutes, { without: ['subscriptions'] }),
      policy: formBy('EscalationPolicy', escalationPolicyRoutes),
      location: formBy('PrivateLocation', privateLocationRoutes, {
        without: ['icon', 'resultEncryptionKeys'],
      }),
      certificate: formBy('ClientCertificate', clientCertificateRoutes),
      page: formBy('StatusPage', statusPageRoutes),
      service: formBy('Service', serviceRoutes),
      incident: formBy('Incident', incidentRoutes),
      window: formBy('MaintenanceWindow', maintenanceWindowRoutes),
      account: {
        title: 'Account',
        create: {
          ...accountRoutes.updateAccount,
          body: accountRoutes.updateAccount.body.required(),
        },
        read: accountRoutes.getAccount,
        update: accountRoutes.updateAccount,
      },
      key: {
        title: 'API key',
        create: apiKeyRoutes.createApiKey,
        remove: apiKeyRoutes.revokeApiKey,
      },
    } satisfies Record<string, Resource>).map(([name, resource]) => [name, formOf(name, resource)]),
  ),
};

/** An update of an incident. Its path begins with that of the incident. */
export const incidentUpdateForm = formOf('update', {
  title: 'Update',
  create: incidentRoutes.createIncidentUpdate,
});
/** What a draft of an incident becomes. Its path names the draft. */
export const publishForm = formOf('publish', {
  title: 'Incident',
  create: incidentDraftRoutes.publishIncidentDraft,
  remove: incidentDraftRoutes.dismissIncidentDraft,
});
export { dataCenterLocations };
