import type { Replicas } from './replicas.ts';

declare module '../core/services.ts' {
  interface Services {
    /** This process among those of the installation. */
    replicas: Replicas;
  }
}
