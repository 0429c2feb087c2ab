/** The latest state of checks. */
import type { z } from 'zod';
import type { checkStatus, checkStatusRoutes } from '@monitor/shared/contract/check-status.ts';
import { notFound } from '../../api-error.ts';
import { fromFlag, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { Handlers } from '../../http/implement.ts';
import type { Services } from '../../services.ts';

type Wire = z.input<typeof checkStatus>;

export function checkStatusHandlers(services: Services): Handlers<typeof checkStatusRoutes> {
  const { db, hub } = services;

  const statuses = (accountId: string) =>
    db
      .selectFrom('check_statuses')
      .innerJoin('checks', 'checks.id', 'check_statuses.check_id')
      .selectAll('check_statuses')
      .select('checks.name')
      .where('check_statuses.account_id', '=', accountId);
  type Row = Awaited<ReturnType<ReturnType<typeof statuses>['execute']>>[number];

  const toWire = (accountId: string, row: Row, locations: readonly string[]): Wire => ({
    name: row.name,
    checkId: row.check_id,
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    longestRun: row.longest_run_ms,
    shortestRun: row.shortest_run_ms,
    lastRunLocation: row.last_run_location,
    lastCheckRunId: row.last_check_run_id === null ? null : String(row.last_check_run_id),
    sslDaysRemaining: row.ssl_days_remaining,
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestampOrNull(row.updated_at),
    unservedLocations: locations.filter((location) => !hub.isServed(accountId, location)),
  });

  return {
    listCheckStatuses: async (_input, { principal }) => {
      const { accountId } = principal;
      const rows = await statuses(accountId).orderBy('check_statuses.created_at').execute();
      const places = await db
        .selectFrom('check_locations')
        .select(['check_id', 'location'])
        .where('account_id', '=', accountId)
        .orderBy('position')
        .execute();
      const locations = Map.groupBy(places, (place) => place.check_id);
      return rows.map((row) =>
        toWire(
          accountId,
          row,
          (locations.get(row.check_id) ?? []).map(({ location }) => location),
        ),
      );
    },

    getCheckStatus: async ({ params }, { principal }) => {
      const { accountId } = principal;
      const row = await statuses(accountId)
        .where('check_statuses.check_id', '=', params.checkId)
        .executeTakeFirst();
      if (row === undefined) {
        const check = await db
          .selectFrom('checks')
          .select('id')
          .where('account_id', '=', accountId)
          .where('id', '=', params.checkId)
          .executeTakeFirst();
        if (check === undefined) throw notFound('check', params.checkId);
        return null;
      }
      const places = await db
        .selectFrom('check_locations')
        .select('location')
        .where('account_id', '=', accountId)
        .where('check_id', '=', params.checkId)
        .orderBy('position')
        .execute();
      return toWire(
        accountId,
        row,
        places.map(({ location }) => location),
      );
    },
  };
}
