/**
 * Notifies subscribers of updates that became public. Thousands of subscribers are notified in
 * batches; each batch is a transaction that also stores its progress. After a crash the next batch
 * continues, so that everybody gets one mail or request, and other writers wait only briefly.
 */
import { jsonListContains } from '../../db/expressions.ts';
import { lockRows } from '../../db/lock.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { type IncidentStatus, updateAnnouncement } from '../../incidents/index.ts';
import { enqueueMessages, type Mail, type QueuedMessage } from '../../notifications/index.ts';
import type { Services } from '../../core/services.ts';
import { type Locale, localeOfPage } from '../languages/locale.ts';
import { localeFieldsOf } from '../read-page.ts';
import type { Severity } from '../view/facts.ts';
import type { ChosenService } from './ask-to-confirm.ts';
import { incidentMail } from './incident-mail.ts';
import { addressOf, incidentLink, unsubscribeLink } from './links.ts';
import { SubscriberKeys } from './subscriber-keys.ts';
import { incidentBody } from './subscriber-request.ts';

/** About ten milliseconds of writing, so that results of agents do not wait longer. */
const messagesPerBatch = 100;

type Announcement = RowOf<'incident_announcements'>;
type Page = RowOf<'status_pages'>;

function dueAnnouncement(db: Db, now: number) {
  return (
    db
      .selectFrom('incident_announcements')
      .selectAll()
      .where('finished_at', 'is', null)
      .where('due_at', '<=', now)
      .orderBy('due_at')
      // An incident may be given several updates at once: the last one is the last word.
      .orderBy((of) =>
        of
          .selectFrom('incident_updates')
          .select('seq')
          .whereRef('incident_updates.id', '=', 'incident_announcements.incident_update_id'),
      )
      .limit(1)
  );
}

function getUpdate(db: Db, { account_id, incident_update_id }: Announcement) {
  return db
    .selectFrom('incident_updates')
    .innerJoin('incidents', 'incidents.id', 'incident_updates.incident_id')
    .select(['incidents.name', 'incidents.severity', 'incident_updates.incident_id'])
    .select(['incident_updates.status', 'incident_updates.description'])
    .select('incident_updates.public_at')
    .where('incident_updates.account_id', '=', account_id)
    .where('incident_updates.id', '=', incident_update_id)
    .executeTakeFirstOrThrow();
}

/** Pages that show a service of the incident, by id, with these services. */
async function pagesShowing(
  db: Db,
  accountId: string,
  incidentId: string,
): Promise<{ page: Page; shown: ChosenService[] }[]> {
  const rows = await db
    .selectFrom('incident_services')
    .innerJoin('services', 'services.id', 'incident_services.service_id')
    .innerJoin('card_services', 'card_services.service_id', 'services.id')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .innerJoin('status_pages', 'status_pages.id', 'status_page_cards.status_page_id')
    .selectAll('status_pages')
    .select(['services.id as service_id', 'services.name as service_name'])
    .distinct()
    .where('incident_services.incident_id', '=', incidentId)
    .where('status_pages.account_id', '=', accountId)
    .orderBy('status_pages.id')
    .orderBy('services.name')
    .execute();
  return [...Map.groupBy(rows, ({ id }) => id).values()].flatMap((ofPage) => {
    const [page] = ofPage;
    const shown = ofPage.map(({ service_id: id, service_name: name }) => ({ id, name }));
    return page === undefined ? [] : [{ page, shown }];
  });
}

/**
 * Those of all services, and those who chose one of these. Who chose services that are all gone from the page
 * gets nothing: they left out everything else on purpose, and hear again once one of theirs is back.
 */
