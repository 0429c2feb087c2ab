/** What other modules may use. */
export { fleetHandlers } from './handlers.ts';
