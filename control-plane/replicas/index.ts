/** What other modules may use. */
export type { Absence, AbsenceCause, Outage } from './decide/absence.ts';
export { aliveWithinMs, unreachableAfterMs } from './decide/absence.ts';
export { absenceLock, aliveReplicas, Replicas } from './replicas.ts';
