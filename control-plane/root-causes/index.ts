/** What other modules may use. */
export { causeOfAlert, causesByCheck, findCauses } from './find-causes.ts';
export { rootCauseHandlers } from './handlers.ts';
