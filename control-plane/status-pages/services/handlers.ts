/** Services of status page cards and incidents. */
import type { serviceRoutes } from '@monitor/shared/contract/status-page.ts';
import { dropServiceReferences } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import type { Handlers } from '../../http/handlers.ts';
import { toServiceWire } from '../../incidents/index.ts';
import { entryHandlers, listAfter, resourceOf } from '../../resources/index.ts';

export const pageServicesOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'services', noun: 'service', key: 'id', order: ['seq'] } as const),
    fresh: (now) => ({ id: services.newId(), created_at: now, updated_at: null }),
    fieldsOf: ({ name }) => ({ name }),
    toColumns: ({ name }: { name: string }) => ({ name }),
    present: (rows) => rows.map(toServiceWire),
    removing: (unit, { account_id: accountId, id }) => dropServiceReferences(unit, accountId, id),
  });

export function serviceHandlers(services: Services): Handlers<typeof serviceRoutes> {
  const ofPages = pageServicesOf(services);
  return { listServices: listAfter(ofPages), ...entryHandlers('Service', 'serviceId', ofPages) };
}
