/** The overview of all checks. */
import type {
  CheckOverview,
  checkOverviewRoutes,
} from '@monitor/shared/contract/check-overview.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { notFound } from '../../errors/api-error.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { Handlers } from '../../http/handlers.ts';
import { maintenanceOf } from '../../maintenance/index.ts';
import type { Services } from '../../core/services.ts';
import {
  locationsOfChecks,
  overviewRows,
  recentRunsOf,
  tagsOfChecks,
  type RecentRun,
} from './store.ts';

type Row = Awaited<ReturnType<typeof overviewRows>>[number];

function stateOf(row: Row): CheckOverview['state'] {
  if (row.has_failures === null) return 'UNKNOWN';
  if (row.has_failures !== 0) return 'FAILING';
  return row.is_degraded === 0 || row.is_degraded === null ? 'PASSING' : 'DEGRADED';
}

/**
 * The letter of a run. An agent error has a letter of its own, because it says nothing about the
 * target.
 */
function letterOf(run: RecentRun): string {
  if (run.has_errors !== 0) return 'E';
  if (run.has_failures !== 0) return 'F';
  return run.is_degraded === 0 ? 'P' : 'D';
}

function summaryOf(runs: readonly RecentRun[]): CheckOverview['recentRuns'] {
  return {
    outcomes: runs.map(letterOf).join(''),
    responseTimes: runs.map((run) => run.response_time_ms),
    newestAt: toTimestampOrNull(runs.at(-1)?.started_at ?? null),
    oldestAt: toTimestampOrNull(runs.at(0)?.started_at ?? null),
  };
}

export function checkOverviewHandlers({
  db,
  hub,
  clock,
}: Services): Handlers<typeof checkOverviewRoutes> {
  return {
    listCheckOverview: async ({ query }, { principal: { accountId } }) => {
      const { checkId: asked, runs } = query;
      const rows = await overviewRows(db, accountId, asked);
      if (rows.length === 0 && asked !== undefined) throw notFound('check', asked.join());
      const ids = rows.map(({ id }) => id);
      const locations = await locationsOfChecks(db, accountId, asked);
      const tags = await tagsOfChecks(db, accountId, asked);
      const maintenance = await maintenanceOf(db, accountId, ids, clock.now());
      const recent = await recentRunsOf(db, accountId, ids, runs);

      return rows.map((row): CheckOverview => {
        const places = locations.get(row.id) ?? [];
        const window = maintenance.get(row.id);
        return {
          id: row.id,
          name: row.name,
          checkType: row.type as CheckType,
          tags: tags.get(row.id) ?? [],
          groupId: row.group_id,
          groupName: row.group_name,
          activated: row.activated !== 0 && row.group_activated !== 0,
          muted: row.muted === 1 || row.group_muted === 1,
          frequency: row.frequency,
          frequencyOffset: row.frequency_offset,
          locations: places,
          unservedLocations: places.filter((location) => !hub.isServed(accountId, location)),
          state: stateOf(row),
          hasErrors: row.has_errors === 1,
          lastRunAt: toTimestampOrNull(row.last_started_at),
          createdAt: toTimestamp(row.created_at),
          importedFrom: toTimestampOrNull(row.imported_from),
          sslDaysRemaining: row.ssl_days_remaining,
          maintenance:
            window === undefined ? null : { name: window.name, endsAt: toTimestamp(window.endsAt) },
          recentRuns: summaryOf(recent.get(row.id) ?? []),
        };
      });
    },
  };
}
