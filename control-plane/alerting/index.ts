/** What other modules may use. */
export { alertChannelHandlers } from './alert-channels/handlers.ts';
export { alertDecisionHandlers } from './alert-decisions/handlers.ts';
export { alertDeliveryHandlers } from './alert-deliveries/handlers.ts';
export { alertOnCertificate } from './alert-on-certificate.ts';
export { alertOn } from './alert-on.ts';
export { alertHandlers } from './alerts/handlers.ts';
export { type PassedSince, troublesOf } from './decide/fault-notice.ts';
export { faultsOfLocation } from './location-faults.ts';
export { moveAlertStates } from './move-states.ts';
export { pruneAlerts } from './prune-alerts.ts';
export { recordFaults } from './record-faults.ts';
export { evaluateDueAlerts } from './evaluate-due-alerts.ts';
export { watchFaults } from './watch-faults.ts';
export { locationWatch } from './watch-locations.ts';
export { watchOutcomes } from './watch-outcomes.ts';
export { alertsOfChecks } from './withdraw-alerts.ts';
