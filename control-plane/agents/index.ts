/** What other modules may use. */
export { agentHandlers } from './handlers.ts';
