/** Handlers of checks. */
import {
  checkTypeRoutes,
  fieldsOfAnyType,
  type checkRoutes,
} from '@monitor/shared/contract/check-routes.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Intent } from '@monitor/shared/contract/check.ts';
import type { Route, RouteInput } from '@monitor/shared/contract/route.ts';
import { invalidField, notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import type { CallContext } from '../http/call-context.ts';
import type { BoundRoute, Handlers } from '../http/handlers.ts';
import { bodyFields, refuseMisspelt, validate } from '../http/validate.ts';
import { presentCheck, presentChecks } from './effective-check.ts';
import { checkWarnings } from './check-warnings.ts';
import { createCheck, deleteCheck, updateCheck } from './save-check.ts';
import type { Services } from '../core/services.ts';
import { signedPart } from './signatures.ts';
import { findCheck, listChecks, type CheckFilter, type CheckRow } from './store.ts';

interface TypedInput {
  params: { id: string };
  query: { autoAssignAlerts: boolean };
  body: Record<string, unknown>;
}

type Call = CallContext<ApiPrincipal>;

/** Adds warnings about what the check cannot do yet, in a field of their own. */
async function withWarnings(services: Services, row: CheckRow, presented: object): Promise<object> {
  const warnings = await checkWarnings(services, row);
  return warnings.length === 0 ? presented : { ...presented, warnings };
}

/** The revision that a change with `If-Match` is of; null without. */
async function expectedRevision(
  services: Services,
  id: string,
  { principal, requireUnchanged }: Call,
): Promise<number | null> {
  if (requireUnchanged === null) return null;
  const row = await findCheck(services.db, principal.accountId, id);
  if (row === undefined) throw notFound('check', id);
  await requireUnchanged();
  return row.revision;
}

async function create(
  services: Services,
  definition: CheckTypeDefinition,
  { body, query }: Pick<TypedInput, 'body' | 'query'>,
  { principal: { accountId, role } }: Call,
): Promise<unknown> {
  const row = await createCheck(services, accountId, definition, body, query.autoAssignAlerts);
  return withWarnings(services, row, await presentCheck(services, row, { role }));
}

async function update(
  services: Services,
  definition: CheckTypeDefinition,
  { params, body }: Pick<TypedInput, 'params' | 'body'>,
  call: Call,
): Promise<unknown> {
  const { accountId, role } = call.principal;
  const expected = await expectedRevision(services, params.id, call);
  const row = await updateCheck(services, accountId, definition, params.id, body, expected);
  return withWarnings(services, row, await presentCheck(services, row, { role }));
}

function definitionOf(type: string): CheckTypeDefinition {
  return checkTypes[type as CheckType];
}

/**
 * Create and update of every check type. With `strictBodies` a creation needs the fields that
 * the specification requires and existing clients do not send (DNS: `heartbeat`, `script`).
 */
export function checkTypeBindings(services: Services, strictBodies: boolean): BoundRoute[] {
  return checkTypeRoutes.flatMap(({ definition, create: createRoute, update: updateRoute }) => {
    const body = strictBodies ? (definition.strictCreate ?? createRoute.body) : createRoute.body;
    return [
      {
        route: { ...createRoute, body } as unknown as Route,
        handle: (input: TypedInput, call: Call) => create(services, definition, input, call),
      },
      {
        route: updateRoute as unknown as Route,
        handle: (input: TypedInput, call: Call) => update(services, definition, input, call),
      },
    ];
  });
}

type Routes = Handlers<typeof checkRoutes>;
type ListInput = Pick<RouteInput<typeof checkRoutes.listChecks>, 'query'>;
type GetInput = Pick<RouteInput<typeof checkRoutes.getCheck>, 'params' | 'query'>;

/** A check as the third version shows it: its intent as one list. */
function inV3<C extends { intent?: unknown }>(check: C): C {
  const {
    goal,
    requiredOutcomes = [],
    mustPreserve = [],
  } = (check.intent ?? {}) as Partial<Intent>;
  if (goal === undefined) return check;
  const of = (type: string, statements: readonly string[]) =>
    statements.map((statement) => ({ type, statement }));
  const constraints = [
    ...of('REQUIRED_OUTCOME', requiredOutcomes),
    ...of('MUST_PRESERVE', mustPreserve),
  ];
  return { ...check, intent: { goal, constraints } };
}

/** What all versions of a reading share. */
function reading(services: Services) {
  return {
    listChecks: async ({ query }: ListInput, { principal, setTotal }: Call) => {
      const filter: CheckFilter = {
        ...(query.tag && { tags: query.tag }),
        ...(query.checkType && { checkType: query.checkType }),
        ...(query.search !== undefined && { search: query.search }),
        ...(query.status && { status: query.status }),
        ...(query.apiCheckUrlFilterPattern !== undefined && {
          apiUrlPattern: query.apiCheckUrlFilterPattern,
        }),
      };
      const { accountId, role } = principal;
      const { rows, total, offset } = await listChecks(services.db, accountId, filter, query);
      setTotal(total, offset, rows.length);
      const { applyGroupSettings } = query;
      return presentChecks(services, accountId, rows, { role, applyGroupSettings });
    },

    getCheck: async ({ params, query }: GetInput, { principal }: Call) => {
      const row = await findCheck(services.db, principal.accountId, params.id);
      if (row === undefined || row.is_trial === 2) throw notFound('check', params.id);
      return presentCheck(services, row, { role: principal.role, ...query });
    },
  };
}

export function checkHandlers(services: Services): Routes {
  const { listChecks, getCheck } = reading(services);
  return {
    listChecks: listChecks as never,
    listChecksV2: listChecks as never,
    listChecksV3: async (input, call) => (await listChecks(input, call)).map(inV3) as never,
    getCheck: getCheck as never,
    getCheckV2: getCheck as never,
    getCheckV3: async (input, call) => inV3(await getCheck(input, call)) as never,

    createCheck: async ({ body, query }, call) => {
      const { checkType, ...fields } = body as { checkType: string };
      return (await create(
        services,
        definitionOf(checkType),
        { body: fields, query },
        call,
      )) as never;
    },

    getSignedPart: async ({ params, query }, { principal }) => {
      const row = await findCheck(services.db, principal.accountId, params.id);
      if (row === undefined || row.is_trial === 2) throw notFound('check', params.id);
      return signedPart(services, row, query.version);
    },

    updateCheck: async ({ params, body }, call) => {
      const row = await findCheck(services.db, call.principal.accountId, params.id);
      if (row === undefined) throw notFound('check', params.id);
      const { checkType = row.type, ...changes } = body;
      if (checkType !== row.type)
        throw invalidField('checkType', `cannot change; it is ${row.type}`);
      const definition = definitionOf(row.type);
      const fields = validate(definition.update, changes, 'payload') as Record<string, unknown>;
      const known = bodyFields(definition.update, [fieldsOfAnyType]);
      call.ignored.push(...refuseMisspelt(known, changes));
      return (await update(services, definition, { params, body: fields }, call)) as never;
    },

    deleteCheck: async ({ params }, call) => {
      const expected = await expectedRevision(services, params.id, call);
      await deleteCheck(services, call.principal.accountId, params.id, expected);
      return undefined;
    },
  };
}
