import type { ArtifactStore } from './artifacts/artifact-store.ts';
import type { ArtifactLinks } from './artifacts/links.ts';
import type { RecordLosses } from './record-losses.ts';
import type { ResultConsumer } from './result-consumer.ts';
import type { StatusCache } from './status-cache.ts';

declare module '../core/services.ts' {
  interface Services {
    resultConsumers: readonly ResultConsumer[];
    /** Acknowledged results that are gone. */
    losses: RecordLosses;
    statuses: StatusCache;
    /** Files of results. */
    artifacts: ArtifactStore;
    links: ArtifactLinks;
    /** Puts expiring links in place of references to files, in the JSON of what a result saw. */
    resolveReferences: (json: string, resultId: string) => string;
  }
}
