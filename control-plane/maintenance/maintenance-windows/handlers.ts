/** Maintenance windows and their occurrences. */
import { sql } from 'kysely';
import type { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { notFound } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import {
  listedOccurrence,
  nextHeld,
  occurrenceAt,
  occurrencesToList,
  type PlannedWindow,
} from '../decide/planned-maintenance.ts';
import type { Handlers } from '../../http/handlers.ts';
import { callOffMaintenance, maintenanceWindowsOf } from '../change-maintenance.ts';
import { entryHandlers, listPages } from '../../resources/index.ts';
import type { Services } from '../../core/services.ts';
import { calledOffOf, windowFromRow } from './store.ts';
import { occurrenceToWire, startOfOccurrence, toColumns } from './wire.ts';

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const columns = { startsAt: 'starts_at', endsAt: 'ends_at' } as const;
/** Limit for future and for past occurrences. */
const maxListed = 100;
const listedInPreview = 3;

export function maintenanceWindowHandlers(
  services: Services,
): Handlers<typeof maintenanceWindowRoutes> {
  const { db, clock } = services;
  const windows = maintenanceWindowsOf(services);
  const plannedOf = async (accountId: string, id: number): Promise<PlannedWindow> => {
    const row = await windows.get(accountId, id);
    return windowFromRow(row, (await calledOffOf(db, accountId, [id])).get(id));
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

    listMaintenances: async ({ params, query }, { principal: { accountId }, setTotal }) => {
      const window = await plannedOf(accountId, params.id);
      const all = occurrencesToList(window, clock.now(), maxListed);
      const offset = (query.page - 1) * query.limit;
      const page = all.slice(offset, offset + query.limit);
      setTotal(all.length, offset, page.length);
      return page.map((each) => occurrenceToWire(window, each));
    },

    getMaintenance: async ({ params }, { principal: { accountId } }) => {
      const window = await plannedOf(accountId, params.id);
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
