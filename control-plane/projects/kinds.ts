/**
 * The kinds of resources that projects own, as the modules behind them create, change and delete
 * them: by the very schemas, roles and verbs of the API.
 */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import {
  alertChannelRoutes,
  type AlertChannelType,
} from '@monitor/shared/contract/alert-channel.ts';
import { alertSettings, type RetryStrategy } from '@monitor/shared/contract/check.ts';
import { checkGroupRoutes } from '@monitor/shared/contract/check-group.ts';
import { fieldsOfAnyType } from '@monitor/shared/contract/check-routes.ts';
import { checkTypes, findCheckType, isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import { includesRole, type Role, type Route, roleOf } from '@monitor/shared/contract/route.ts';
import { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { variableRoutes } from '@monitor/shared/contract/variable.ts';
import type { LocationKeys } from '../accounts/index.ts';
import {
  alertChannelHandlers,
  escalationPolicyHandlers,
  fieldsOfPolicy,
  preferencesOf,
} from '../alerting/index.ts';
import {
  createCheck,
  createGroup,
  deleteCheck,
  deleteGroup,
  fieldsOf,
  groupFieldsOf,
  snippetHandlers,
  updateCheck,
  updateGroup,
  variableHandlers,
} from '../checks/index.ts';
import { isEncryptedVariable, mapCredentials } from '../core/decide/credentials.ts';
import type { Services } from '../core/services.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { eachOf } from '../db/expressions.ts';
import { ApiError, invalidField } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { CallContext } from '../http/call-context.ts';
import { bodyFields, type BodyFields, refuseMisspelt, validate } from '../http/validate.ts';
import {
  maintenanceWindowHandlers,
  windowColumnsOf,
  windowFieldsOf,
} from '../maintenance/index.ts';
import { privateLocationHandlers } from '../scheduling/index.ts';
import {
  dashboardFieldsOf,
  dashboardHandlers,
  presentStatusPages,
  serviceHandlers,
  statusPageHandlers,
} from '../status-pages/index.ts';
import { type References, refIn } from './references.ts';

export type Fields = Record<string, unknown>;

/** The transaction of a deployment. */
export interface Unit {
  /** Every write of these is part of the transaction. */
  services: Services;
  call: CallContext<ApiPrincipal>;
  accountId: string;
  /** New checks wait for their schedule. */
  runsLater: boolean;
}

/** What reading needs of it. */
export interface Reading {
  services: Pick<Services, 'db' | 'secrets' | 'domains'>;
  accountId: string;
}

/** A resource as it is stored. */
export interface Stored {
  /** By which its verbs find it. */
  handle: string;
  /** As the body of its creation has them, credentials as well. */
  fields: Fields;
}

export interface Kind {
  type: ResourceType;
  /** The lowest role of those who may create, change and delete it. */
  role: Role;
  /** The body of its creation. `slugs` are the private locations that were assigned to it. */
  parse(payload: Fields, references: References, slugs: readonly string[]): Fields;
  /** What is there of these ids, or of the whole account for null. */
  read(unit: Reading, ids: readonly string[] | null): Promise<Map<string, Stored>>;
  /** The payload from which a project would make it, with ids in place of references. */
  write(stored: Fields): Fields;
  /** Fields that existing clients do not know: they stay as people set them. */
  own?: readonly string[];
  /** Existing clients have no construct for it. */
  isUnknownToClients?: boolean;
  create(unit: Unit, body: Fields): Promise<string | number>;
  update(unit: Unit, stored: Stored, body: Fields): Promise<unknown>;
  remove(unit: Unit, stored: Stored): Promise<unknown>;
  /** Whether a change would change nothing. By default fields are compared one by one. */
  isSame?(stored: Fields, body: Fields): boolean;
  /** Whether it must be made anew, because what differs cannot change. */
  isOther?(stored: Fields, body: Fields): boolean;
  /**
   * The field by which people find it, which no two share. What a project has renamed is known by it,
   * and stays what it is.
   */
  address?: string;
}

/** Refuses a role that may not change resources of a kind. */
export function requireRole({ role: neededRole }: Kind, role: Role): void {
  if (includesRole(role, neededRole)) return;
  throw new ApiError('FORBIDDEN', `your role is ${role}; to change one needs ${neededRole}`, {
    ...{ role, neededRole },
  });
}

const known = new WeakMap<z.ZodType, BodyFields>();

/** A payload by the schema of a REST body, as strictly as the API reads it. */
function parseBy(schema: z.ZodType, payload: Fields, related: readonly z.ZodType[] = []): Fields {
  let fields = known.get(schema);
  if (fields === undefined) {
    fields = bodyFields(schema, related);
    known.set(schema, fields);
  }
  const body = validate(schema, payload, 'payload') as Fields;
  refuseMisspelt(fields, payload);
  return body;
}

/** The input of a handler; the schema of its route has parsed the body. */
const inputOf = ({ params, body }: { params?: Fields; body?: Fields }): never =>
  ({ params, query: undefined, body }) as never;

const related = ({ response }: Route): z.ZodType[] => (response === undefined ? [] : [response]);

/** As it would be stored: without what JSON leaves out. */
const plain = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);

/** Whether every field of a body is stored as it is given. */
export function isEqual(stored: Fields, body: Fields): boolean {
  return Object.entries(body).every(([name, value]) =>
    isDeepStrictEqual(stored[name], plain(value)),
  );
}

/** Subscriptions stand on their own in a project. */
function refuseSubscriptions(payload: Fields, field: string): void {
  const given = payload[field];
  if (given === undefined || (Array.isArray(given) && given.length === 0)) return;
  throw invalidField(
    field,
    'must be resources of the type alert-channel-subscription in a project',
  );
}

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
  const byKey = new Map((before as EnvironmentVariable[]).map((each) => [each.key, each]));
  const environmentVariables = (given as EnvironmentVariable[]).map((each) => {
    const old = byKey.get(each.key);
    if (old === undefined) return each;
    return { ...each, secret: each.secret || old.secret, value: each.value ?? old.value };
  });
  return { ...body, environmentVariables };
}

