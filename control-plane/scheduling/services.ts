import type { ControlPlaneWatches } from './control-plane-watch.ts';
import type { IdKeys } from './id-keys.ts';
import type { LocationHub } from './location-hub.ts';
import type { RunSignals } from './run-signals.ts';

declare module '../core/services.ts' {
  interface Services {
    hub: LocationHub;
    watches: ControlPlaneWatches;
    /** Derives the ids of runs and results of slots. */
    ids: IdKeys;
    runs: RunSignals;
  }
}
