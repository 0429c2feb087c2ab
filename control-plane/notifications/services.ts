import type { DeliverySignal } from './delivery-signal.ts';

declare module '../core/services.ts' {
  interface Services {
    /** Wake it after a commit that added something to the outbox. */
    deliveries: DeliverySignal;
  }
}
