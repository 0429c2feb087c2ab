import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ArtifactStore } from '../results/artifacts/artifact-store.ts';
import type { ArtifactLinks } from '../results/artifacts/links.ts';
import type { CommitQueue } from '../db/commit-queue.ts';
import type { Database } from '../db/tables.ts';
import type { DeliverySignal } from '../notifications/delivery-signal.ts';
import type { DiskWatch } from './disk-watch.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';
import type { IdKeys } from '../scheduling/id-keys.ts';
import type { Quotas } from './quotas.ts';
import type { RecordLosses } from '../results/record-losses.ts';
import type { LocationHub } from '../scheduling/location-hub.ts';
import type { OpenRuns } from '../scheduling/open-runs.ts';
import type { Reception } from './reception.ts';
import type { RunSignals } from '../scheduling/run-signals.ts';
import type { SecretBox } from './secret-box.ts';
import type { StatusPageDomains } from '../status-pages/status-page-domains.ts';
import type { StatusCache } from '../results/status-cache.ts';

/** What operations and handlers are given. Built once, in `compose.ts`. */
export interface Services {
  db: Kysely<Database>;
  /** Writes that share a durable commit. */
  commits: CommitQueue;
  disk: DiskWatch;
  /** Whether silence means anything. */
  reception: Reception;
  /** Acknowledged results that are gone. */
  losses: RecordLosses;
  secrets: SecretBox;
  clock: Clock;
  /** In [0, 1). */
  random: () => number;
  newId: () => string;
  /** Ids of runs and results that follow from no slot: version 7, so that they arrive in order. */
  newRunId: () => string;
  /** Ids of those that do. */
  ids: IdKeys;
  hub: LocationHub;
  runs: RunSignals;
  /** What agents say they are running. */
  openRuns: OpenRuns;
  /** How much agents may have stored. */
  quotas: Quotas;
  statuses: StatusCache;
  /** To be woken after a commit that put something into the outbox. */
  deliveries: DeliverySignal;
  /** Files of results. */
  artifacts: ArtifactStore;
  links: ArtifactLinks;
  domains: StatusPageDomains;
  logger: Logger;
  /** Of the process. */
  metrics: ControlPlaneMetrics;
  /** Puts expiring links in place of references to files, in the JSON of what a result saw. */
  resolveReferences: (json: string, resultId: string) => string;
  /** Where this control plane is reached from outside, without a slash at the end. */
  publicUrl: string;
}
