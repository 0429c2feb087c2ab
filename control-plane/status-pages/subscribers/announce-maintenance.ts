/** Notifies subscribers of maintenance: of its notices, and of updates that people write. */
import { lockRows } from '../../db/lock.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db } from '../../db/tables.ts';
import type { Services } from '../../core/services.ts';
import {
  noChange,
  occurrenceAt,
  pastWindows,
  plannedEnd,
  type PlannedWindow,
  setReached,
  type UpdateKind,
  type UpdateRow,
  windowsFromRows,
} from '../../maintenance/index.ts';
import { affectedServices } from '../decide/affected-services.ts';
import { noticeStatusOf } from '../view/notices.ts';
import { announceNext, notifyNext, type NotifiedPage } from './announce-due-updates.ts';
import { maintenanceMail } from './incident-mail.ts';
import { maintenanceBody } from './subscriber-request.ts';

const dueUpdate = (db: Db, now: number) =>
  db
    .selectFrom('maintenance_updates')
    .selectAll()
    .where('finished_at', 'is', null)
    .where('kind', '!=', 'OVERRUN')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .orderBy('seq')
    .limit(1);

/** The pages of an account by id, each with its services. */
async function pagesWithServices(db: Db, accountId: string): Promise<Map<string, NotifiedPage>> {
  const pages = await ownRows(db, 'status_pages', accountId).orderBy('id').execute();
  const services = await db
    .selectFrom('services')
    .innerJoin('card_services', 'card_services.service_id', 'services.id')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .select(['services.id', 'services.name', 'status_page_cards.status_page_id as pageId'])
    .distinct()
    .where('services.account_id', '=', accountId)
    .orderBy('services.name')
    .execute();
  const byPage = Map.groupBy(services, ({ pageId }) => pageId);
  return new Map(
    pages.map((page) => [
      page.id,
      { page, shown: (byPage.get(page.id) ?? []).map(({ id, name }) => ({ id, name })) },
    ]),
  );
}

/** The window that has an occurrence as it was published: one that was cancelled may be gone. */
async function publishedWindow(
  db: Db,
  { account_id: accountId, window_id: id, starts_at: start, kind, created_at: at }: UpdateRow,
): Promise<PlannedWindow | undefined> {
  const rows = await ownRows(db, 'maintenance_windows', accountId).where('id', '=', id).execute();
  const isIt = (window: PlannedWindow) =>
    window.visibility?.enabled === true && occurrenceAt(window, start) !== undefined;
  const present = (await windowsFromRows(db, accountId, rows)).find(isIt);
  if (present !== undefined || kind !== 'CANCELLED') return present;
  const past = await pastWindows(db, accountId, at - 1);
  return past.find((window) => window.id === id && isIt(window));
}

async function announceBatch(services: Services, db: Db, update: UpdateRow): Promise<number> {
  const { account_id: accountId, id: updateId, window_id: windowId, starts_at: start } = update;
  const window = await publishedWindow(db, update);
  const occurrence = window && occurrenceAt(window, start);
  const visibility = window?.visibility ?? null;
  // The window has moved, or is not published any more: there is nothing to say.
  if (window === undefined || occurrence === undefined || visibility === null) {
    await setReached(db, accountId, updateId, { finished_at: services.clock.now() });
    return 0;
  }
  const pages = [...(await pagesWithServices(db, accountId)).values()].flatMap((each) => {
    const { page, shown } = each;
    const affected = affectedServices(
      visibility,
      page.id,
      shown.map(({ id }) => id),
    );
    if (affected === null) return [];
    return [{ page, shown: shown.filter(({ id }) => affected.includes(id)) }];
  });
  const { begunAt, completedAt } = window.changes.get(start) ?? noChange;
  const planned = {
    ...{ id: `${windowId}-${start}`, name: window.name, severity: visibility.severity },
    startsAt: Math.min(begunAt ?? start, start),
    endsAt: Math.min(completedAt ?? Infinity, plannedEnd(window, occurrence)),
  };
  const { messages, progress } = await notifyNext(
    services,
    db,
    { accountId, updateId, reached: update },
    pages,
    ({ page, shown, pageAddress, locale, subscriber, unsubscribeLink }) => {
      const named = visibility.showAffectedServices ? shown : [];
      const facts = {
        page: { name: page.name, address: pageAddress },
        maintenance: { ...planned, link: `${pageAddress}/#maintenance` },
        status: noticeStatusOf(update.status),
        description: update.description === '' ? window.description : update.description,
        unsubscribeLink,
      };
      return subscriber.type === 'WEBHOOK'
        ? {
            body: maintenanceBody({
              ...facts,
              ...{ at: update.created_at, services: named, kind: update.kind as UpdateKind },
            }),
          }
        : {
            mail: maintenanceMail({
              ...facts,
              ...{ to: subscriber.address, locale, services: named.map(({ name }) => name) },
            }),
          };
    },
  );
  await setReached(db, accountId, updateId, progress);
  return messages;
}

/** Runs one batch of the longest due announcement of maintenance. True when there may be more. */
export function announceMaintenance(services: Services): Promise<boolean> {
  const { clock } = services;
  return announceNext(services, {
    async due(db) {
      const row = await dueUpdate(db, clock.now()).executeTakeFirst();
      return row && { accountId: row.account_id, updateId: row.id };
    },
    async batch(unit) {
      const due = await lockRows(dueUpdate(unit, clock.now()), {
        skipLocked: true,
      }).executeTakeFirst();
      return due === undefined ? null : announceBatch(services, unit, due);
    },
    postpone: (unit, accountId, updateId, at) =>
      setReached(unit, accountId, updateId, { due_at: at }),
  });
}
