/** What each operation on checks does. */
import type { checkRoutes } from '@monitor/shared/contract/check-routes.ts';
import { checkTypeRoutes } from '@monitor/shared/contract/check-routes.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { notFound } from '../../api-error.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { BoundRoute, CallContext, Handlers } from '../../http/implement.ts';
import { createCheck, deleteCheck, updateCheck } from '../../operations/save-check.ts';
import type { Services } from '../../services.ts';
import { findCheck, listChecks, toWire, type CheckFilter } from './store.ts';

interface TypedInput {
  params: { id: string };
  body: Record<string, unknown>;
}

/**
 * Create and update of every type in the type table. With `lenientBodies` a creation may leave out
 * what the specification requires but existing clients do not send (DNS: `heartbeat`, `script`).
 */
export function checkTypeBindings(services: Services, lenientBodies: boolean): BoundRoute[] {
  return checkTypeRoutes.flatMap(({ definition, create, update }) => {
    const body = lenientBodies ? (definition.lenientCreate ?? create.body) : create.body;
    const route = { ...create, body } as unknown as Route;
    return [
      {
        route,
        handle: async (input: TypedInput, { principal }: CallContext<ApiPrincipal>) => {
          const row = await createCheck(services, principal.accountId, definition, input.body);
          return toWire(row, services.publicUrl);
        },
      },
      {
        route: update as unknown as Route,
        handle: async (input: TypedInput, { principal }: CallContext<ApiPrincipal>) => {
          const { accountId } = principal;
          const row = await updateCheck(
            services,
            accountId,
            definition,
            input.params.id,
            input.body,
          );
          return toWire(row, services.publicUrl);
        },
      },
    ];
  });
}

export function checkHandlers(services: Services): Handlers<typeof checkRoutes> {
  return {
    listChecks: async ({ query }, { principal, setTotal }) => {
      const filter: CheckFilter = {
        ...(query.tag && { tags: query.tag }),
        ...(query.checkType && { checkType: query.checkType }),
        ...(query.search !== undefined && { search: query.search }),
        ...(query.status && { status: query.status }),
        ...(query.apiCheckUrlFilterPattern !== undefined && {
          apiUrlPattern: query.apiCheckUrlFilterPattern,
        }),
      };
      const offset = (query.page - 1) * query.limit;
      const { rows, total } = await listChecks(
        services.db,
        principal.accountId,
        filter,
        query.limit,
        offset,
      );
      setTotal(total, offset, rows.length);
      return rows.map((row) => toWire(row, services.publicUrl)) as never;
    },

    getCheck: async ({ params }, { principal }) => {
      const row = await findCheck(services.db, principal.accountId, params.id);
      if (row === undefined) throw notFound('check', params.id);
      return toWire(row, services.publicUrl) as never;
    },

    deleteCheck: async ({ params }, { principal }) => {
      await deleteCheck(services, principal.accountId, params.id);
      return undefined;
    },
  };
}
