import type { OutboxSignal } from './outbox-signal.ts';

declare module '../core/services.ts' {
  interface Services {
    /** Wake it after a commit that added something to the outbox. */
    outbox: OutboxSignal;
  }
}
