/** What other modules may use. */
export { compatibilityHandlers } from './handlers.ts';
