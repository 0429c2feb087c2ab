/** What other modules may use. */
export { causeOfAlert, findCauses } from './find-causes.ts';
export { rootCauseHandlers } from './handlers.ts';
