/** The overview of all checks, and of those of a page. */
import {
  maxSortedByFigures,
  type CheckList,
  type CheckOverview,
  type checkOverviewRoutes,
} from '@monitor/shared/contract/check-overview.ts';
import { isPinged, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { RouteInput } from '@monitor/shared/contract/route.ts';
import { invalidQuery, notFound } from '../../errors/api-error.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { Handlers } from '../../http/handlers.ts';
import { maintenanceOf } from '../../maintenance/index.ts';
import type { Services } from '../../core/services.ts';
import {
  inOrder,
  linesOf,
  countStatuses,
  statusOf,
  type ListedCheck,
  type ListedFigures,
} from '../decide/check-list.ts';
import { isKnown } from '../update-status.ts';
import {
  checksTagged,
  listedRows,
  locationsOfChecks,
  overviewRows,
  recentRunsOf,
  tagNames,
  tagsOfChecks,
  type RecentRun,
} from './store.ts';

/** Reads the figures of the last day of these checks. */
export type FiguresOfChecks = (
  accountId: string,
  checkIds: readonly string[],
) => Promise<ReadonlyMap<string, ListedFigures>>;

type ListQuery = RouteInput<(typeof checkOverviewRoutes)['listChecksByGroup']>['query'];
type Listed = Awaited<ReturnType<typeof listedRows>>;

interface Status {
  has_failures: number | null;
  is_degraded: number | null;
  longest_run_ms: number | null;
}

function stateOf(status: Status | undefined): CheckOverview['state'] {
  if (!isKnown(status)) return 'UNKNOWN';
  if (status.has_failures === 1) return 'FAILING';
  return status.is_degraded === 1 ? 'DEGRADED' : 'PASSING';
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

/** All checks of an account, or those that are asked for, by name. */
async function overviewOf(
  { db, hub, clock }: Services,
  accountId: string,
  asked: readonly string[] | undefined,
  runs: number,
): Promise<CheckOverview[]> {
  const rows = await overviewRows(db, accountId, asked);
  const ids = rows.map(({ id }) => id);
  const locations = await locationsOfChecks(db, accountId, asked);
  const tags = await tagsOfChecks(db, accountId, asked);
  const maintenance = await maintenanceOf(db, accountId, ids, clock.now());
  const recent = await recentRunsOf(db, accountId, ids, runs);
  return rows.map((row): CheckOverview => {
    const places = locations.get(row.id) ?? [];
    const window = maintenance.get(row.id);
    const unservedLocations = places.filter((location) => !hub.isServed(accountId, location));
    const facts = {
      activated: row.activated !== 0 && row.group_activated !== 0,
      state: stateOf(row),
      hasErrors: row.has_errors === 1,
    };
    return {
      id: row.id,
      name: row.name,
      checkType: row.type as CheckType,
      tags: tags.get(row.id) ?? [],
      groupId: row.group_id,
      groupName: row.group_name,
      ...facts,
      status: statusOf({
        ...facts,
        isInMaintenance: window !== undefined,
        isPinged: isPinged(row.type),
        locations: places.length,
        unserved: unservedLocations.length,
      }),
      muted: row.muted === 1 || row.group_muted === 1,
      frequency: row.frequency,
      frequencyOffset: row.frequency_offset,
      locations: places,
      unservedLocations,
      lastRunAt: toTimestampOrNull(row.last_started_at),
      createdAt: toTimestamp(row.created_at),
      importedFrom: toTimestampOrNull(row.imported_from),
      sslDaysRemaining: row.ssl_days_remaining,
      maintenance:
        window === undefined ? null : { name: window.name, endsAt: toTimestamp(window.endsAt) },
      recentRuns: summaryOf(recent.get(row.id) ?? []),
    };
  });
}

/** The places of an account whose checks some agent takes, looked up once each. */
function servedBy({ hub }: Services, accountId: string): (location: string) => boolean {
  const known = new Map<string, boolean>();
  return (location) => {
    const is = known.get(location) ?? hub.isServed(accountId, location);
    known.set(location, is);
    return is;
  };
}

async function listedChecks(
  services: Services,
  accountId: string,
  { checks, groups, statuses, locations }: Listed,
): Promise<ListedCheck[]> {
  const { db, clock } = services;
  const ids = checks.map(({ id }) => id);
  const maintenance = await maintenanceOf(db, accountId, ids, clock.now());
  const stored = new Map(statuses.map((status) => [status.check_id, status]));
  const inactive = new Set(groups.flatMap(({ id, activated }) => (activated === 0 ? [id] : [])));
  const isServed = servedBy(services, accountId);
  const amounts = new Map(ids.map((id) => [id, { locations: 0, unserved: 0 }]));
  for (const { check_id: id, location } of locations) {
    const amount = amounts.get(id);
    if (amount === undefined) continue;
    amount.locations += 1;
    amount.unserved += Number(!isServed(location));
  }
  return checks.map(({ id, name, type, activated, group_id: groupId }) => {
    const status = stored.get(id);
    const shown = statusOf({
      state: stateOf(status),
      activated: activated !== 0 && (groupId === null || !inactive.has(groupId)),
      isInMaintenance: maintenance.has(id),
      isPinged: isPinged(type),
      ...(amounts.get(id) ?? { locations: 0, unserved: 0 }),
      hasErrors: status?.has_errors === 1,
    });
    return { id, name, type, groupId, status: shown, lastRunAt: status?.last_started_at ?? null };
  });
}

/** True for checks that have every word somewhere in what the list shows of them. */
async function finder(
  { db }: Services,
  accountId: string,
  { search }: ListQuery,
  { groups, locations }: Listed,
  tags: readonly string[],
): Promise<(check: ListedCheck) => boolean> {
  const groupNames = new Map(groups.map(({ id, name }) => [id, name.toLowerCase()]));
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const conditions = await Promise.all(
    words.map(async (word) => {
      const has = (text: string): boolean => text.toLowerCase().includes(word);
      const tagged = await checksTagged(db, accountId, tags.filter(has));
      const placed = new Set(
        locations.flatMap(({ check_id: id, location }) => (has(location) ? [id] : [])),
      );
      return ({ id, name, type, groupId }: ListedCheck): boolean =>
        has(name) ||
        has(type) ||
        (groupId !== null && groupNames.get(groupId)?.includes(word) === true) ||
        tagged.has(id) ||
        placed.has(id);
    }),
  );
  return (check) => conditions.every((condition) => condition(check));
}

export function checkOverviewHandlers(
  services: Services,
  figuresOf: FiguresOfChecks,
): Handlers<typeof checkOverviewRoutes> {
  const { db } = services;
  return {
    listCheckOverview: async ({ query }, { principal: { accountId } }) => {
      const { checkId: asked, runs } = query;
      const checks = await overviewOf(services, accountId, asked, runs);
      if (checks.length === 0 && asked !== undefined) throw notFound('check', asked.join());
      return checks;
    },

    listChecksByGroup: async ({ query }, { principal: { accountId }, setTotal }) => {
      const { status, checkType, tag, sort, folded, runs, limit, page } = query;
      const rows = await listedRows(db, accountId);
      const tags = await tagNames(db, accountId);
      const all = await listedChecks(services, accountId, rows);
      const isFound = await finder(services, accountId, query, rows, tags);
      const tagged = tag === undefined ? null : await checksTagged(db, accountId, [tag]);
      const matching = all.filter(
        (check) =>
          (status === undefined || check.status === status) &&
          (checkType === undefined || check.type === checkType) &&
          (tagged === null || tagged.has(check.id)) &&
          isFound(check),
      );
      const byFigures = sort === 'availability' || sort === 'p95';
      if (byFigures && matching.length > maxSortedByFigures) {
        const most = `only up to ${maxSortedByFigures} checks are sorted by it`;
        throw invalidQuery('sort', `${most}, and ${matching.length} match`);
      }
      const ids = matching.map(({ id }) => id);
      const figures = byFigures ? await figuresOf(accountId, ids) : new Map();
      const ordered = inOrder(matching, query, figures);
      const lines = linesOf(ordered, new Set(folded.map((id) => id || null)));
      const offset = (page - 1) * limit;
      const shown = lines.slice(offset, offset + limit);
      setTotal(lines.length, offset, shown.length);
      const named = shown.flatMap(({ checkId }) => checkId ?? []);
      const overviews = await overviewOf(services, accountId, named, runs);
      const overviewById = new Map(overviews.map((check) => [check.id, check]));
      const groupNames = new Map(rows.groups.map(({ id, name }) => [id, name]));
      return {
        page,
        // One that was deleted meanwhile is missing from the page.
        lines: shown.flatMap(({ checkId, group }): CheckList['lines'] => {
          if (group === undefined) {
            const check = overviewById.get(checkId);
            return check === undefined ? [] : [{ group: null, check }];
          }
          const name = group.id === null ? null : (groupNames.get(group.id) ?? null);
          return [{ group: { ...group, name }, check: null }];
        }),
        matching: matching.length,
        statusCounts: countStatuses(all),
        types: [...new Set(all.map(({ type }) => type as CheckType))].sort(),
        tags,
      };
    },
  };
}
