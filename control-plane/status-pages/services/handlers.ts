/** Services of status page cards and incidents. */
import type { serviceRoutes } from '@monitor/shared/contract/status-page.ts';
import { notFound } from '../../errors/api-error.ts';
import { readCursorPage } from '../../db/page.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import type { Handlers } from '../../http/implement.ts';
import { dropServiceReferences } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { toServiceWire } from '../../incidents/index.ts';

export function serviceHandlers({
  db,
  clock,
  commits,
  newId,
}: Services): Handlers<typeof serviceRoutes> {
  const servicesOf = (accountId: string) => ownRows(db, 'services', accountId).orderBy('seq');

  return {
    listServices: async ({ query }, { principal }) => {
      const services = servicesOf(principal.accountId);
      const { rows, nextId } = query.paginated
        ? await readCursorPage(
            (cursor) => (cursor === null ? services : services.where('seq', '>', cursor)),
            ({ seq }) => seq,
            query,
          )
        : { rows: await services.execute(), nextId: null };
      return { length: rows.length, entries: rows.map(toServiceWire), nextId };
    },

    createService: async ({ body }, { principal }) => {
      const row = await db
        .insertInto('services')
        .values({
          id: newId(),
          account_id: principal.accountId,
          name: body.name,
          created_at: clock.now(),
          updated_at: null,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return toServiceWire(row);
    },

    getService: async ({ params }, { principal }) => {
      const row = await servicesOf(principal.accountId)
        .where('id', '=', params.serviceId)
        .executeTakeFirstOrThrow(() => notFound('service', params.serviceId));
      return toServiceWire(row);
    },

    updateService: async ({ params, body }, { principal }) => {
      const row = await updateOwnRows(db, 'services', principal.accountId)
        .set({ name: body.name, updated_at: clock.now() })
        .where('id', '=', params.serviceId)
        .returningAll()
        .executeTakeFirstOrThrow(() => notFound('service', params.serviceId));
      return toServiceWire(row);
    },

    deleteService: async ({ params }, { principal }) => {
      await commits.run(async (unit) => {
        const { numDeletedRows } = await deleteOwnRows(unit, 'services', principal.accountId)
          .where('id', '=', params.serviceId)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw notFound('service', params.serviceId);
        await dropServiceReferences(unit, principal.accountId, params.serviceId);
      });
      return undefined;
    },
  };
}
