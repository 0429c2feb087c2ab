/** Finds the checks that are in maintenance. */
import type { Db } from '../db/tables.ts';
import { jsonValue } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import {
  appliesTo,
  asMute,
  heldAt,
  type HeldOccurrence,
  listedOccurrence,
  occurrenceAt,
  type PlannedWindow,
  type WindowScope,
} from './decide/planned-maintenance.ts';
import { pastWindows, standingWindows } from './maintenance-windows/store.ts';
import { startOfOccurrence } from './maintenance-windows/wire.ts';

export interface CheckMaintenance {
  windowId: number;
  name: string;
  startsAt: number;
  endsAt: number;
}

/** Longer lists are not put into a statement; all rows are read instead. */
const maxListLength = 500;
const noTags: ReadonlySet<string> = new Set();

/** The present windows of an account, for announcements. */
export async function maintenanceWindowsOf(db: Db, accountId: string): Promise<PlannedWindow[]> {
  return standingWindows(db, accountId);
}

/** The windows of an account that take place at an instant, each with its end, as text to compare. */
export async function maintenanceHeld(db: Db, accountId: string, at: number): Promise<string[]> {
  const windows = await standingWindows(db, accountId);
  return windows.flatMap((window) => {
    const held = heldAt(window, at);
    return held === null ? [] : [`${window.id} ${held.endsAt}`];
  });
}

/** All versions of the windows of an account that were in effect at an instant or later. */
export async function windowsSince(
  db: Db,
  accountId: string,
  since: number,
): Promise<PlannedWindow[]> {
  const standing = await standingWindows(db, accountId);
  return [...standing, ...(await pastWindows(db, accountId, since))];
}

/** Whether an account has windows, or had: what ran in one that was deleted since ran in maintenance. */
export async function hasEverHadWindows(db: Db, accountId: string): Promise<boolean> {
  for (const table of ['maintenance_windows', 'past_maintenance_windows'] as const) {
    const any = await ownRows(db, table, accountId).limit(1).executeTakeFirst();
    if (any !== undefined) return true;
  }
  return false;
}

/** The checks that services follow, each or by its group. */
export function checksOfSources(
  db: Db,
  accountId: string,
  serviceIds: readonly string[],
  among: readonly string[] | null = null,
): Promise<{ checkId: string; serviceId: string }[]> {
  return db
    .selectFrom('service_sources')
    .innerJoin('checks', (join) =>
      join.on((on) =>
        on.or([
          on('checks.id', '=', on.ref('service_sources.check_id')),
          on('checks.group_id', '=', on.ref('service_sources.group_id')),
        ]),
      ),
    )
    .select(['checks.id as checkId', 'service_sources.service_id as serviceId'])
    .where('service_sources.account_id', '=', accountId)
    .where('checks.account_id', '=', accountId)
    .where('service_sources.service_id', 'in', serviceIds)
    .$if(among !== null, (query) => query.where('checks.id', 'in', among ?? []))
    .execute();
}

/** The checks of services: those that they follow, and those that report to them. */
export async function checksOfServices(
  db: Db,
  accountId: string,
  serviceIds: readonly string[],
  among: readonly string[] | null = null,
): Promise<{ checkId: string; serviceId: string }[]> {
  if (serviceIds.length === 0) return [];
  const reportsTo = jsonValue<string>('checks.body_json', '$.triggerIncident.serviceId');
  const reporting = await db
    .selectFrom('checks')
    .select((select) => ['checks.id as checkId', select.parens(reportsTo).as('serviceId')])
    .where('checks.account_id', '=', accountId)
    .where(reportsTo, 'in', serviceIds)
    .$if(among !== null, (query) => query.where('checks.id', 'in', among ?? []))
    .execute();
  return [...reporting, ...(await checksOfSources(db, accountId, serviceIds, among))];
}

