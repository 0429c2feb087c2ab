/** What other modules may use. */
export { dropCancelledJobs, sessionsOfChecks } from './check-sessions.ts';
export { checkSessionHandlers } from './check-sessions/handlers.ts';
export { checkTrialHandlers } from './check-trials/handlers.ts';
export { forgetTrials } from './check-trials/forget-trials.ts';
export { checkTriggerHandlers } from './check-triggers/handlers.ts';
export { forgetSessions } from './forget-sessions.ts';
