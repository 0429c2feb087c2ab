/** The overview of all checks, and of those of a page. */
import {
  maxSortedByFigures,
  type CheckList,
  type CheckOverview,
  type checkOverviewRoutes,
} from '@monitor/shared/contract/check-overview.ts';
import { isPinged, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { RouteInput } from '@monitor/shared/contract/route.ts';
import { notFound } from '../../errors/api-error.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { Handlers } from '../../http/handlers.ts';
import { maintenanceOf } from '../../maintenance/index.ts';
import type { Services } from '../../core/services.ts';
import {
  inOrder,
  linesOf,
  countStatuses,
  plainLetters,
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
  const listed = checks.filter(({ is_trial: isTrial }) => isTrial === 0);
  const ids = listed.map(({ id }) => id);
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
  return listed.map(({ id, name, type, activated, group_id: groupId }) => {
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

const wordsOf = (text: string): string[] => plainLetters(text).split(/\s+/).filter(Boolean);

/** True for checks that have every word somewhere in what the list shows of them. */
async function finder(
  { db }: Services,
  accountId: string,
  { search, name: inName }: ListQuery,
  { groups, locations }: Listed,
  tags: readonly string[],
): Promise<(check: ListedCheck) => boolean> {
  const words = wordsOf(search);
  const wordsOfName = wordsOf(inName);
  if (words.length + wordsOfName.length === 0) return () => true;
  const matches = (text: string): boolean => {
    const letters = plainLetters(text);
    return words.some((word) => letters.includes(word));
  };
  const places = new Set([...new Set(locations.map(({ location }) => location))].filter(matches));
  const tagged = await checksTagged(db, accountId, tags.filter(matches));
  const groupNames = new Map(groups.map(({ id, name }) => [id, name]));
  /** Only what has any of the words. */
  const more = new Map<string, string>();
  const add = (id: string, text: string): Map<string, string> =>
    more.set(id, `${more.get(id) ?? ''}\n${text}`);
  for (const { check_id: id, tag } of tagged) add(id, tag);
  for (const { check_id: id, location } of locations) if (places.has(location)) add(id, location);
  return ({ id, name, type, groupId }) => {
    const ofName = plainLetters(name);
    if (!wordsOfName.every((word) => ofName.includes(word))) return false;
    const group = groupId === null ? '' : (groupNames.get(groupId) ?? '');
    const others = plainLetters(`\n${type}\n${group}\n${more.get(id) ?? ''}`);
    return words.every((word) => ofName.includes(word) || others.includes(word));
  };
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
      const { status, checkType, tag, sort: asked, reversed, folded, runs, limit, page } = query;
      const rows = await listedRows(db, accountId);
      const tags = await tagNames(db, accountId, rows.checks);
      const all = await listedChecks(services, accountId, rows);
      const isFound = await finder(services, accountId, query, rows, tags);
      const withTag = await checksTagged(db, accountId, tag === undefined ? [] : [tag]);
      const tagged = new Set(withTag.map(({ check_id: id }) => id));
      const matching = all.filter(
        (check) =>
          (status === undefined || check.status === status) &&
          (checkType === undefined || check.type === checkType) &&
          (tag === undefined || tagged.has(check.id)) &&
          isFound(check),
      );
      const byFigures = asked === 'availability' || asked === 'p95';
      const sort = byFigures && matching.length > maxSortedByFigures ? 'status' : asked;
      const ids = matching.map(({ id }) => id);
      const figures = sort === asked && byFigures ? await figuresOf(accountId, ids) : new Map();
      const ordered = inOrder(matching, { sort, reversed }, figures);
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
        sort,
        matching: matching.length,
        statusCounts: countStatuses(all),
        types: [...new Set(all.map(({ type }) => type as CheckType))].sort(),
        tags: tags.toSorted(),
      };
    },
  };
}
