/** Handlers of snippets. */
import type { Selectable } from 'kysely';
import type { snippetRoutes } from '@monitor/shared/contract/snippet.ts';
import { notFound } from '../../errors/api-error.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import type { SnippetsTable } from '../tables.ts';
import type { Handlers } from '../../http/implement.ts';
import { dropSnippetReferences } from '../drop-references.ts';
import { changeEnvironment } from '../environment-changed.ts';
import type { Services } from '../../core/services.ts';

function toWire(row: Selectable<SnippetsTable>) {
  return {
    id: row.id,
    name: row.name,
    script: row.script,
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestampOrNull(row.updated_at),
  };
}

export function snippetHandlers(services: Services): Handlers<typeof snippetRoutes> {
  const { db, clock } = services;
  return {
    listSnippets: async ({ query }, { principal, setTotal }) => {
      const snippets = ownRows(db, 'snippets', principal.accountId).orderBy('id');
      const { rows, total, offset } = await readPage(snippets, query);
      setTotal(total, offset, rows.length);
      return rows.map(toWire);
    },

    createSnippet: async ({ body }, { principal }) => {
      const { accountId } = principal;
      // A script may already import the snippet by its name.
      const row = await changeEnvironment(services, accountId, (unit) =>
        unit
          .insertInto('snippets')
          .values({ account_id: accountId, ...body, created_at: clock.now(), updated_at: null })
          .returningAll()
          .executeTakeFirstOrThrow(),
      );
      return toWire(row);
    },

    getSnippet: async ({ params }, { principal }) => {
      const row = await ownRows(db, 'snippets', principal.accountId)
        .where('id', '=', params.id)
        .executeTakeFirstOrThrow(() => notFound('snippet', String(params.id)));
      return toWire(row);
    },

    updateSnippet: async ({ params, body }, { principal }) => {
      const { accountId } = principal;
      const row = await changeEnvironment(services, accountId, async (unit) => {
        return updateOwnRows(unit, 'snippets', accountId)
          .set({ ...body, updated_at: clock.now() })
          .where('id', '=', params.id)
          .returningAll()
          .executeTakeFirstOrThrow(() => notFound('snippet', String(params.id)));
      });
      return toWire(row);
    },

    deleteSnippet: async ({ params }, { principal }) => {
      await changeEnvironment(services, principal.accountId, async (unit) => {
        const { numDeletedRows } = await deleteOwnRows(unit, 'snippets', principal.accountId)
          .where('id', '=', params.id)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw notFound('snippet', String(params.id));
        await dropSnippetReferences(unit, principal.accountId, params.id);
      });
      return undefined;
    },
  };
}
