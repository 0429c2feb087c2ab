import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { CommitQueue } from '../db/commit-queue.ts';
import type { Database } from '../db/tables.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';
import type { DiskWatch } from './disk-watch.ts';
import type { Quotas } from './quotas.ts';
import type { SecretCipher } from './secret-cipher.ts';

/**
 * What operations and handlers are given. Built once, in `app/compose.ts`. Modules add what they keep in
 * memory, in their `services.ts`.
 */
export interface Services {
  db: Kysely<Database>;
  /** Writes that share a durable commit. */
  commits: CommitQueue;
  disk: DiskWatch;
  secrets: SecretCipher;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  newId: () => string;
  /** Ids of runs and results that follow from no slot: version 7, so that they arrive in order. */
  newRunId: () => string;
  /** How much agents may have stored. */
  quotas: Quotas;
  logger: Logger;
  /** Of the process. */
  metrics: ControlPlaneMetrics;
  /** Where this control plane is reached from outside, without a slash at the end. */
  publicUrl: string;
}
