/** The latest status of checks. */
import type { z } from 'zod';
import type { checkStatus, checkStatusRoutes } from '@monitor/shared/contract/check-status.ts';
import { fromFlag, stampsOf } from '../../db/columns.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { LocationHub } from '../../scheduling/index.ts';
import { requireCheck } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import type { KnownStatus } from '../status-cache.ts';
import { hasResult } from '../update-status.ts';

type Wire = z.input<typeof checkStatus>;

type StatusRow = KnownStatus['row'];

const oneStatus = prepareQuery<{ accountId: string; checkId: string }, StatusRow>((db, argument) =>
  db
    .selectFrom('check_statuses')
    .innerJoin('checks', 'checks.id', 'check_statuses.check_id')
    .selectAll('check_statuses')
    .select('checks.name')
    .where('check_statuses.account_id', '=', argument('accountId'))
    .where('check_statuses.check_id', '=', argument('checkId'))
    .where(hasResult()),
);

const locationsOfCheck = prepareQuery<{ accountId: string; checkId: string }, { location: string }>(
  (db, argument) =>
    db
      .selectFrom('check_locations')
      .select('location')
      .where('account_id', '=', argument('accountId'))
      .where('check_id', '=', argument('checkId'))
      .orderBy('position'),
);

function toWire(row: StatusRow, locations: readonly string[], hub: LocationHub): Wire {
  return {
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
    ...stampsOf(row),
    unservedLocations: locations.filter((location) => !hub.isServed(row.account_id, location)),
  };
}

export function checkStatusHandlers({
  db,
  hub,
  statuses,
}: Services): Handlers<typeof checkStatusRoutes> {
  return {
    listCheckStatuses: async (_input, { principal }) => {
      const { accountId } = principal;
      const rows = await db
        .selectFrom('check_statuses')
        .innerJoin('checks', 'checks.id', 'check_statuses.check_id')
        .selectAll('check_statuses')
        .select('checks.name')
        .where('check_statuses.account_id', '=', accountId)
        .where('checks.is_trial', '=', 0)
        .where(hasResult())
        .orderBy('check_statuses.created_at')
        .execute();
      const places = await db
        .selectFrom('check_locations')
        .select(['check_id', 'location'])
        .where('account_id', '=', accountId)
        .orderBy('position')
        .execute();
      const locations = Map.groupBy(places, (place) => place.check_id);
      return rows.map((row) => {
        const ofCheck = locations.get(row.check_id) ?? [];
        return toWire(
          row,
          ofCheck.map(({ location }) => location),
          hub,
        );
      });
    },

    getCheckStatus: async ({ params }, { principal }) => {
      const of = { accountId: principal.accountId, checkId: params.checkId };
      const known = await statuses.read(of.accountId, of.checkId, async () => {
        const [row] = await oneStatus.run(db, of);
        if (row === undefined) return undefined;
        const places = await locationsOfCheck.run(db, of);
        return { row, locations: places.map(({ location }) => location) };
      });
      if (known !== undefined) return toWire(known.row, known.locations, hub);
      await requireCheck(db, of.accountId, of.checkId);
      return null;
    },
  };
}
