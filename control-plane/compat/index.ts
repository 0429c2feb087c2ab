/** What other modules may use. */
export { compatibilityHandlers } from './handlers.ts';
export { clientStorageHandlers } from './storage-handlers.ts';
