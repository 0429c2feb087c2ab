/** What other modules may use. */
export { alertChannelHandlers } from './alert-channels/handlers.ts';
export { alertDecisionHandlers } from './alert-decisions/handlers.ts';
export { alertDeliveryHandlers } from './alert-deliveries/handlers.ts';
export { alertOnCertificate } from './alert-on-certificate.ts';
export { alertOn } from './alert-on.ts';
export { alertHandlers } from './alerts/handlers.ts';
export { outagesOf, type PassedSince } from './decide/error-streak.ts';
export { errorStreaksOf, recordErrorStreaks } from './error-streaks.ts';
export { healthTimers } from './health-timers.ts';
export { moveAlertStates } from './move-states.ts';
export { pruneAlerts } from './prune-alerts.ts';
export { evaluateDueAlerts } from './evaluate-due-alerts.ts';
export { alertsOfChecks } from './withdraw-alerts.ts';
