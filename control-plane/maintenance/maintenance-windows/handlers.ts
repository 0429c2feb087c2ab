/** Maintenance windows and their occurrences. */
import { sql } from 'kysely';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { notFound } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import {
  type ListedOccurrence,
  listedOccurrence,
  nextHeld,
  occurrenceAt,
  occurrencesToList,
  type PlannedWindow,
} from '../decide/planned-maintenance.ts';
import type { Handlers } from '../../http/handlers.ts';
import {
  callOffMaintenance,
  changeMaintenance,
  maintenanceWindowsOf,
} from '../change-maintenance.ts';
import type { ChangeRequest } from '../decide/change-occurrence.ts';
import type { Db } from '../../db/tables.ts';
import {
  changeUpdate,
  deleteUpdate,
  type UpdateRow,
  updatesOf,
  writeUpdate,
} from '../maintenance-updates.ts';
import { entryHandlers, listPages } from '../../resources/index.ts';
import type { Services } from '../../core/services.ts';
import { deedsOf, windowFromRow } from './store.ts';
import { instantOf, occurrenceToWire, startOfOccurrence, toColumns, updateToWire } from './wire.ts';

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const columns = { startsAt: 'starts_at', endsAt: 'ends_at' } as const;
/** Limit for future and for past occurrences. */
const maxListed = 100;
const listedInPreview = 3;

/** Updates of these occurrences of a window, which lie near each other. */
function updatesOfAll(
  db: Db,
  accountId: string,
  windowId: number,
  occurrences: readonly ListedOccurrence[],
): Promise<UpdateRow[]> {
  if (occurrences.length === 0) return Promise.resolve([]);
  const starts = occurrences.map(({ scheduledAt }) => scheduledAt);
  const range = { from: Math.min(...starts), to: Math.max(...starts) + 1 };
  return updatesOf(db, accountId, [windowId], range);
}

export function maintenanceWindowHandlers(
  services: Services,
): Handlers<typeof maintenanceWindowRoutes> {
  const { db, clock, commits } = services;
  const windows = maintenanceWindowsOf(services);
  const plannedOf = async (accountId: string, id: number): Promise<PlannedWindow> => {
    const row = await windows.get(accountId, id);
    return windowFromRow(row, (await deedsOf(db, accountId, [id])).get(id));
  };
  const at = ({ id, maintenanceId }: { id: number; maintenanceId: string }) => {
    const startsAt = startOfOccurrence(id, maintenanceId);
    if (startsAt === null) throw notFound('maintenance', maintenanceId);
    return { id, startsAt };
  };
  const requestOf = async (
    accountId: string,
    id: number,
    { status, endsAt }: { status?: ChangeRequest['status']; endsAt?: string },
  ): Promise<ChangeRequest> => {
    const { timezone } = await windows.get(accountId, id);
    return {
      ...(status !== undefined && { status }),
      ...(endsAt !== undefined && { endsAt: instantOf(endsAt, 'endsAt', timezone) }),
    };
  };

  return {
    ...entryHandlers('MaintenanceWindow', 'id', windows),

    listMaintenanceWindows: ({ query }, context) => {
      let rows = windows.rowsOf(context.principal.accountId);
      for (const field of ['startsAt', 'endsAt'] as const) {
        for (const bound of ['gt', 'gte', 'lt', 'lte'] as const) {
          const instant = query[`${field}[${bound}]`];
          if (instant !== undefined) {
            rows = rows.where(sql.ref(columns[field]), operators[bound], instant);
          }
        }
      }
      return listPages(windows, rows)({ query }, context);
    },

    previewMaintenanceWindow: ({ body }, { principal }) => {
      const now = clock.now();
      const fields = maintenanceWindowRoutes.createMaintenanceWindow.body.parse({
        ...body,
        name: 'preview',
      });
      const row = {
        ...{ id: 0, account_id: principal.accountId, created_at: now, updated_at: null },
        ...toColumns(fields),
      };
      return Promise.resolve({
        nextOccurrences: nextHeld(windowFromRow(row), now, listedInPreview).map(
          ({ startsAt, endsAt }) => ({
            startsAt: toTimestamp(startsAt),
            endsAt: toTimestamp(endsAt),
          }),
        ),
      });
    },

    listMaintenances: async ({ params, query }, { principal: { accountId }, setTotal }) => {
      const window = await plannedOf(accountId, params.id);
      const all = occurrencesToList(window, clock.now(), maxListed);
      const offset = (query.page - 1) * query.limit;
      const page = all.slice(offset, offset + query.limit);
      setTotal(all.length, offset, page.length);
      const updates = await updatesOfAll(db, accountId, window.id, page);
      return page.map((each) => occurrenceToWire(window, each, updates));
    },

    getMaintenance: async ({ params }, { principal: { accountId } }) => {
      const window = await plannedOf(accountId, params.id);
      const startsAt = startOfOccurrence(window.id, params.maintenanceId);
      const occurrence = startsAt === null ? undefined : occurrenceAt(window, startsAt);
      if (occurrence === undefined) throw notFound('maintenance', params.maintenanceId);
      const listed = listedOccurrence(window, occurrence, clock.now());
      const updates = await updatesOfAll(db, accountId, window.id, [listed]);
      return occurrenceToWire(window, listed, updates);
    },

    updateMaintenance: async ({ params, body }, { principal: { accountId } }) => {
      const request = await requestOf(accountId, params.id, body);
      return changeMaintenance(services, accountId, at(params), request, async (unit, of) => {
        const listed = listedOccurrence(of.window, of.occurrence, of.now);
        const updates = await updatesOfAll(unit, accountId, params.id, [listed]);
        return occurrenceToWire(of.window, listed, updates);
      });
    },

    createMaintenanceUpdate: async ({ params, body }, { principal: { accountId } }) => {
      const request = await requestOf(accountId, params.id, body);
      return changeMaintenance(services, accountId, at(params), request, async (unit, of) =>
        updateToWire(await writeUpdate(services, unit, accountId, of, body)),
      );
    },

    updateMaintenanceUpdate: async ({ params, body }, { principal: { accountId } }) => {
      const of = { ...at(params), updateId: params.updateId };
      const row = await commits.run((unit) =>
        changeUpdate(unit, accountId, of, body.description, clock.now()),
      );
      if (row === undefined) throw notFound('update', params.updateId);
      return updateToWire(row);
    },

    deleteMaintenanceUpdate: async ({ params }, { principal: { accountId } }) => {
      const of = { ...at(params), updateId: params.updateId };
      if (!(await commits.run((unit) => deleteUpdate(unit, accountId, of)))) {
        throw notFound('update', params.updateId);
      }
      return undefined;
    },

    cancelMaintenance: async ({ params }, { principal }) => {
      await callOffMaintenance(services, principal.accountId, at(params));
      return undefined;
    },
  };
}
