/** Test notifications, and sending a notification again. */
import { testWaitMs, type alertDeliveryRoutes } from '@monitor/shared/contract/alert-delivery.ts';
import type { Handlers } from '../../http/handlers.ts';
import { enqueueTest, redeliver } from '../redeliver.ts';
import type { Services } from '../../core/services.ts';

export function alertDeliveryHandlers(services: Services): Handlers<typeof alertDeliveryRoutes> {
  const { outbox, clock } = services;
  return {
    testAlertChannel: async ({ params }, { principal, signal }) => {
      const id = services.newId();
      const enough = new AbortController();
      const giveUp = (): void => {
        enough.abort();
      };
      const cancel = clock.after(testWaitMs, giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
      const ending = outbox.whenEnded(id, enough.signal);
      try {
        await enqueueTest(services, principal.accountId, params.id, id);
        outbox.wake();
      } catch (error) {
        giveUp();
        cancel();
        throw error;
      }
      const outcome = await ending;
      cancel();
      return outcome === null
        ? { id, status: 'IN_PROGRESS', result: null }
        : { id, status: outcome.status, result: outcome.result };
    },

    redeliverAlertNotification: async ({ params }, { principal }) => {
      const record = await redeliver(services, principal.accountId, params.id, principal.role);
      outbox.wake();
      return record;
    },
  };
}
