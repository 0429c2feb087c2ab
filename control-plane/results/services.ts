import type { ArtifactStore } from '../core/artifact-store.ts';
import type { ArtifactLinks } from './artifacts/links.ts';
import type { RecordLosses } from './record-losses.ts';
import type { ResultConsumer } from './result-consumer.ts';
import type { StatusCache } from './status-cache.ts';

declare module '../core/services.ts' {
  interface Services {
    resultConsumers: readonly ResultConsumer[];
    /** Acknowledged results that were lost. */
    losses: RecordLosses;
    statuses: StatusCache;
    /** Storage for files of results. */
    artifacts: ArtifactStore;
    links: ArtifactLinks;
    /** Replaces references to files with expiring links, in the JSON of result details. */
    resolveReferences: (json: string, resultId: string) => string;
  }
}
