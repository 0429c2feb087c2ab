/** Status pages and their subscriptions. */
import type { StatusPageBody, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { notFound } from '../errors/api-error.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Handlers } from '../http/handlers.ts';
import { entryHandlers, listAfter, resourceOf } from '../resources/index.ts';
import { subscribeAll } from './subscribers/subscribe.ts';
import { checksMayLeave } from '../maintenance/index.ts';
import { dropMessagesOfPage } from '../notifications/index.ts';
import { endSubscription } from './subscribers/unsubscribe.ts';
import { verifyDomain } from './verify-domains.ts';
import type { Services } from '../core/services.ts';
import { previewPage } from './preview-page.ts';
import { hashPassword, makePassword } from './password.ts';
import { setPassword } from './set-password.ts';
import {
  presentStatusPages,
  presentSubscriptions,
  refuseTaken,
  replaceCards,
  toColumns,
  toDomainColumns,
} from './store.ts';

export function statusPagesOf(services: Services) {
  const { clock, newId } = services;
  return resourceOf(services, {
    ...({ table: 'status_pages', noun: 'status page', key: 'id', order: ['seq'] } as const),
    fresh: (now) => ({ id: newId(), created_at: now, updated_at: null }),
    // Its cards have a table of their own; optional fields that are absent stay as they are.
    fieldsOf: ({ name, url }): StatusPageBody => ({ name, url, cards: [] }),
    async toColumns(body: StatusPageBody, { unit, accountId, before }) {
      await refuseTaken(unit, accountId, body, before?.id ?? null);
      const domain = await toDomainColumns(unit, services, body, before);
      return { is_private: before?.is_private ?? 0, ...toColumns(body, before), ...domain };
    },
    async saved(unit, row, { cards }) {
      if (cards === undefined) return;
      await replaceCards(unit, row, cards, { newId, now: clock.now() });
    },
    changing: (unit, { account_id: accountId }) => checksMayLeave(services, unit, accountId),
    done: ({ account_id: accountId }) => {
      services.hub.notifyAccount(accountId);
    },
    present: (rows, { accountId }) => presentStatusPages(services, accountId, rows),
    async removing(unit, page) {
      await dropMessagesOfPage(unit, page.account_id, page.id);
      await checksMayLeave(services, unit, page.account_id);
      await services.dropReferences(unit, page.account_id, 'status_pages', page.id);
    },
  });
}

export function statusPageHandlers(services: Services): Handlers<typeof statusPageRoutes> {
  const { db, commits, outbox } = services;
  const pages = statusPagesOf(services);

  return {
    listStatusPages: listAfter(pages),
    ...entryHandlers('StatusPage', 'statusPageId', pages),

    previewStatusPage: ({ body }, { principal }) =>
      previewPage(services, principal.accountId, body),

    createStatusPagePassword: async ({ params }, { principal }) => {
      // Key derivation takes long, so it happens outside of the transaction.
      const password = makePassword();
      const hash = await hashPassword(password);
      await setPassword(services, principal.accountId, params.statusPageId, hash);
      return { password };
    },

    deleteStatusPagePassword: async ({ params }, { principal }) => {
      await setPassword(services, principal.accountId, params.statusPageId, null);
      return undefined;
    },

    verifyDomain: async ({ params }, { principal }) => {
      const { accountId } = principal;
      await verifyDomain(services, await pages.get(accountId, params.statusPageId));
      return pages.presentOne(await pages.get(accountId, params.statusPageId), principal);
    },

    listSubscriptions: async ({ params }, { principal }) => {
      const page = await pages.get(principal.accountId, params.statusPageId);
      const rows = await ownRows(db, 'status_page_subscriptions', principal.accountId)
        .where('status_page_id', '=', page.id)
        .orderBy('created_at')
        .orderBy('address')
        .execute();
      return presentSubscriptions(db, principal.accountId, rows);
    },

    createSubscriptions: async ({ params, body }, { principal }) => {
      const { subscriptions, autoVerify } = body;
      const created = await commits.run(async (unit) => {
        const page = await pages.get(principal.accountId, params.statusPageId, { unit });
        const addresses = subscriptions.map(({ config }) => config);
        return subscribeAll(services, unit, page, { addresses, autoVerify });
      });
      outbox.wake();
      const status = autoVerify ? 'VERIFIED' : 'PENDING';
      return { created, skipped: subscriptions.length - created, status };
    },

    deleteSubscription: ({ params }, { principal }) =>
      commits.run(async (unit) => {
        const { statusPageId: pageId, subscriptionId } = params;
        const ended = { accountId: principal.accountId, pageId, subscriptionId };
        if (!(await endSubscription(unit, ended))) throw notFound('subscription', subscriptionId);
        return undefined;
      }),
  };
}
