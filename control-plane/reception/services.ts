import type { GapConsumer } from './gap-consumer.ts';
import type { Reception } from './reception.ts';

declare module '../core/services.ts' {
  interface Services {
    /** Knows whether missing data is a reason for conclusions. */
    reception: Reception;
    gapConsumers: readonly GapConsumer[];
  }
}
