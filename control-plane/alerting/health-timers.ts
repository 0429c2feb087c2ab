import type { Services } from '../core/services.ts';
import { watchHealth } from './agent-health.ts';
import { internalErrors } from './internal-errors.ts';
import { missingResults } from './missing-results.ts';
import { overloadedLocations } from './overloaded-locations.ts';
import { unservedLocations } from './unserved-locations.ts';

/** The conditions that keep locations from measuring, each with a timer. */
export function healthTimers(services: Services) {
  return [
    unservedLocations(services),
    internalErrors(services),
    missingResults(services),
    overloadedLocations(services),
  ].map((condition) => ({
    ...{ name: condition.name, everyMs: condition.everyMs },
    run: () => watchHealth(services, condition),
  }));
}