/** The checks that each scope names: by itself, or through groups, services and pages. */
async function checksInScopes(
  db: Db,
  accountId: string,
  windows: readonly PlannedWindow[],
  checkIds: readonly string[] | null,
): Promise<ReadonlyMap<WindowScope, ReadonlySet<string>>> {
  const scopes = windows.flatMap(({ scopes: ofWindow }) => ofWindow);
  const isShort = checkIds !== null && checkIds.length > 0 && checkIds.length <= maxListLength;
  const few = isShort ? checkIds : null;
  const named = <Key extends keyof WindowScope>(key: Key): WindowScope[Key][number][] => [
    ...new Set(scopes.flatMap((scope): readonly WindowScope[Key][number][] => scope[key])),
  ];
  const groupIds = named('groupIds');
  const pageIds = named('statusPageIds');
  const grouped =
    groupIds.length === 0
      ? []
      : await db
          .selectFrom('checks')
          .select(['id', 'group_id'])
          .where('account_id', '=', accountId)
          .where('group_id', 'in', groupIds)
          .$if(few !== null, (query) => query.where('id', 'in', few ?? []))
          .execute();
  const onPages =
    pageIds.length === 0
      ? []
      : await db
          .selectFrom('card_services')
          .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
          .select(['status_page_cards.status_page_id as pageId', 'card_services.service_id'])
          .where('status_page_cards.account_id', '=', accountId)
          .where('status_page_cards.status_page_id', 'in', pageIds)
          .execute();
  const servicesOfPage = Map.groupBy(onPages, ({ pageId }) => pageId);
  const serviceIds = new Set([...named('serviceIds'), ...onPages.map(({ service_id: id }) => id)]);
  const ofServices = Map.groupBy(
    await checksOfServices(db, accountId, [...serviceIds], few),
    ({ serviceId }) => serviceId,
  );
  const ofGroups = Map.groupBy(grouped, ({ group_id: id }) => id);
  const ofService = (id: string) => (ofServices.get(id) ?? []).map(({ checkId }) => checkId);
  return new Map(
    scopes.map((scope) => [
      scope,
      new Set([
        ...scope.checkIds,
        ...scope.groupIds.flatMap((id) => (ofGroups.get(id) ?? []).map((check) => check.id)),
        ...scope.serviceIds.flatMap(ofService),
        ...scope.statusPageIds.flatMap((id) =>
          (servicesOfPage.get(id) ?? []).flatMap(({ service_id: service }) => ofService(service)),
        ),
      ]),
    ]),
  );
}

/** Gives a predicate: does a window apply to a check, by its tags and scopes? */
export async function selectionOf(
  db: Db,
  accountId: string,
  windows: readonly PlannedWindow[],
  checkIds: readonly string[] | null = null,
): Promise<(window: PlannedWindow, checkId: string) => boolean> {
  const tags = [...new Set(windows.flatMap((window) => window.tags))];
  const byCheck = new Map<string, Set<string>>();
  if (tags.length > 0) {
    let own = db
      .selectFrom('check_tags')
      .select(['check_id', 'tag'])
      .where('account_id', '=', accountId);
    let inherited = db
      .selectFrom('check_group_tags')
      .innerJoin('checks', 'checks.group_id', 'check_group_tags.group_id')
      .select(['checks.id as check_id', 'check_group_tags.tag'])
      .where('check_group_tags.account_id', '=', accountId)
      .where('checks.account_id', '=', accountId);
    if (tags.length <= maxListLength) {
      own = own.where('tag', 'in', tags);
      inherited = inherited.where('tag', 'in', tags);
    }
    if (checkIds !== null && checkIds.length <= maxListLength) {
      own = own.where('check_id', 'in', checkIds);
      inherited = inherited.where('checks.id', 'in', checkIds);
    }
    for (const row of [...(await own.execute()), ...(await inherited.execute())]) {
      const known = byCheck.get(row.check_id);
      if (known === undefined) byCheck.set(row.check_id, new Set([row.tag]));
      else known.add(row.tag);
    }
  }
  const inScope = await checksInScopes(db, accountId, windows, checkIds);
  return (window, checkId) =>
    appliesTo(window, byCheck.get(checkId) ?? noTags) ||
    window.scopes.some((scope) => inScope.get(scope)?.has(checkId));
}

