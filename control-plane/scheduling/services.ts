import type { IdKeys } from './id-keys.ts';
import type { LocationHub } from './location-hub.ts';
import type { OpenRuns } from './open-runs.ts';
import type { RunSignals } from './run-signals.ts';

declare module '../core/services.ts' {
  interface Services {
    hub: LocationHub;
    /** Ids of runs and results that follow from slots. */
    ids: IdKeys;
    runs: RunSignals;
    /** What agents say they are running. */
    openRuns: OpenRuns;
  }
}
