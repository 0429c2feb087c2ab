/** What other modules may use. */
export {
  acknowledge,
  alertOfOutages,
  muteOf,
  outageOfAlert,
  outagesOfGroup,
  type Outage,
} from './acknowledge.ts';
export { alertAcknowledgementHandlers } from './alert-acknowledgements/handlers.ts';
export { alertChannelHandlers, alertChannelsOf } from './alert-channels/handlers.ts';
export { preferencesOf } from './alert-channels/store.ts';
export { alertDecisionHandlers } from './alert-decisions/handlers.ts';
export { alertDeliveryHandlers } from './alert-deliveries/handlers.ts';
export { alertGroupHandlers } from './alert-groups/handlers.ts';
export { alertOnCertificate } from './alert-on-certificate.ts';
export { alertOn } from './alert-on.ts';
export { alertHandlers } from './alerts/handlers.ts';
export { alertOverviewHandlers } from './alert-overview/handlers.ts';
export { outagesOf, type PassedSince } from './decide/error-streak.ts';
export {
  dropFromPolicies,
  escalationPoliciesOf,
  escalationPolicyHandlers,
} from './escalation-policies/handlers.ts';
export { fieldsOfPolicy } from './escalation-policies/store.ts';
export { errorStreaksByLocation, recordErrorStreaks } from './error-streaks.ts';
export { healthTimers } from './health-timers.ts';
export { moveAlertStates } from './move-states.ts';
export { pruneAlerts } from './prune-alerts.ts';
export { evaluateDueAlerts } from './evaluate-due-alerts.ts';
export { runEscalations } from './run-escalations.ts';
export { sendAlertGroups } from './send-alert-groups.ts';
export { alertsOfChecks } from './withdraw-alerts.ts';
export { notifyOverrun } from './overrun-maintenance.ts';
export { lookAtHolds, wakeStates } from './state-rows.ts';
