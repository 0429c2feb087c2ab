/** Status pages and their subscriptions. */
import type { Kysely } from 'kysely';
import type { statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { notFound } from '../errors/api-error.ts';
import { readCursorPage } from '../db/page.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import type { Handlers } from '../http/implement.ts';
import { subscribeAll } from './subscribers/subscribe.ts';
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
  type StatusPageRow,
} from './store.ts';

export function statusPageHandlers(services: Services): Handlers<typeof statusPageRoutes> {
  const { db, clock, commits, outbox, domains, newId } = services;

  const pagesOf = (unit: Kysely<Database>, accountId: string) =>
    ownRows(unit, 'status_pages', accountId);
  const get = async (unit: Kysely<Database>, accountId: string, id: string) => {
    return pagesOf(unit, accountId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('status page', id));
  };
  const present = async (unit: Kysely<Database>, row: StatusPageRow) => {
    const [wire] = await presentStatusPages({ db: unit, domains }, row.account_id, [row]);
    if (wire === undefined) throw notFound('status page', row.id);
    return wire;
  };

  return {
    listStatusPages: async ({ query }, { principal }) => {
      const { accountId } = principal;
      const pages = pagesOf(db, accountId).orderBy('seq');
      const { rows, nextId } = await readCursorPage(
        (cursor) => (cursor === null ? pages : pages.where('seq', '>', cursor)),
        ({ seq }) => seq,
        query,
      );
      const entries = await presentStatusPages(services, accountId, rows);
      return { length: entries.length, entries, nextId };
    },

    createStatusPage: ({ body }, { principal }) =>
      commits.run(async (unit) => {
        const now = clock.now();
        await refuseTaken(unit, principal.accountId, body, null);
        const columns = { ...toColumns(body), ...(await toDomainColumns(unit, services, body)) };
        const row = await unit
          .insertInto('status_pages')
          .values({
            id: newId(),
            account_id: principal.accountId,
            custom_domain: null,
            ...columns,
            is_private: 0,
            created_at: now,
            updated_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        await replaceCards(unit, row, body.cards, { newId, now });
        return present(unit, row);
      }),

    previewStatusPage: ({ body }, { principal }) =>
      previewPage(services, principal.accountId, body),

    getStatusPage: async ({ params }, { principal }) =>
      present(db, await get(db, principal.accountId, params.statusPageId)),

    updateStatusPage: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const now = clock.now();
        const before = await get(unit, accountId, params.statusPageId);
        await refuseTaken(unit, accountId, body, before.id);
        const changes = {
          ...toColumns(body, before),
          ...(await toDomainColumns(unit, services, body, before)),
          updated_at: now,
        };
        await updateOwnRows(unit, 'status_pages', accountId)
          .set(changes)
          .where('id', '=', before.id)
          .execute();
        await replaceCards(unit, before, body.cards, { newId, now });
        return present(unit, { ...before, ...changes });
      }),

    deleteStatusPage: ({ params }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const page = await get(unit, accountId, params.statusPageId);
        await dropMessagesOfPage(unit, accountId, page.id);
        await deleteOwnRows(unit, 'status_pages', accountId).where('id', '=', page.id).execute();
        return undefined;
      }),

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
      await verifyDomain(services, await get(db, accountId, params.statusPageId));
      return present(db, await get(db, accountId, params.statusPageId));
    },

    listSubscriptions: async ({ params }, { principal }) => {
      const page = await get(db, principal.accountId, params.statusPageId);
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
        const page = await get(unit, principal.accountId, params.statusPageId);
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
