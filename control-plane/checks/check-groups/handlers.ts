/** Handlers of check groups. */
import type {
  CheckGroupChanges,
  CheckGroupFields,
  checkGroupRoutes,
} from '@monitor/shared/contract/check-group.ts';
import { notFound } from '../../errors/api-error.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { CallContext } from '../../http/call-context.ts';
import type { Handlers } from '../../http/handlers.ts';
import { subscriptionsOfGroups } from '../alert-subscriptions.ts';
import { checkOfGroup, pageOfGroup } from '../effective-check.ts';
import { createGroup, deleteGroup, updateGroup } from '../save-group.ts';
import type { Services } from '../../core/services.ts';
import { findGroup, listGroups, toGroupWire, type GroupRow } from './store.ts';

type Caller = Pick<CallContext<ApiPrincipal>, 'principal'>;

export function checkGroupHandlers(services: Services): Handlers<typeof checkGroupRoutes> {
  const { db } = services;

  const present = async ({ accountId, role }: ApiPrincipal, rows: readonly GroupRow[]) => {
    const ids = rows.map(({ id }) => id);
    const subscriptions = await subscriptionsOfGroups(db, accountId, ids);
    return rows.map((row) =>
      toGroupWire(row, subscriptions.get(row.id) ?? [], role, services.secrets),
    );
  };
  const presentOne = async (principal: ApiPrincipal, row: GroupRow) => {
    const [wire] = await present(principal, [row]);
    if (wire === undefined) throw notFound('check group', String(row.id));
    return wire;
  };
  const get = async ({ accountId }: ApiPrincipal, id: number): Promise<GroupRow> => {
    const row = await findGroup(db, accountId, id);
    if (row === undefined) throw notFound('check group', String(id));
    return row;
  };

  const create = async (
    { body, query }: { body: CheckGroupFields; query: { autoAssignAlerts: boolean } },
    { principal }: Caller,
  ) => {
    const { accountId } = principal;
    return presentOne(
      principal,
      await createGroup(services, accountId, body, query.autoAssignAlerts),
    );
  };
  const update = async (
    { params, body }: { params: { id: number }; body: CheckGroupChanges },
    { principal }: Caller,
  ) => presentOne(principal, await updateGroup(services, principal.accountId, params.id, body));
  const listChecks = async (
    { params, query }: { params: { id: number }; query: { limit: number; page: number } },
    call: CallContext<ApiPrincipal>,
  ) => {
    const { principal } = call;
    const group = await get(principal, params.id);
    const page = await pageOfGroup(services, group, query, principal.role);
    call.setTotal(page.total, page.offset, page.checks.length);
    return page.checks as never;
  };
  const getCheck = async (
    { params }: { params: { groupId: number; checkId: string } },
    { principal }: Caller,
  ) => {
    const group = await get(principal, params.groupId);
    return (await checkOfGroup(services, group, params.checkId, principal.role)) as never;
  };

  return {
    listCheckGroups: async ({ query }, { principal, setTotal }) => {
      const { accountId } = principal;
      const filter = {
        ...(query.tag !== undefined && { tags: query.tag }),
        ...(query.name !== undefined && { names: query.name }),
      };
      const { rows, total, offset } = await listGroups(db, accountId, filter, query);
      setTotal(total, offset, rows.length);
      return present(principal, rows);
    },
    createCheckGroupV1: create,
    createCheckGroup: create,
    getCheckGroup: async ({ params }, { principal }) =>
      presentOne(principal, await get(principal, params.id)),
    updateCheckGroupV1: update,
    updateCheckGroup: update,
    deleteCheckGroup: async ({ params }, { principal }) => {
      await deleteGroup(services, principal.accountId, params.id);
      return undefined;
    },
    listChecksOfGroup: listChecks,
    getCheckOfGroup: getCheck,
    listChecksOfGroupV2: listChecks,
    getCheckOfGroupV2: getCheck,
  };
}
