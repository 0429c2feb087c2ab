/** What other modules may use. */
export { isForBroker, ResultBroker } from './broker/result-broker.ts';
export { compatibilityHandlers } from './handlers.ts';
export { withExistingNames } from './prometheus-names.ts';
export { secretScanHandlers } from './secret-scan.ts';
export { clientStorageHandlers } from './storage-handlers.ts';
export { testSessionHandlers } from './test-sessions/handlers.ts';
export { testReportHandlers } from './test-sessions/report-handlers.ts';