/** Clients may name anything; no id is negative, and a list may not be empty. */
const numbersIn = (ids: readonly string[]): number[] => [
  -1,
  ...ids.map(Number).filter(Number.isSafeInteger),
];

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

/** Clients take settings of a check for its own, which win over those of the account. */
function withoutPlainAlertSettings(stored: Fields): Fields {
  const { alertSettings: given, ...rest } = stored;
  const isPlain = isDeepStrictEqual(given, plainAlertSettings);
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

const checks: Kind = {
  type: 'check',
  role: 'READ_WRITE',
  parse(payload, references, slugs) {
    // Clients compute it from other files than the bundle, and agents would refuse the bundle for it.
    const { checkType, cacheHash: _ofClient, ...given } = payload;
    const definition = definitionOf(checkType);
    refuseSubscriptions(given, 'alertChannelSubscriptions');
    const incident = given['triggerIncident'];
    const resolved: Fields = {
      ...withReferences(given, references),
      ...(isPinged(definition.type) ? {} : locationsIn(given, references, slugs)),
      groupId: references.id(given['groupId'], 'check-group', 'groupId'),
      dependencies: references.files(given['dependencies'], 'dependencies'),
    };
    if (typeof incident === 'object' && incident !== null) {
      const { serviceId } = incident as Fields;
      const field = 'triggerIncident.serviceId';
      const id = references.id(serviceId, 'status-page-service', field);
      resolved['triggerIncident'] = { ...incident, serviceId: id };
    }
    const body = parseBy(definition.create, plain(resolved) as Fields, [fieldsOfAnyType]);
    return { checkType: definition.type, ...body };
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('checks')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', eachOf(ids ?? [])))
      .where('is_trial', '=', 0)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    const decrypt = (value: string): string => services.secrets.decryptStored(value, accountId);
    return new Map(
      rows.map((row) => {
        const fields = mapCredentials(fieldsOf(row), decrypt, 'encrypted');
        return [row.id, { handle: row.id, fields: { checkType: row.type, ...fields } }];
      }),
    );
  },
  async create({ services, accountId, runsLater }, { checkType, ...body }) {
    const row = await createCheck(...[services, accountId, definitionOf(checkType), body, false], {
      runsLater,
    });
    return row.id;
  },
  update({ services, accountId }, { handle }, { checkType, ...body }) {
    const { alertChannelSubscriptions: _own, ...changes } = body;
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
    const body = withKeptVariables(stored, given);
    if (!isPinged(String(body['checkType']))) return isEqual(stored, body);
    const heartbeat = heartbeatAsGiven(stored['heartbeat'], body['heartbeat']);
    return isEqual({ ...stored, heartbeat }, body);
  },
  isOther: (stored, body) => stored['checkType'] !== body['checkType'],
};

const groups: Kind = {
  type: 'check-group',
  role: roleOf(checkGroupRoutes.createCheckGroup),
  parse(payload, references, slugs) {
    const { v, ...given } = payload;
    refuseSubscriptions(given, 'alertChannelSubscriptions');
    const { createCheckGroup: v2, createCheckGroupV1: v1 } = checkGroupRoutes;
    const named = withReferences(given, references);
    const resolved = { ...named, ...locationsIn(given, references, slugs) };
    return parseBy(v === 2 ? v2.body : v1.body, plain(resolved) as Fields, related(v2));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('check_groups')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
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
    isEqual(stored, withKeptVariables(stored, body)),
};

/** Their warnings are for people who make a channel by hand. */
const channelHandlers = (services: Services) => alertChannelHandlers(services, true);

const channels: Kind = {
  type: 'alert-channel',
  own: ['grouping', 'timezone'],
  write: (stored) => stored,
  role: roleOf(alertChannelRoutes.createAlertChannel),
  parse(payload) {
    refuseSubscriptions(payload, 'subscriptions');
    const { createAlertChannel: route } = alertChannelRoutes;
    const { subscriptions: _none, ...body } = parseBy(route.body, payload, related(route));
    return body;
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('alert_channels')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map((row) => {
        const config: unknown = fromJson(
          services.secrets.decryptStored(row.config_json, accountId),
        );
        const fields = { type: row.type as AlertChannelType, config, ...preferencesOf(row) };
        return [String(row.id), { handle: String(row.id), fields }];
      }),
    );
  },
  async create({ services, call }, body) {
    return (await channelHandlers(services).createAlertChannel(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return channelHandlers(services).updateAlertChannel(
      inputOf({ params: { id: Number(handle) }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return channelHandlers(services).deleteAlertChannel(
      inputOf({ params: { id: Number(handle) } }),
      call,
    );
  },
  isOther: (stored, body) => stored['type'] !== body['type'],
};

/** Nobody would see the first key of a location that a project makes: people create it when they need it. */
const keysOf = ({ services: { afterDeployment } }: Unit): LocationKeys => ({
  create: () => Promise.resolve({ id: '', rawKey: '', maskedKey: '', createdAt: 0 }),
  forget: afterDeployment.forgetKeys,
});

const locations: Kind = {
  type: 'private-location',
  write: (stored) => stored,
  address: 'slugName',
  role: roleOf(privateLocationRoutes.createPrivateLocation),
  parse(payload) {
    const { createPrivateLocation: route } = privateLocationRoutes;
    return parseBy(route.body, payload, related(route));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('private_locations')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map(({ id, name, slug_name: slugName, icon, proxy_url: proxy }) => {
        const proxyUrl = proxy === null ? null : services.secrets.decryptStored(proxy, accountId);
        return [id, { handle: id, fields: { name, slugName, icon, proxyUrl } }];
      }),
    );
  },
  async create(unit, body) {
    const handlers = privateLocationHandlers(unit.services, keysOf(unit));
    return (await handlers.createPrivateLocation(inputOf({ body }), unit.call)).id;
  },
  update(unit, { handle }, { slugName: _same, ...body }) {
    const handlers = privateLocationHandlers(unit.services, keysOf(unit));
    return handlers.updatePrivateLocation(inputOf({ params: { id: handle }, body }), unit.call);
  },
  remove(unit, { handle }) {
    const handlers = privateLocationHandlers(unit.services, keysOf(unit));
    return handlers.deletePrivateLocation(inputOf({ params: { id: handle } }), unit.call);
  },
  isOther: (stored, body) => stored['slugName'] !== body['slugName'],
};

const windows: Kind = {
  type: 'maintenance-window',
  own: ['timezone', 'description', 'pauseAllChecks'],
  write: (stored) => stored,
  role: roleOf(maintenanceWindowRoutes.createMaintenanceWindow),
  parse(payload) {
    const { createMaintenanceWindow: route } = maintenanceWindowRoutes;
    return parseBy(route.body, payload, related(route));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('maintenance_windows')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map((row) => [
        String(row.id),
        { handle: String(row.id), fields: { ...windowFieldsOf(row) } },
      ]),
    );
  },
  async create({ services, call }, body) {
    return (
      await maintenanceWindowHandlers(services).createMaintenanceWindow(inputOf({ body }), call)
    ).id;
  },
  update({ services, call }, { handle }, body) {
    return maintenanceWindowHandlers(services).updateMaintenanceWindow(
      inputOf({ params: { id: Number(handle) }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return maintenanceWindowHandlers(services).deleteMaintenanceWindow(
      inputOf({ params: { id: Number(handle) } }),
      call,
    );
  },
  // Instants may be written in many ways.
  isSame: (stored, body) =>
    isDeepStrictEqual(
      windowColumnsOf(stored as never),
      windowColumnsOf({ ...stored, ...body } as never),
    ),
};

const dashboards: Kind = {
  type: 'dashboard',
  write: (stored) => stored,
  address: 'customUrl',
  role: roleOf(dashboardRoutes.createDashboard),
  parse(payload) {
    const { createDashboard: route } = dashboardRoutes;
    const { keys: _own, ...body } = parseBy(route.body, payload, related(route));
    return body;
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('dashboards')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map((row) => {
        const { keys: _own, ...fields } = dashboardFieldsOf(row, services.secrets);
        return [String(row.id), { handle: row.dashboard_id, fields }];
      }),
    );
  },
  async create({ services, call }, body) {
    const made = { ...body, keys: [] };
    return (await dashboardHandlers(services).createDashboard(inputOf({ body: made }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return dashboardHandlers(services).updateDashboard(
      inputOf({ params: { dashboardId: handle }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return dashboardHandlers(services).deleteDashboard(
      inputOf({ params: { dashboardId: handle } }),
      call,
    );
  },
};

const pageServices: Kind = {
  type: 'status-page-service',
  write: (stored) => stored,
  role: roleOf(serviceRoutes.createService),
  parse(payload) {
    return parseBy(serviceRoutes.createService.body, payload, related(serviceRoutes.createService));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('services')
      .select(['id', 'name'])
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(rows.map(({ id, name }) => [id, { handle: id, fields: { name } }]));
  },
  async create({ services, call }, body) {
    return (await serviceHandlers(services).createService(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return serviceHandlers(services).updateService(
      inputOf({ params: { serviceId: handle }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return serviceHandlers(services).deleteService(
      inputOf({ params: { serviceId: handle } }),
      call,
    );
  },
};

interface Card {
  id?: string;
  name: string;
  services: { id: string }[];
}

/** What a page has when its project does not say. Further fields stay as people set them. */
const plainPage = {
  ...{ description: null, customDomain: null, themeColors: null, logo: null },
  ...{ redirectTo: null, favicon: null, defaultTheme: 'AUTO' },
};

const pages: Kind = {
  type: 'status-page',
  write(stored) {
    const names = ['name', 'url', 'cards', ...Object.keys(plainPage)];
    return Object.fromEntries(names.map((name) => [name, stored[name]]));
  },
  address: 'url',
  role: roleOf(statusPageRoutes.createStatusPage),
  parse(payload, references) {
    const { createStatusPage: route } = statusPageRoutes;
    const given = payload['cards'];
    const cards = Array.isArray(given)
      ? given.map((card: unknown, at) => cardOf(card, references, `cards.${at}`))
      : given;
    const resolved = plain({ ...plainPage, ...(plain(payload) as Fields), cards }) as Fields;
    return parseBy(route.body, resolved, related(route));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('status_pages')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    const wires = await presentStatusPages(services, accountId, rows);
    return new Map(
      wires.map((wire) => {
        const cards = wire.cards.map(({ id, name, services: ofCard }) => ({
          ...{ id, name },
          services: ofCard.map((service) => ({ id: service.id })),
        }));
        return [wire.id, { handle: wire.id, fields: { ...wire, cards } }];
      }),
    );
  },
  async create({ services, call }, body) {
    return (await statusPageHandlers(services).createStatusPage(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle, fields }, body) {
    const before = fields['cards'] as Required<Card>[];
    const cards = keepCardIds(before, body['cards'] as Card[]);
    const input = { params: { statusPageId: handle }, body: { ...body, cards } };
    return statusPageHandlers(services).updateStatusPage(inputOf(input), call);
  },
  remove({ services, call }, { handle }) {
    return statusPageHandlers(services).deleteStatusPage(
      inputOf({ params: { statusPageId: handle } }),
      call,
    );
  },
  isSame(stored, body) {
    const withoutIds = (cards: unknown) =>
      (cards as Card[]).map(({ name, services }) => ({
        name,
        services: [...new Set(services.map(({ id }) => id))],
      }));
    const compared = (page: Fields): Fields => ({ ...page, cards: withoutIds(page['cards']) });
    return isEqual(compared(stored), compared(body));
  },
};

function cardOf(card: unknown, references: References, field: string): unknown {
  if (typeof card !== 'object' || card === null) return card;
  const { services } = card as Fields;
  if (!Array.isArray(services)) return card;
  const ids = services.map((service: unknown, at) =>
    refIn(service) === null
      ? service
      : { id: references.id(service, 'status-page-service', `${field}.services.${at}`) },
  );
  return { ...card, services: ids };
}

/** A card that keeps its name keeps its id. */
function keepCardIds(before: readonly Required<Card>[], cards: readonly Card[]): Card[] {
  const left = [...before];
  return cards.map((card) => {
    const at = left.findIndex(({ name }) => name === card.name);
    const [same] = at === -1 ? [] : left.splice(at, 1);
    return same === undefined ? card : { ...card, id: same.id };
  });
}

const variables: Kind = {
  type: 'variable',
  isUnknownToClients: true,
  address: 'key',
  role: roleOf(variableRoutes.createVariable),
  parse: (payload) =>
    parseBy(variableRoutes.createVariable.body, payload, related(variableRoutes.createVariable)),
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('variables')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('key', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('key')
      .execute();
    return new Map(
      rows.map(({ key, value: stored, ...row }) => {
        const kept = { locked: fromFlag(row.locked), secret: fromFlag(row.secret) };
        const value = isEncryptedVariable(kept)
          ? services.secrets.decryptStored(stored, accountId)
          : stored;
        return [key, { handle: key, fields: { key, value, ...kept } }];
      }),
    );
  },
  write: (stored) => (stored['secret'] === true ? { ...stored, value: null } : stored),
  async create({ services, call }, body) {
    const input = { params: undefined, query: undefined, body: body as never };
    return (await variableHandlers(services).createVariable(input, call)).key;
  },
  update({ services, call }, { handle }, body) {
    const input = { params: { key: handle }, query: undefined, body: body as never };
    return variableHandlers(services).updateVariable(input, call);
  },
  remove({ services, call }, { handle }) {
    const input = { params: { key: handle }, query: undefined, body: undefined };
    return variableHandlers(services).deleteVariable(input, call);
  },
  isOther: (stored, body) => stored['key'] !== body['key'],
};

const snippets: Kind = {
  type: 'snippet',
  isUnknownToClients: true,
  role: roleOf(snippetRoutes.createSnippet),
  parse: (payload) =>
    parseBy(snippetRoutes.createSnippet.body, payload, related(snippetRoutes.createSnippet)),
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('snippets')
      .select(['id', 'name', 'script'])
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', numbersIn(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map(({ id, name, script }) => [
        String(id),
        { handle: String(id), fields: { name, script } },
      ]),
    );
  },
  write: (stored) => stored,
  async create({ services, call }, body) {
    const input = { params: undefined, query: undefined, body: body as never };
    return (await snippetHandlers(services).createSnippet(input, call)).id;
  },
  update({ services, call }, { handle }, body) {
    const input = { params: { id: Number(handle) }, query: undefined, body: body as never };
    return snippetHandlers(services).updateSnippet(input, call);
  },
  remove({ services, call }, { handle }) {
    const input = { params: { id: Number(handle) }, query: undefined, body: undefined };
    return snippetHandlers(services).deleteSnippet(input, call);
  },
};

const policies: Kind = {
  type: 'escalation-policy',
  isUnknownToClients: true,
  role: roleOf(escalationPolicyRoutes.createEscalationPolicy),
  parse(payload, references) {
    const { createEscalationPolicy: route } = escalationPolicyRoutes;
    const given = payload['steps'];
    const steps = Array.isArray(given)
      ? given.map((step: unknown, at) => stepOf(step, references, `steps.${at}`))
      : given;
    return parseBy(route.body, plain({ ...payload, steps }) as Fields, related(route));
  },
  async read({ services, accountId }, ids) {
    const rows = await services.db
      .selectFrom('escalation_policies')
      .selectAll()
      .where('account_id', '=', accountId)
      .$if(ids !== null, (rows) => rows.where('id', 'in', eachOf(ids ?? [])))
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return new Map(
      rows.map((row) => [row.id, { handle: row.id, fields: { ...fieldsOfPolicy(row) } }]),
    );
  },
  write: (stored) => stored,
  async create({ services, call }, body) {
    const input = { params: undefined, query: undefined, body: body as never };
    return (await escalationPolicyHandlers(services).createEscalationPolicy(input, call)).id;
  },
  update({ services, call }, { handle }, body) {
    const input = { params: { id: handle }, query: undefined, body: body as never };
    return escalationPolicyHandlers(services).updateEscalationPolicy(input, call);
  },
  remove({ services, call }, { handle }) {
    const input = { params: { id: handle }, query: undefined, body: undefined };
    return escalationPolicyHandlers(services).deleteEscalationPolicy(input, call);
  },
};

function stepOf(step: unknown, references: References, field: string): unknown {
  if (typeof step !== 'object' || step === null) return step;
  const { alertChannelIds } = step as Fields;
  if (!Array.isArray(alertChannelIds)) return step;
  const ids = alertChannelIds.map((id: unknown, at) =>
    references.id(id, 'alert-channel', `${field}.alertChannelIds.${at}`),
  );
  return { ...step, alertChannelIds: ids };
}

/** Snippets and policies that a check or group names. */
function withReferences(given: Fields, references: References): Fields {
  const resolved: Fields = { ...given };
  for (const field of ['setupSnippetId', 'tearDownSnippetId']) {
    if (field in given) resolved[field] = references.id(given[field], 'snippet', field);
  }
  const settings = given['alertSettings'];
  if (typeof settings !== 'object' || settings === null) return resolved;
  const { escalationPolicyId } = settings as Fields;
  if (escalationPolicyId === undefined) return resolved;
  const field = 'alertSettings.escalationPolicyId';
  const id = references.id(escalationPolicyId, 'escalation-policy', field);
  return { ...resolved, alertSettings: { ...settings, escalationPolicyId: id } };
}

/** In the order in which they are created: none refers to a later one. They are deleted backwards. */
export const kinds: readonly Kind[] = [
  locations,
  channels,
  variables,
  snippets,
  policies,
  pageServices,
  groups,
  checks,
  pages,
  windows,
  dashboards,
];
