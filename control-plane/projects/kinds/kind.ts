/** What a kind of resources is to projects, and what kinds share. */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { includesRole, type Role, roleOf, type Route } from '@monitor/shared/contract/route.ts';
import type { Services } from '../../core/services.ts';
import { ApiError, invalidField } from '../../errors/api-error.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { Owned } from '../../db/own-rows.ts';
import type { Column, Resource } from '../../resources/index.ts';
import type { CallContext } from '../../http/call-context.ts';
import {
  bodyFields,
  type BodyFields,
  notKept,
  refuseMisspelt,
  validate,
} from '../../http/validate.ts';
import { mapReferences, type ReferencePaths, type References } from '../references.ts';

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
export type Reading = Pick<Unit, 'services' | 'accountId'>;

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
  /** Its fields with ids of other resources. */
  references?: ReferencePaths;
  /** Fields that existing clients do not know, or leave out to leave them alone: they stay as people set them. */
  keptUnlessGiven?: readonly string[];
  /** Those of them that people change in operation: a project that says everything else keeps them too. */
  ofOperation?: readonly string[];
  /** Those of them that a replacement takes over. */
  keptWhenReplaced?: readonly string[];
  /** Adjusts a change by what is stored and what the payload says. */
  settle?(changes: Fields, on: { stored: Fields; payload: Fields; isComplete: boolean }): Fields;
  /** Fields with ids of kinds that are made after it: they are set once those are there. */
  later?: readonly string[];
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

/** A payload with ids in place of its references, as it would be stored: without what JSON leaves out. */
export const resolved = (payload: Fields, paths: ReferencePaths, references: References): Fields =>
  plain(
    mapReferences(payload, paths, (found, type, field) => references.id(found, type, field)),
  ) as Fields;

const known = new WeakMap<z.ZodType, BodyFields>();

/**
 * A payload by the schema of a REST body, as strictly as the API reads it. What it does not keep is noted
 * with the references.
 */
export function parseBy(
  schema: z.ZodType,
  payload: Fields,
  related: readonly z.ZodType[],
  { ignored }: Pick<References, 'ignored'>,
): Fields {
  let fields = known.get(schema);
  if (fields === undefined) {
    fields = bodyFields(schema, related);
    known.set(schema, fields);
  }
  const body = validate(schema, payload, 'payload') as Fields;
  ignored.push(...notKept(refuseMisspelt(fields, payload), body));
  return body;
}

/**
 * A kind that is a plain resource: the schema and the role of the route that creates it, and the verbs of the resource.
 * `id` is the column of the id of a row, where paths name it by another.
 */
export function kindOf<
  const Type extends ResourceType,
  Table extends Owned,
  Kept extends object,
  Wire,
>(kind: {
  type: Type;
  route: Route & { body: z.ZodType<Kept> };
  of: (services: Services) => Resource<Table, Kept, Wire>;
  id?: Column<Table>;
  references?: ReferencePaths;
}): Pick<
  Kind,
  'role' | 'references' | 'parse' | 'read' | 'write' | 'create' | 'update' | 'remove'
> & {
  type: Type;
} {
  const { type, route, references: paths = {} } = kind;
  const verbs = ({ services }: Reading) => kind.of(services);
  return {
    type,
    role: roleOf(route),
    references: paths,
    parse: (payload, references) =>
      parseBy(route.body, resolved(payload, paths, references), related(route), references),
    async read(unit, ids) {
      const { among, key, fieldsOf } = verbs(unit);
      const rows = await among(unit.accountId, ids, kind.id);
      return new Map(
        rows.map((row) => [
          String(row[kind.id ?? key]),
          { handle: String(row[key]), fields: { ...fieldsOf(row) } as Fields },
        ]),
      );
    },
    write: (stored) => stored,
    async create(unit, body) {
      const { create, key } = verbs(unit);
      // `parse` has read it by the schema of the route.
      return String((await create(unit.accountId, body as Kept))[kind.id ?? key]);
    },
    update: (unit, { handle }, body) =>
      verbs(unit).update(unit.accountId, handle, body as Partial<Kept>),
    remove: (unit, { handle }) => verbs(unit).remove(unit.accountId, handle),
  };
}

export const related = ({ response }: Route): z.ZodType[] =>
  response === undefined ? [] : [response];

/** The fields of these names that there are. */
export const only = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

/** Fields without those of these names. */
export const without = (fields: Fields, names: readonly string[] = []): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** As it would be stored: without what JSON leaves out. */
export const plain = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);

/** Whether every field of a body is stored as it is given. */
export function isEqual(stored: Fields, body: Fields): boolean {
  return Object.entries(body).every(([name, value]) =>
    isDeepStrictEqual(stored[name], plain(value)),
  );
}

/** Subscriptions stand on their own in a project. */
export function refuseSubscriptions(payload: Fields, field: string): void {
  const given = payload[field];
  if (given === undefined || (Array.isArray(given) && given.length === 0)) return;
  throw invalidField(
    field,
    'must be resources of the type alert-channel-subscription in a project',
  );
}
