/** What other modules may use. */
export type { Absence, AbsenceCause, Outage } from './decide/absence.ts';
export { unreachableAfterMs } from './decide/absence.ts';
export { absenceLock, Replicas } from './replicas.ts';
