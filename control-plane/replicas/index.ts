/** What other modules may use. */
export type { Absence, AbsenceCause, Silence } from './decide/absence.ts';
export { silentAfterMs } from './decide/absence.ts';
export { absenceLock, Replicas } from './replicas.ts';
