import type { DeliverySignal } from './delivery-signal.ts';

declare module '../core/services.ts' {
  interface Services {
    /** To be woken after a commit that put something into the outbox. */
    deliveries: DeliverySignal;
  }
}