function nextSubscribers(
  db: Db,
  { page, shown }: { page: Page; shown: readonly ChosenService[] },
  afterId: string,
  limit: number,
): Promise<Pick<RowOf<'status_page_subscriptions'>, 'id' | 'type' | 'address'>[]> {
  return db
    .selectFrom('status_page_subscriptions')
    .select(['id', 'type', 'address'])
    .where('account_id', '=', page.account_id)
    .where('status_page_id', '=', page.id)
    .where('status', '=', 'VERIFIED')
    .where('id', '>', afterId)
    .where(({ or, eb }) =>
      or([
        eb('services_json', '=', '[]'),
        ...shown.map(({ id }) => jsonListContains('services_json', '$', id)),
      ]),
    )
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** How far an announcement has come. */
interface Reached {
  reached_page_id: string | null;
  reached_subscription_id: string | null;
}

/** A page, with its services that something is about. */
export interface NotifiedPage {
  page: Page;
  shown: readonly ChosenService[];
}

interface Recipient extends NotifiedPage {
  pageAddress: string;
  locale: Locale;
  subscriber: Pick<RowOf<'status_page_subscriptions'>, 'id' | 'type' | 'address'>;
  unsubscribeLink: string;
}

/** Adds the next mails and requests about something to the outbox; gives how far that has come. */
export async function notifyNext(
  { clock, secrets, publicUrl }: Services,
  db: Db,
  { accountId, updateId, reached }: { accountId: string; updateId: string; reached: Reached },
  pages: readonly NotifiedPage[],
  contentOf: (recipient: Recipient) => { mail: Mail } | { body: string },
): Promise<{ messages: number; progress: Reached & { finished_at: number | null } }> {
  const keys = new SubscriberKeys(secrets);
  const messages: QueuedMessage[] = [];
  let { reached_page_id: pageId, reached_subscription_id: reachedId } = reached;
  for (const { page, shown } of pages) {
    if (pageId !== null && page.id < pageId) continue;
    const afterId = page.id === pageId ? (reachedId ?? '') : '';
    const room = messagesPerBatch - messages.length;
    if (room === 0) break;
    const pageAddress = addressOf(page, publicUrl);
    const locale = localeOfPage(localeFieldsOf(page));
    for (const subscriber of await nextSubscribers(db, { page, shown }, afterId, room)) {
      const { id: subscriptionId } = subscriber;
      const token = keys.unsubscribeToken(page.id, subscriptionId);
      const content = contentOf({
        ...{ page, shown, pageAddress, locale, subscriber },
        unsubscribeLink: unsubscribeLink(pageAddress, token),
      });
      messages.push({
        ...{ id: `${subscriptionId}.${updateId}`, orderingKey: subscriptionId },
        ...('mail' in content
          ? { mail: content.mail }
          : { request: { subscriptionId, body: content.body } }),
      });
      pageId = page.id;
      reachedId = subscriptionId;
    }
  }
  const now = clock.now();
  await enqueueMessages(db, accountId, messages, now);
  return {
    messages: messages.length,
    progress: {
      ...{ reached_page_id: pageId, reached_subscription_id: reachedId },
      finished_at: messages.length < messagesPerBatch ? now : null,
    },
  };
}

/** Adds the next mails and requests of an announcement to the outbox; gives their number. */
async function announceBatch(
  services: Services,
  db: Db,
  announcement: Announcement,
): Promise<number> {
  const { account_id: accountId, incident_update_id: updateId } = announcement;
  const update = await getUpdate(db, announcement);
  const pages = await pagesShowing(db, accountId, update.incident_id);
  const { messages, progress } = await notifyNext(
    services,
    db,
    { accountId, updateId, reached: announcement },
    pages,
    ({ page, shown, pageAddress, locale, subscriber, unsubscribeLink: link }) => {
      const facts = {
        page: { name: page.name, address: pageAddress },
        incident: {
          id: update.incident_id,
          name: update.name,
          severity: update.severity as Severity,
          link: incidentLink(pageAddress, update.incident_id),
        },
        update: {
          status: update.status as IncidentStatus,
          description: update.description,
          at: update.public_at,
        },
        unsubscribeLink: link,
      };
      if (subscriber.type === 'WEBHOOK') {
        return { body: incidentBody({ ...facts, at: update.public_at, services: shown }) };
      }
      const services = shown.map(({ name }) => name);
      return { mail: incidentMail({ ...facts, to: subscriber.address, locale, services }) };
    },
  );
  await updateAnnouncement(db, accountId, updateId, progress);
  return messages;
}

/** Delay after a failed announcement. */
const pauseAfterFaultMs = 60_000;

interface Announcements {
  due: (db: Db) => Promise<{ accountId: string; updateId: string } | undefined>;
  /** One batch, in its transaction; null when another replica is at it, or it is gone. */
  batch: (unit: Db) => Promise<number | null>;
  postpone: (unit: Db, accountId: string, updateId: string, at: number) => Promise<void>;
}

/** Runs one batch of the longest due announcement. True when there may be more. */
export async function announceNext(
  { db, clock, commits, outbox, logger }: Services,
  { due, batch, postpone }: Announcements,
): Promise<boolean> {
  const first = await due(db);
  if (first === undefined) return false;
  let mails: number | null = 0;
  try {
    mails = await commits.run(batch);
  } catch (error) {
    // A failing announcement must not block those of other accounts.
    const { accountId, updateId } = first;
    logger.error(
      { err: error, accountId, updateId },
      'subscribers could not be notified of an update',
    );
    await commits.run((unit) =>
      postpone(unit, accountId, updateId, clock.now() + pauseAfterFaultMs),
    );
  }
  if ((mails ?? 0) > 0) outbox.wake();
  return mails !== null;
}

export function announceDueUpdates(services: Services): Promise<boolean> {
  const { clock } = services;
  return announceNext(services, {
    async due(db) {
      const row = await dueAnnouncement(db, clock.now()).executeTakeFirst();
      return row && { accountId: row.account_id, updateId: row.incident_update_id };
    },
    async batch(unit) {
      // The update may have been deleted, and another replica may be at it.
      const due = await lockRows(dueAnnouncement(unit, clock.now()), {
        skipLocked: true,
      }).executeTakeFirst();
      return due === undefined ? null : announceBatch(services, unit, due);
    },
    postpone: (unit, accountId, updateId, at) =>
      updateAnnouncement(unit, accountId, updateId, { due_at: at }),
  });
}
