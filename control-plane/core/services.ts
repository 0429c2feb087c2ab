import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ReadPool } from '../db/read-pool.ts';
import type { Db } from '../db/tables.ts';
import type { Commits } from '../db/after-commit.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';
import type { NamedTable } from './ids-in-fields.ts';
import type { WriteWatch } from './write-watch.ts';
import type { Quotas } from './quotas.ts';
import type { SecretCipher } from './secret-cipher.ts';

/**
 * Dependencies of operations and handlers, built once in `app/compose.ts`. Modules add their
 * in-memory state in their `services.ts`.
 */
export interface Services {
  db: Db;
  /** For reads that may be seconds old. Never for what alerting, ingest or check-in decide on. */
  readPool: ReadPool;
  /** Writes that share a durable commit. */
  commits: Commits;
  writes: WriteWatch;
  secrets: SecretCipher;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  newId: () => string;
  /** Ids of runs and results without a slot: UUID version 7, so that they sort by arrival. */
  newRunId: () => string;
  /** Storage quotas of agents. */
  quotas: Quotas;
  logger: Logger;
  /** Of the process. */
  metrics: ControlPlaneMetrics;
  /**
   * Called in the transaction that deletes an entry: lists that other entries keep lose its id. Throws 409 where nothing
   * sensible would be left.
   */
  dropReferences: (
    db: Db,
    accountId: string,
    table: NamedTable,
    id: string | number,
  ) => Promise<void>;
  /** Public base URL of this control plane, without a slash at the end. */
  publicUrl: string;
}
