import type { CheckConsumer } from './check-consumer.ts';

declare module '../core/services.ts' {
  interface Services {
    checkConsumers: readonly CheckConsumer[];
  }
}
