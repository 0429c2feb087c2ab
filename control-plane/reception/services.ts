import type { GapConsumer } from './gap-consumer.ts';
import type { Reception } from './reception.ts';

declare module '../core/services.ts' {
  interface Services {
    /** Whether silence means anything. */
    reception: Reception;
    gapConsumers: readonly GapConsumer[];
  }
}
