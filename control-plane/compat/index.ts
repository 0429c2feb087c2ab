/** What other modules may use. */
export { compatibilityHandlers } from './handlers.ts';
export { withExistingNames } from './prometheus-names.ts';
