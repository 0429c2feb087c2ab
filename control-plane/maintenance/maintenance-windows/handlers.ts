/** Maintenance windows and their occurrences. */
import type { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { notFound } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import {
  listedOccurrence,
  nextHeld,
  occurrenceAt,
  occurrencesToList,
  type PlannedWindow,
} from '../decide/planned-maintenance.ts';
import type { Handlers } from '../../http/implement.ts';
import {
  callOffMaintenance,
  createWindow,
  deleteWindow,
  updateWindow,
} from '../change-maintenance.ts';
import type { Services } from '../../core/services.ts';
import { calledOffOf, findWindow, windowFromRow, type WindowRow } from './store.ts';
import {
  fieldsOf,
  occurrenceToWire,
  refuseIdle,
  startOfOccurrence,
  toColumns,
  windowToWire,
} from './wire.ts';

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const columns = { startsAt: 'starts_at', endsAt: 'ends_at' } as const;
/** Limit for future and for past occurrences. */
const maxListed = 100;
const listedInPreview = 3;
const selecting = ['tags', 'pauseAllChecks', 'silenceAlertsTags', 'silenceAllAlerts'];

export function maintenanceWindowHandlers(
  services: Services,
): Handlers<typeof maintenanceWindowRoutes> {
  const { db, clock } = services;

  const present = async (accountId: string, rows: readonly WindowRow[]) => {
    const ids = rows.map(({ id }) => id);
    const calledOff = await calledOffOf(db, accountId, ids);
    const now = clock.now();
    return rows.map((row) => windowToWire(row, windowFromRow(row, calledOff.get(row.id)), now));
  };

  const plannedOf = async (accountId: string, row: WindowRow): Promise<PlannedWindow> =>
    windowFromRow(row, (await calledOffOf(db, accountId, [row.id])).get(row.id));

  const presentOne = async (accountId: string, row: WindowRow) =>
    windowToWire(row, await plannedOf(accountId, row), clock.now());

  const get = async (accountId: string, id: number): Promise<WindowRow> => {
    const row = await findWindow(db, accountId, id);
    if (row === undefined) throw notFound('maintenance window', String(id));
    return row;
  };

  return {
    listMaintenanceWindows: async ({ query }, { principal, setTotal }) => {
      let windows = ownRows(db, 'maintenance_windows', principal.accountId).orderBy('id');
      for (const field of ['startsAt', 'endsAt'] as const) {
        for (const bound of ['gt', 'gte', 'lt', 'lte'] as const) {
          const instant = query[`${field}[${bound}]`];
          if (instant !== undefined) {
            windows = windows.where(columns[field], operators[bound], instant);
          }
        }
      }
      const { rows, total, offset } = await readPage(windows, query);
      setTotal(total, offset, rows.length);
      return present(principal.accountId, rows);
    },

    createMaintenanceWindow: async ({ body }, { principal: { accountId } }) => {
      // Nothing may be said of them.
      const fields = { tags: null, ...body };
      refuseIdle(fields);
      return presentOne(accountId, await createWindow(services, accountId, toColumns(fields)));
    },

    previewMaintenanceWindow: ({ body }, { principal }) => {
      const now = clock.now();
      const unasked = {
        ...{ name: '', description: null, tags: [], pauseAllChecks: false },
        ...{ silenceAlertsTags: [], silenceAllAlerts: false },
      };
      const row = {
        ...{ id: 0, account_id: principal.accountId, created_at: now, updated_at: null },
        ...toColumns({ ...body, ...unasked }),
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

    getMaintenanceWindow: async ({ params }, { principal: { accountId } }) =>
      presentOne(accountId, await get(accountId, params.id)),

    updateMaintenanceWindow: async ({ params, body }, { principal: { accountId } }) =>
      presentOne(
        accountId,
        await updateWindow(services, accountId, params.id, (before) => {
          const fields = { ...fieldsOf(before), ...body };
          // One from before this was refused can be renamed.
          if (selecting.some((name) => name in body)) refuseIdle(fields);
          return toColumns(fields);
        }),
      ),

    deleteMaintenanceWindow: async ({ params }, { principal }) => {
      await deleteWindow(services, principal.accountId, params.id);
      return undefined;
    },

    listMaintenances: async ({ params, query }, { principal: { accountId }, setTotal }) => {
      const window = await plannedOf(accountId, await get(accountId, params.id));
      const all = occurrencesToList(window, clock.now(), maxListed);
      const offset = (query.page - 1) * query.limit;
      const page = all.slice(offset, offset + query.limit);
      setTotal(all.length, offset, page.length);
      return page.map((each) => occurrenceToWire(window, each));
    },

    getMaintenance: async ({ params }, { principal: { accountId } }) => {
      const window = await plannedOf(accountId, await get(accountId, params.id));
      const startsAt = startOfOccurrence(window.id, params.maintenanceId);
      const occurrence = startsAt === null ? undefined : occurrenceAt(window, startsAt);
      if (occurrence === undefined) throw notFound('maintenance', params.maintenanceId);
      return occurrenceToWire(window, listedOccurrence(window, occurrence, clock.now()));
    },

    cancelMaintenance: async ({ params }, { principal }) => {
      const startsAt = startOfOccurrence(params.id, params.maintenanceId);
      if (startsAt === null) throw notFound('maintenance', params.maintenanceId);
      await callOffMaintenance(services, principal.accountId, params.id, startsAt);
      return undefined;
    },
  };
}