/**
 * The maintenance of checks at an instant, by check; of several, the one that ends last. A window
 * applies to checks and groups with any of its tags. An account without windows costs two index
 * look-ups.
 */
export async function maintenanceOf(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  if (checkIds.length === 0) return new Map();
  const windows = await windowsSince(db, accountId, at);
  return maintenanceBy(windows, db, accountId, checkIds, at);
}

/** Like `maintenanceOf`, with the windows that only silence the alerts of a check. */
export async function muteOf(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  const windows = await windowsSince(db, accountId, at);
  return maintenanceBy(windows.map(asMute), db, accountId, checkIds, at);
}

/** The same for the present instant, by the windows that are not withdrawn. */
export async function maintenanceNow(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  const windows = await standingWindows(db, accountId);
  return maintenanceBy(windows, db, accountId, checkIds, now);
}

async function maintenanceBy(
  all: readonly PlannedWindow[],
  db: Db,
  accountId: string,
  checkIds: readonly string[],
  at: number,
): Promise<ReadonlyMap<string, CheckMaintenance>> {
  const found = new Map<string, CheckMaintenance>();
  const held = all.flatMap((window) => {
    const occurrence = heldAt(window, at);
    return occurrence === null ? [] : [{ window, occurrence }];
  });
  if (held.length === 0) return found;
  const windows = held.map(({ window }) => window);
  const isSelected = await selectionOf(db, accountId, windows, checkIds);
  held.sort((one, other) => one.occurrence.endsAt - other.occurrence.endsAt);
  for (const checkId of checkIds) {
    for (const { window, occurrence } of held) {
      if (!isSelected(window, checkId)) continue;
      const { startsAt, endsAt } = occurrence;
      found.set(checkId, { windowId: window.id, name: window.name, startsAt, endsAt });
    }
  }
  return found;
}

/** An occurrence by its id, as it takes place, with its window; undefined for an unknown one. */
export async function occurrenceOf(
  db: Db,
  accountId: string,
  windowId: number,
  id: string,
): Promise<(HeldOccurrence & { window: PlannedWindow }) | undefined> {
  const startsAt = startOfOccurrence(windowId, id);
  const window = (await standingWindows(db, accountId)).find((one) => one.id === windowId);
  if (startsAt === null || window === undefined) return undefined;
  const occurrence = occurrenceAt(window, startsAt);
  return occurrence && { ...listedOccurrence(window, occurrence, startsAt), window };
}

/** The checks that a window pauses or silences, by id. */
export async function checksOfOccurrence(
  db: Db,
  accountId: string,
  window: PlannedWindow,
): Promise<string[]> {
  const rows = await db
    .selectFrom('checks')
    .select('id')
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute();
  const mute = asMute(window);
  const isSelected = await selectionOf(db, accountId, [mute]);
  return rows.map(({ id }) => id).filter((id) => isSelected(mute, id));
}

/**
 * Whether pages publish work on a service now, during which no check opens an incident of it. Accounts have few
 * windows, and this is asked when a check alerts.
 */
export async function suppressesIncidents(
  db: Db,
  accountId: string,
  serviceId: string,
  now: number,
): Promise<boolean> {
  const windows = (await standingWindows(db, accountId)).filter(
    (window) =>
      window.visibility?.enabled === true &&
      window.visibility.suppressAutoIncidents &&
      heldAt(window, now) !== null,
  );
  if (windows.length === 0) return false;
  const onPages = await db
    .selectFrom('card_services')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .select('status_page_cards.status_page_id as pageId')
    .where('status_page_cards.account_id', '=', accountId)
    .where('card_services.service_id', '=', serviceId)
    .execute();
  return windows.some(({ visibility }) => {
    if (visibility === null) return false;
    const { serviceIds, affectAllServices, statusPageIds } = visibility;
    const isOnPage =
      statusPageIds.length === 0 || onPages.some(({ pageId }) => statusPageIds.includes(pageId));
    return serviceIds.includes(serviceId) || (affectAllServices && isOnPage);
  });
}
