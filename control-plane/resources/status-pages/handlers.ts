/** Status pages, and who subscribed to them. */
import type { Kysely } from 'kysely';
import type { statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import { notFound } from '../../api-error.ts';
import { readCursorPage } from '../../db/page.ts';
import type { Database } from '../../db/tables.ts';
import type { Handlers } from '../../http/implement.ts';
import type { Services } from '../../services.ts';
import {
  presentStatusPages,
  refuseTaken,
  replaceCards,
  toColumns,
  toSubscriptionWire,
  type StatusPageRow,
} from './store.ts';

export function statusPageHandlers(services: Services): Handlers<typeof statusPageRoutes> {
  const { db, clock, commits, newId } = services;

  const pagesOf = (unit: Kysely<Database>, accountId: string) =>
    unit.selectFrom('status_pages').selectAll().where('account_id', '=', accountId);
  const get = async (unit: Kysely<Database>, accountId: string, id: string) => {
    const row = await pagesOf(unit, accountId).where('id', '=', id).executeTakeFirst();
    if (row === undefined) throw notFound('status page', id);
    return row;
  };
  const present = async (unit: Kysely<Database>, row: StatusPageRow) => {
    const [wire] = await presentStatusPages(unit, row.account_id, [row]);
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
      const entries = await presentStatusPages(db, accountId, rows);
      return { length: entries.length, entries, nextId };
    },

    createStatusPage: ({ body }, { principal }) =>
      commits.run(async (unit) => {
        const now = clock.now();
        const columns = toColumns(body);
        await refuseTaken(unit, columns, null);
        const row = await unit
          .insertInto('status_pages')
          .values({
            id: newId(),
            account_id: principal.accountId,
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

    getStatusPage: async ({ params }, { principal }) =>
      present(db, await get(db, principal.accountId, params.statusPageId)),

    updateStatusPage: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const now = clock.now();
        const before = await get(unit, accountId, params.statusPageId);
        const changes = { ...toColumns(body, before), updated_at: now };
        await refuseTaken(unit, changes, before.id);
        await unit
          .updateTable('status_pages')
          .set(changes)
          .where('account_id', '=', accountId)
          .where('id', '=', before.id)
          .execute();
        await replaceCards(unit, before, body.cards, { newId, now });
        return present(unit, { ...before, ...changes });
      }),

    deleteStatusPage: async ({ params }, { principal }) => {
      const { numDeletedRows } = await db
        .deleteFrom('status_pages')
        .where('account_id', '=', principal.accountId)
        .where('id', '=', params.statusPageId)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw notFound('status page', params.statusPageId);
      return undefined;
    },

    listSubscriptions: async ({ params }, { principal }) => {
      const page = await get(db, principal.accountId, params.statusPageId);
      const rows = await db
        .selectFrom('status_page_subscriptions')
        .selectAll()
        .where('account_id', '=', principal.accountId)
        .where('status_page_id', '=', page.id)
        .orderBy('created_at')
        .orderBy('address')
        .execute();
      return rows.map(toSubscriptionWire);
    },

    createSubscriptions: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const page = await get(unit, principal.accountId, params.statusPageId);
        const now = clock.now();
        const status = body.autoVerify ? 'VERIFIED' : 'PENDING';
        const created = await unit
          .insertInto('status_page_subscriptions')
          .values(
            body.subscriptions.map(({ type, config }) => ({
              id: newId(),
              account_id: principal.accountId,
              status_page_id: page.id,
              type,
              address: config.toLowerCase(),
              status,
              token_hash: null,
              created_at: now,
              updated_at: now,
            })),
          )
          .onConflict((conflict) => conflict.columns(['status_page_id', 'address']).doNothing())
          .returning('id')
          .execute();
        const skipped = body.subscriptions.length - created.length;
        return { created: created.length, skipped, status };
      }),

    deleteSubscription: async ({ params }, { principal }) => {
      const { numDeletedRows } = await db
        .deleteFrom('status_page_subscriptions')
        .where('account_id', '=', principal.accountId)
        .where('status_page_id', '=', params.statusPageId)
        .where('id', '=', params.subscriptionId)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw notFound('subscription', params.subscriptionId);
      return undefined;
    },
  };
}
