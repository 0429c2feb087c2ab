/** Test notifications, and sending a notification again. */
import type { alertDeliveryRoutes } from '@monitor/shared/contract/alert-delivery.ts';
import type { Handlers } from '../../http/handlers.ts';
import { outcomeOfTest } from '../../notifications/index.ts';
import { enqueueTest, redeliver } from '../redeliver.ts';
import type { Services } from '../../core/services.ts';

export function alertDeliveryHandlers(services: Services): Handlers<typeof alertDeliveryRoutes> {
  const { outbox } = services;
  return {
    testAlertChannel: ({ params }, { principal, signal }) =>
      outcomeOfTest(services, signal, (id) =>
        enqueueTest(services, principal.accountId, params.id, id),
      ),

    redeliverAlertNotification: async ({ params }, { principal }) => {
      const record = await redeliver(services, principal.accountId, params.id, principal.role);
      outbox.wake();
      return record;
    },
  };
}
