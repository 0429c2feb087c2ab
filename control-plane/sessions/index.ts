/** What other modules may use. */
export { dropCancelledJobs, sessionsOfChecks } from './check-sessions.ts';
export { checkSessionHandlers } from './check-sessions/handlers.ts';
export { checkTriggerHandlers } from './check-triggers/handlers.ts';
export { forgetSessions } from './forget-sessions.ts';
